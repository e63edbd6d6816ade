//! What a command leaves for readers: a text with tables, the plots beside it as data, and what it says of single runs.

use crate::plot::Panel;
use muffle::atomic_file;
use muffle_nn::regular_file;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Name of the text, in Markdown.
pub const TEXT: &str = "results.md";
/// Name of the plots.
pub const PLOTS: &str = "plots.json";

/// Plots as data, and what goes with them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Plots {
    /// What to say before anything is shown that no epsilon covers; empty if all of it may be published.
    pub caution: String,
    /// What is drawn.
    pub panels: Vec<Panel>,
    /// Attacks on runs, to be laid on what is proved of them.
    pub evidence: Vec<Evidence>,
}

/// One point that an attack on a run has reached.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// SHA-256 of the recipe of the run.
    pub run: String,
    /// Which attack.
    pub attack: String,
    /// How often it wrongly accuses.
    pub false_positive_rate: f64,
    /// How often it is right about a record that was used.
    pub true_positive_rate: f64,
    /// Where that rate lies, with a confidence of 95 %.
    pub interval: [f64; 2],
}

/// Leaves a text and its plots in a folder, which is made if it is not there.
pub fn leave(folder: &Path, text: &str, plots: Plots) -> Result<(), String> {
    let fail = |path: &Path, error: std::io::Error| format!("{}: {error}", path.display());
    std::fs::create_dir_all(folder).map_err(|error| fail(folder, error))?;
    let panels = plots.panels.into_iter().map(Panel::finite).collect();
    let plots =
        serde_json::to_string(&Plots { panels, ..plots }).expect("finite numbers have a form in JSON");
    for (name, contents) in [(TEXT, text), (PLOTS, &(plots + "\n"))] {
        let path = folder.join(name);
        atomic_file::write(&path, contents).map_err(|error| fail(&path, error))?;
    }
    Ok(())
}

/// Files beyond this size are none that a command has left for readers.
const LARGEST: u64 = 16 << 20;

/// The plots in a folder; none where they are missing or are of another version.
pub fn plots(folder: &Path) -> Plots {
    serde_json::from_str(&read(&folder.join(PLOTS))).unwrap_or_default()
}

/// The text in a folder; empty where it is missing.
pub fn text(folder: &Path) -> String {
    read(&folder.join(TEXT))
}

fn read(path: &Path) -> String {
    let small = std::fs::metadata(path).is_ok_and(|found| found.len() <= LARGEST);
    if small { regular_file::read_to_string(path).unwrap_or_default() } else { String::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_read_back_and_what_is_damaged_is_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new");
        let evidence = vec![Evidence {
            run: "ab".into(),
            attack: "loss".into(),
            false_positive_rate: 0.1,
            true_positive_rate: 0.2,
            interval: [0.15, 0.25],
        }];
        let left = Plots { caution: "careful".into(), panels: vec![Panel::default()], evidence };
        leave(&path, "# Title\n", left.clone()).unwrap();
        assert_eq!(plots(&path), left);
        std::fs::write(path.join(PLOTS), "{\"panels\": 3}").unwrap();
        assert_eq!(plots(&path), Plots::default());
    }
}
