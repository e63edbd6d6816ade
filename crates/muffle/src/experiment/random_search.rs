//! A search whose best run can be published at a price that does not grow with every run.

use super::groups::Group;
use super::spent::run_folders;
use crate::atomic_file;
use crate::error::{Error, Result};
use crate::noise::{Key, Purpose, Stream, Uniform};
use muffle_accounting::selection::Repetitions;
use muffle_nn::model_file::explain::json_error;
use muffle_nn::regular_file;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// One run of the search.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Draw {
    /// The group that was drawn.
    pub name: String,
}

/// What a search drew, for whoever takes it up again.
#[derive(Serialize, Deserialize)]
struct Draws {
    mean: f64,
    shape: f64,
    runs: Vec<Draw>,
}

/// Draws the number of runs and the group of each; if the folder holds what was drawn before, that stands.
///
/// # Source
/// Papernot and Steinke 2022, "Hyperparameter tuning with Rényi differential privacy", §3.
///
/// # Guarantee
/// The draws do not depend on the records, and are on disk before a run begins: a search that is interrupted goes on with
/// the number of runs it had, instead of a new one.
pub fn draw_runs(folder: &Path, groups: &[Group], mean: f64, shape: f64) -> Result<Vec<Draw>> {
    let path = folder.join("draws.json");
    let fail = |reason: String| Error::file(&path, reason);
    if path.is_file() {
        let text = regular_file::read_to_string(&path).map_err(|error| fail(error.to_string()))?;
        let found: Draws = serde_json::from_str(&text).map_err(|error| fail(json_error(&error)))?;
        if (found.mean, found.shape) != (mean, shape) {
            return Err(fail(format!(
                "this search was drawn with --random {} --shape {}; give the same, or choose another --output",
                found.mean, found.shape
            )));
        }
        return Ok(found.runs);
    }
    if let Some(run) = run_folders(folder)?.first() {
        return Err(Error::file(
            run,
            "there are runs that no search drew, and the price of a random search is that of runs that were all drawn; choose \
             another --output",
        ));
    }
    let repetitions = Repetitions::new(mean, shape)?;
    let mut uniform = Uniform::new(&Key::from_entropy()?, Stream::new(Purpose::Sampling, 0));
    let count = repetitions.draw(uniform.unit());
    let runs: Vec<Draw> = (0..count)
        .map(|_| Draw { name: groups[uniform.below(groups.len() as u64) as usize].name.clone() })
        .collect();
    let draws = Draws { mean, shape, runs };
    let text = serde_json::to_string_pretty(&draws).expect("draws have a form in JSON") + "\n";
    std::fs::create_dir_all(folder)
        .and_then(|()| atomic_file::write(&path, text))
        .map_err(|error| fail(error.to_string()))?;
    Ok(draws.runs)
}
