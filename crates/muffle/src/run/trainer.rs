//! What a run runs.

use super::certificate::CanaryMeasurement;
use crate::State;
use crate::error::Result;
use crate::ledger::{Access, Head, Receipt};
use muffle_accounting::Event;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// A kind of training, as the run sees it: it says what it will touch next and at what price, and does it when it is paid for.
///
/// The run keeps the folder, the ledger, the budget, checkpoints, measurements and the certificate; it knows nothing of
/// gradients, votes or generators. What a trainer does comes in steps, which only have to be counted.
pub trait Trainer {
    /// Where the run is, before anything else happens: for what has to be on disk beside checkpoints.
    fn settle_in(&mut self, _folder: &Path) -> Result<()> {
        Ok(())
    }

    /// Work on every record by itself that comes before the first access and releases nothing: what is long enough to be told of and to
    /// be stopped. Returns whether it came to its end; without that nothing else may be asked for. Called again, it goes on.
    fn get_ready(&mut self, _stop: &AtomicBool, _tell: &mut dyn FnMut(Readiness)) -> Result<bool> {
        Ok(true)
    }

    /// The next accesses to private records whose price is known by now, in the order in which they will happen: those of at most
    /// `most` steps, at least one while anything is left to do.
    ///
    /// An access whose result would have to be paid for again comes alone, and is [kept](Access::keep).
    fn upcoming(&self, most: u64) -> Vec<Access>;

    /// Makes the first of the upcoming accesses, for which the receipt is.
    fn perform(&mut self, receipt: Receipt) -> Result<()>;

    /// What is released once behind the last step, whichever that turns out to be; `None` if there is nothing, or nothing more.
    fn closing(&self) -> Option<Access> {
        None
    }

    /// Ends the training, with the receipt of what is released behind the last step, if that could be paid for. Called again, it
    /// does nothing.
    fn close(&mut self, _receipt: Option<Receipt>) -> Result<()> {
        Ok(())
    }

    /// Steps taken.
    fn step(&self) -> u64;

    /// What the next steps cost, with all that belongs to them and what comes behind the last, if all goes as planned.
    fn cost(&self, steps: u64) -> Event;

    /// What was done in this process.
    fn work(&self) -> Work;

    /// Measures the result as it is by now, on records that no guarantee covers.
    fn measure(&mut self) -> Result<Measurements>;

    /// Whether no further step makes sense, because the result is no finite numbers any more. What was released and measured
    /// decides, nothing else.
    fn diverged(&self) -> bool {
        false
    }

    /// What the paper's argument makes of a form that is not proved, where that follows from what was done; `None` where the
    /// [terms](super::Terms::claimed) say it.
    fn claimed(&self) -> Option<f64> {
        None
    }

    /// What an attack on records planted for it shows, at the end.
    fn audit(&mut self) -> Result<Option<CanaryMeasurement>> {
        Ok(None)
    }

    /// Everything that the next step depends on, beside the key.
    fn state(&self) -> State;

    /// Continues from a saved state after `step` steps.
    fn restore(&mut self, state: &State, step: u64) -> Result<()>;

    /// Writes the files that a finished run leaves, each whole or not at all, and returns their names. Files of tensors name the
    /// ledger they rest on ([`ledger_entry`](super::ledger_entry)).
    fn leave_files(&self, folder: &Path, head: &Head) -> Result<Vec<String>>;
}

/// How far the work before the first access is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Readiness {
    /// What is made.
    pub what: &'static str,
    /// Records that are done.
    pub done: u64,
    /// Records in all. Under `add_remove` this number is private: it is for the screen of whoever holds the records.
    pub of: u64,
}

/// Lets a trainer get ready for its first access, without a run around it.
pub fn ready(trainer: &mut dyn Trainer) -> Result<()> {
    trainer.get_ready(&AtomicBool::new(false), &mut |_| {}).map(|_| ())
}

/// What was done in one process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Records that were expected in the steps taken: how many there were is private.
    pub expected: u64,
    /// Contributions left out because they were not finite. **Not private**: for the screen of whoever holds the records.
    pub excluded: u64,
}

/// Measurements by name, some of them in groups.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Measurements(Map<String, Value>);

impl Measurements {
    /// With one more.
    pub fn with(mut self, name: &str, value: impl Serialize) -> Measurements {
        let value = serde_json::to_value(value).expect("a measurement has a form in JSON");
        self.0.insert(name.to_string(), value);
        self
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// One of them, or a group.
    pub fn get<'a, T: Deserialize<'a>>(&'a self, name: &str) -> Option<T> {
        self.0.get(name).and_then(|value| T::deserialize(value).ok())
    }
}
