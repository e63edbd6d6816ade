//! What an experiment will run, and what failed, for whoever looks into its folder meanwhile.

use super::groups::Experiment;
use crate::atomic_file;
use crate::error::{Error, Result};
use muffle_nn::regular_file;
use std::collections::BTreeMap;
use std::path::Path;

/// Name of the file with the names of all cells.
pub const CELLS: &str = "cells.json";
/// Name of the file with what failed, and why.
const FAILURES: &str = "failures.json";

/// Writes down which cells there are, before the first of them begins.
pub(super) fn announce(experiment: &Experiment) -> Result<()> {
    let names: Vec<String> = experiment.cells.iter().map(|cell| experiment.name(cell)).collect();
    write(
        &experiment.folder,
        CELLS,
        &serde_json::to_string_pretty(&names).expect("names have a form in JSON"),
    )
}

/// Writes down which cells failed; those of an earlier attempt are tried again, and are no longer told.
pub(super) fn tell(experiment: &Experiment, failures: &BTreeMap<String, String>) -> Result<()> {
    if failures.is_empty() && !experiment.folder.join(FAILURES).exists() {
        return Ok(());
    }
    write(
        &experiment.folder,
        FAILURES,
        &serde_json::to_string_pretty(failures).expect("texts have a form in JSON"),
    )
}

fn write(folder: &Path, name: &str, text: &str) -> Result<()> {
    let path = folder.join(name);
    let written =
        std::fs::create_dir_all(folder).and_then(|()| atomic_file::write(&path, format!("{text}\n")));
    written.map_err(|error| Error::file(&path, error))
}

/// The names of all cells of the experiment in a folder, finished or not; none if it says nothing.
pub fn planned(folder: &Path) -> Vec<String> {
    read(&folder.join(CELLS))
}

/// Cells of the experiment in a folder that failed, each with the reason.
pub fn failures(folder: &Path) -> BTreeMap<String, String> {
    read(&folder.join(FAILURES))
}

fn read<T: Default + for<'de> serde::Deserialize<'de>>(path: &Path) -> T {
    let text = regular_file::read_to_string(path).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}
