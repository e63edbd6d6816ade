//! What all runs in the folder of an experiment have spent together.

use super::cell::Outcome;
use super::groups::Experiment;
use crate::error::{Error, Result};
use crate::run::{read_ledger, verify};
use muffle_accounting::Event;
use std::path::{Path, PathBuf};

/// What every run in the folder of an experiment is to be charged, one event for each that has spent something: those of the
/// present grid, finished or not, and those that an earlier one left.
///
/// # Guarantee
/// A run that is finished counts with what its verified certificate says, one that is not with all that was planned. What
/// cannot be priced is refused by name.
pub fn spent(experiment: &Experiment, outcomes: &[Option<Outcome>]) -> Result<Vec<Event>> {
    let mut events = Vec::new();
    for path in run_folders(&experiment.folder)? {
        let place = experiment.cells.iter().position(|cell| experiment.path(cell) == path);
        match place.map(|place| (place, &outcomes[place])) {
            Some((_, Some(outcome))) => events.push(outcome.events.clone()),
            Some((place, None)) => events.extend(unfinished(experiment, place, &path)?),
            None => events.push(stranger(experiment, &path)?),
        }
    }
    Ok(events)
}

/// Folders of runs that an experiment did not ask for.
pub fn strangers(experiment: &Experiment) -> Result<Vec<PathBuf>> {
    let known = |path: &PathBuf| experiment.cells.iter().any(|cell| experiment.path(cell) == *path);
    Ok(run_folders(&experiment.folder)?.into_iter().filter(|path| !known(path)).collect())
}

/// The folders in which something was spent.
pub(super) fn run_folders(folder: &Path) -> Result<Vec<PathBuf>> {
    let cells = folder.join("cells");
    let fail = |error: std::io::Error| Error::file(&cells, error);
    if !cells.is_dir() {
        return Ok(Vec::new());
    }
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(&cells).map_err(fail)? {
        let path = entry.map_err(fail)?.path();
        if ["ledger.jsonl", "privacy.json"].iter().any(|name| path.join(name).exists()) {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

/// A run of the grid that has no result: stopped, or failed on the way.
fn unfinished(experiment: &Experiment, place: usize, path: &Path) -> Result<Option<Event>> {
    if path.join("privacy.json").is_file() {
        return Ok(Some(verify(path)?.events));
    }
    let paid = read_ledger(path)?.total();
    if paid == Event::compose([]) {
        return Ok(None);
    }
    let job = &experiment.group(&experiment.cells[place]).job;
    Ok(Some(match job.terms().budget() {
        Some(budget) => budget,
        None => Event::compose([paid, job.cost()?]),
    }))
}

/// A run that is not of the present grid.
fn stranger(experiment: &Experiment, path: &Path) -> Result<Event> {
    let certificate = verify(path)?;
    let terms = experiment.groups[0].job.terms();
    let refuse = |reason: &str| {
        Err(Error::file(path, format!("a run of an earlier sweep {reason}; choose another --output")))
    };
    if certificate.reproducible {
        return refuse("has a seed, so that nothing is proved of it");
    }
    if (certificate.adjacency, certificate.delta) != (terms.adjacency, terms.recipe.delta) {
        return refuse("has another delta or adjacency, and prices do not add up");
    }
    Ok(certificate.events)
}
