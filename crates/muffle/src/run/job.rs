//! A recipe of any kind, ready to run.

use super::folder::RunFolder;
use super::runner::{Progress, Summary, complete};
use super::terms::Terms;
use super::trainer::Trainer;
use crate::bundle;
use crate::data::{Dataset, Schema};
use crate::error::Result;
use muffle_accounting::Event;
use serde_json::{Map, Value};
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// A recipe whose open questions are answered, of whatever kind of training: what a run begins with, and is continued from.
pub trait Job: Send + Sync {
    /// What the run has to keep to.
    fn terms(&self) -> Terms;

    /// The recipe with every answer filled in, as a file.
    fn recipe(&self) -> String;

    /// What the whole run costs; if its noise follows what was released, what it would cost with the noise it begins with.
    fn cost(&self) -> Result<Event>;

    /// What is about to happen, for a reader: a few names with their values.
    fn outline(&self) -> Vec<(&'static str, String)>;

    /// The same for programs.
    fn figures(&self) -> Map<String, Value>;

    /// What breaks in the form that runs, if it is one whose privacy is only claimed.
    fn breaks(&self) -> Option<&'static str>;

    /// How long it will take and how much memory, found without a record of the user's; `None` where only the run itself shows.
    fn estimate(&self) -> Result<Option<Estimate>> {
        Ok(None)
    }

    /// What a pilot on labelled public records lets one expect; `None` where this kind of training has none.
    fn pilot(&self, _public: &Dataset) -> Result<Option<Pilot>> {
        Ok(None)
    }

    /// Refuses, before the run has a folder, what would fail only later.
    fn rehearse(&self) -> Result<()> {
        Ok(())
    }

    /// The same with another seed, or none.
    fn with_seed(&self, seed: Option<u64>) -> Box<dyn Job>;

    /// What is trained, before anything is touched.
    fn trainer(&self, dataset: &Dataset) -> Result<Box<dyn Trainer>>;
}

/// What a pilot lets one expect of a run.
#[derive(Clone, Debug)]
pub struct Pilot {
    /// For a reader: a few names with their values.
    pub outline: Vec<(&'static str, String)>,
    /// The same for programs.
    pub figures: Map<String, Value>,
}

/// What a run is expected to need.
#[derive(Clone, Copy, Debug)]
pub struct Estimate {
    /// Seconds for all steps.
    pub seconds: f64,
    /// Most memory of the process after a few steps, the data included, in megabytes.
    pub peak_rss_mb: Option<f64>,
}

/// Makes the folder of a run, after a rehearsal without a record.
pub fn begin(path: &Path, job: &dyn Job) -> Result<RunFolder> {
    job.rehearse()?;
    RunFolder::create(path, &job.recipe())
}

/// Makes the folder of a run and takes its steps: see [`complete`].
pub fn start(
    path: &Path,
    job: &dyn Job,
    dataset: &Dataset,
    stop: &AtomicBool,
    observe: &mut dyn FnMut(&Progress),
) -> Result<Summary> {
    resume(&begin(path, job)?, job, dataset, stop, observe)
}

/// Takes the steps of a job that are not taken yet, on data that mean what they meant at the start: see [`complete`] and
/// [`bundle::hold`].
pub fn resume(
    folder: &RunFolder,
    job: &dyn Job,
    dataset: &Dataset,
    stop: &AtomicBool,
    observe: &mut dyn FnMut(&Progress),
) -> Result<Summary> {
    bundle::hold(folder.path(), &Schema::of(dataset))?;
    let mut trainer = job.trainer(dataset)?;
    complete(folder, &job.terms(), &mut *trainer, stop, observe)
}
