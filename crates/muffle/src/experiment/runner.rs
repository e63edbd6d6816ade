//! Runs the cells of an experiment, several at a time.

use super::cell::{Cell, Outcome};
use super::groups::Experiment;
use crate::train::{Progress, Result, TrainError};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
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
    Failed(&'a Cell, &'a TrainError),
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
    let waiting: Vec<usize> = (0..outcomes.len()).filter(|&place| outcomes[place].is_none()).collect();
    let next = AtomicUsize::new(0);
    let (observe, outcomes) = (Mutex::new(observe), Mutex::new(outcomes));
    std::thread::scope(|scope| {
        for _ in 0..workers.min(waiting.len()) {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    let Some(&place) = waiting.get(next.fetch_add(1, Ordering::Relaxed)) else { return };
                    let cell = &experiment.cells[place];
                    let mut progress = |progress: &Progress| lock(&observe)(Report::Running(cell, progress));
                    match cell.run(experiment, stop, &mut progress) {
                        Ok(Some(outcome)) => {
                            lock(&observe)(Report::Finished { cell, outcome: &outcome, fresh: true });
                            lock(&outcomes)[place] = Some(outcome);
                        }
                        Ok(None) => {}
                        Err(error) => lock(&observe)(Report::Failed(cell, &error)),
                    }
                }
            });
        }
    });
    Ok(outcomes.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// A panic of one worker ends the scope; the others may still look.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
