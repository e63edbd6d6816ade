//! Measurements on the way, one JSON object a line.

use super::trainer::Measurements;
use crate::atomic_file;
use crate::error::{Error, Result};
use crate::ledger::Head;
use muffle_nn::regular_file;
use serde::{Deserialize, Serialize};
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

/// One measurement. Nothing in it is computed from training records but through released weights.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Metric {
    /// Steps taken.
    pub step: u64,
    /// Spent so far; `null` without privacy, and where the noise follows from a seed.
    pub epsilon: Option<f64>,
    /// The same if the seed is secret and was drawn at random.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epsilon_if_seed_is_secret: Option<f64>,
    /// What the trainer measured.
    #[serde(flatten)]
    pub measured: Measurements,
    /// Of this process so far.
    pub seconds: f64,
    /// Records a second of this process so far, by the expected number in a step.
    pub examples_per_s: f64,
    /// The ledger that paid for what was measured.
    pub ledger: Head,
}

/// Appends a measurement.
pub fn append(path: &Path, metric: &Metric) -> Result<()> {
    let line = serde_json::to_string(metric).expect("a measurement has a form in JSON") + "\n";
    let file = OpenOptions::new().create(true).append(true).open(path);
    file.and_then(|mut file| file.write_all(line.as_bytes())).map_err(|error| Error::file(path, error))
}

/// The measurements of a run; a torn last line is left out, and a run without any has none.
pub fn read(path: &Path) -> Vec<Metric> {
    let text = regular_file::read_to_string(path).unwrap_or_default();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// Drops what a run measured after the checkpoint it continues from, and a torn last line.
pub fn rewind(path: &Path, step: u64) -> Result<()> {
    let Ok(text) = regular_file::read_to_string(path) else { return Ok(()) };
    let kept = text
        .lines()
        .filter(|line| serde_json::from_str::<Metric>(line).is_ok_and(|metric| metric.step <= step));
    let kept: String = kept.flat_map(|line| [line, "\n"]).collect();
    atomic_file::write(path, kept).map_err(|error| Error::file(path, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rewinding_keeps_what_came_before() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("metrics.jsonl");
        rewind(&path, 3).unwrap();
        for step in 1..6 {
            let measured = Measurements::default().with("epoch", 0.1);
            let metric = Metric {
                step,
                epsilon: None,
                epsilon_if_seed_is_secret: None,
                measured,
                seconds: 1.0,
                examples_per_s: 2.0,
                ledger: Head { lines: step, sha256: String::new() },
            };
            append(&path, &metric).unwrap();
        }
        std::fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(b"{\"step\":6,").unwrap();
        assert_eq!(read(&path).len(), 5);
        rewind(&path, 3).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap().lines().count(), 3);
    }
}
