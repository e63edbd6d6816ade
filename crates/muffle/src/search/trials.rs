//! What a search has tried, on disk.

use super::genotype::Cell;
use crate::atomic_file;
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Name of the file.
const CANDIDATES: &str = "candidates.jsonl";

/// A line of the file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    /// What lies on each edge, numbered as in [`Cell::of`].
    cell: Vec<u32>,
    noisy_accuracy: f64,
}

/// The cells that were tried, with their accuracies, which were released.
pub(super) struct Trials {
    path: PathBuf,
    tried: Vec<(Cell, f64)>,
}

impl Trials {
    /// Those of a folder; none if it has none.
    pub fn open(folder: &Path) -> Result<Trials> {
        let path = folder.join(CANDIDATES);
        let text = match path.exists() {
            true => std::fs::read_to_string(&path).map_err(|error| Error::file(&path, error))?,
            false => String::new(),
        };
        let line = |(number, line): (usize, &str)| {
            let read = serde_json::from_str::<Line>(line).ok();
            let cell =
                read.and_then(|Line { cell, noisy_accuracy }| Some((Cell::of(&cell)?, noisy_accuracy)));
            cell.ok_or_else(|| {
                let reason =
                    format!("line {} is no candidate of a search; choose another folder", number + 1);
                Error::file(&path, reason)
            })
        };
        let tried = text.lines().enumerate().map(line).collect::<Result<Vec<_>>>()?;
        Ok(Trials { path, tried })
    }

    /// All of them, in the order in which they were tried.
    pub fn tried(&self) -> &[(Cell, f64)] {
        &self.tried
    }

    /// How many.
    pub fn count(&self) -> u64 {
        self.tried.len() as u64
    }

    /// The best, the first of several.
    pub fn best(&self) -> Option<&(Cell, f64)> {
        self.tried.iter().reduce(|best, other| if other.1 > best.1 { other } else { best })
    }

    /// Adds one, on disk before it returns.
    pub fn add(&mut self, cell: Cell, accuracy: f64) -> Result<()> {
        self.tried.push((cell, accuracy));
        let line = |(cell, accuracy): &(Cell, f64)| {
            let line = Line { cell: cell.choices(), noisy_accuracy: *accuracy };
            serde_json::to_string(&line).expect("a candidate has a form in JSON") + "\n"
        };
        let text: String = self.tried.iter().map(line).collect();
        atomic_file::write(&self.path, &text).map_err(|error| Error::file(&self.path, error))
    }
}
