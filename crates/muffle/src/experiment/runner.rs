//! Runs the cells of an experiment, several at a time.

use super::cell::{Cell, Outcome};
use super::groups::Experiment;
use super::outlook::{announce, tell};
use crate::error::{Error, Result};
use crate::run::Progress;
use crate::side_by_side::side_by_side;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// What happens while cells run.
pub enum Report<'a> {
    /// A cell is under way.
    Running(&'a Cell, &'a Progress),
    /// A cell is finished; `fresh` if it was not when the experiment was taken up.
    Finished {
        /// Which.
        cell: &'a Cell,
        /// Its result.
        outcome: &'a Outcome,
        /// Whether it ran just now.
        fresh: bool,
    },
    /// A cell came to no result, as one that diverges.
    Failed(&'a Cell, &'a Error),
}

/// Runs every cell that is not finished on `workers` threads, and returns the results of those that are now.
///
/// `stop` ends running cells after the steps that are paid for; a cell that fails has no result, and the others go on.
pub fn run(
    experiment: &Experiment,
    workers: usize,
    stop: &AtomicBool,
    observe: &mut (dyn FnMut(Report) + Send),
) -> Result<Vec<Option<Outcome>>> {
    let mut outcomes = Vec::with_capacity(experiment.cells.len());
    for cell in &experiment.cells {
        let outcome = cell.finished(experiment)?;
        if let Some(outcome) = &outcome {
            observe(Report::Finished { cell, outcome, fresh: false });
        }
        outcomes.push(outcome);
    }
    announce(experiment)?;
    let failed = Mutex::new(BTreeMap::new());
    let waiting: Vec<usize> = (0..outcomes.len()).filter(|&place| outcomes[place].is_none()).collect();
    let observe = Mutex::new(observe);
    let show = |report: Report| observe.lock().unwrap_or_else(PoisonError::into_inner)(report);
    let work = |piece: usize| {
        if stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let cell = &experiment.cells[waiting[piece]];
        let outcome = cell.run(experiment, stop, &mut |progress| show(Report::Running(cell, progress)));
        match &outcome {
            Ok(Some(outcome)) => show(Report::Finished { cell, outcome, fresh: true }),
            Ok(None) => {}
            Err(error) => {
                let mut failed = failed.lock().unwrap_or_else(PoisonError::into_inner);
                failed.insert(experiment.name(cell), error.to_string());
                show(Report::Failed(cell, error));
            }
        }
        // Whoever observes has the error; the others are to go on.
        Ok(outcome.unwrap_or(None))
    };
    let fresh = side_by_side(waiting.len(), workers, &work)?;
    tell(experiment, &failed.into_inner().unwrap_or_else(PoisonError::into_inner))?;
    waiting.iter().zip(fresh).for_each(|(&place, outcome)| outcomes[place] = outcome);
    Ok(outcomes)
}
