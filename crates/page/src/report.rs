//! A report in one file: opened from disk, printed, passed on.

use crate::folder::{Analysis, Run, Shelf, Summary};
use crate::html::{Element, el};
use crate::results::{Evidence, PLOTS, TEXT, plots};
use crate::view::{self, Setting};
use std::path::{Path, PathBuf};

/// The report on folders of runs and of results, as HTML.
pub fn report(folders: &[PathBuf]) -> Result<String, String> {
    let evidence: Vec<Evidence> = folders.iter().flat_map(|folder| plots(folder).evidence).collect();
    let mut parts = Vec::new();
    for folder in folders {
        parts.push(el("article").all(of(folder, &evidence)?));
    }
    let names: Vec<String> = folders.iter().map(|folder| folder.display().to_string()).collect();
    Ok(view::report(&names.join(", "), parts))
}

fn of(folder: &Path, evidence: &[Evidence]) -> Result<Vec<Element>, String> {
    let name = folder.display().to_string();
    if folder.join("recipe.toml").is_file() {
        let run = Run::read(&name, folder);
        let analysis = Analysis::of(&run);
        let own = about(&run, evidence);
        return Ok(view::run_sections(&run, &analysis, &own, Setting::Report));
    }
    if [TEXT, PLOTS].iter().any(|file| folder.join(file).is_file()) {
        let shelf = Shelf::open(folder)?;
        let contents = shelf.contents();
        let runs: Vec<&Summary> = contents.runs.values().collect();
        return Ok(view::results(&name, folder, &runs, false));
    }
    Err(format!(
        "{name}: there is neither a run (recipe.toml) nor a result (results.md) in this folder; give the folder of a run, of a comparison, \
         sweep or study, or one that an audit or attack wrote with --results"
    ))
}

/// What attacks say of a run.
pub(crate) fn about(run: &Run, evidence: &[Evidence]) -> Vec<Evidence> {
    let digest = run.certificate.as_ref().map(|certificate| &certificate.binding.recipe);
    evidence.iter().filter(|evidence| Some(&evidence.run) == digest).cloned().collect()
}
