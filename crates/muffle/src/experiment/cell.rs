//! One run of an experiment.

use super::groups::Experiment;
use crate::error::{Error, Result};
use crate::run::{
    Certificate, Job, MODEL_FILE, Measurements, Progress, RunFolder, Status, metrics, resume, start, verify,
};
use crate::train::Evaluation;
use muffle_accounting::Event;
use muffle_nn::regular_file;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// One run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    /// The place of its group in the experiment.
    pub group: usize,
    /// Tells it apart from other cells of the group.
    pub number: u64,
    /// Makes it reproducible.
    pub seed: Option<u64>,
}

/// What became of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// What was measured on the test split.
    pub test: Evaluation,
    /// The proved epsilon; `None` if there is none.
    pub epsilon: Option<f64>,
    /// The epsilon of a run with a seed, if the seed is secret and was drawn at random.
    pub epsilon_if_seed_is_secret: Option<f64>,
    /// What a paper says without a proof that holds.
    pub claimed: Option<f64>,
    /// Steps taken.
    pub steps: u64,
    /// What was spent.
    pub events: Event,
}

/// How far a cell is.
enum State {
    Missing,
    Interrupted,
    Finished(Box<Outcome>),
}

impl Cell {
    /// The result, if the run is finished.
    pub(super) fn finished(&self, experiment: &Experiment) -> Result<Option<Outcome>> {
        Ok(match state(&experiment.path(self), &*self.job(experiment))? {
            State::Finished(outcome) => Some(*outcome),
            State::Missing | State::Interrupted => None,
        })
    }

    /// Starts or continues the run; nothing comes of it if it is stopped before its end.
    pub(super) fn run(
        &self,
        experiment: &Experiment,
        stop: &AtomicBool,
        observe: &mut dyn FnMut(&Progress),
    ) -> Result<Option<Outcome>> {
        let (path, job) = (experiment.path(self), self.job(experiment));
        let dataset = experiment.dataset(experiment.group(self));
        let summary = match state(&path, &*job)? {
            State::Finished(outcome) => return Ok(Some(*outcome)),
            State::Missing => start(&path, &*job, dataset, stop, observe),
            State::Interrupted => {
                let folder = RunFolder::open(&path)?;
                resume(&folder, &*job, dataset, stop, observe)
            }
        };
        let summary = match summary {
            Err(Error::Interrupted { .. }) => return Ok(None),
            summary => summary?,
        };
        match summary.certificate.status {
            Status::Finished => Ok(Some(outcome(summary.certificate, &summary.measured))),
            Status::Interrupted => Ok(None),
            Status::Diverged => Err(Error::Diverged { folder: path }),
        }
    }

    fn job(&self, experiment: &Experiment) -> Box<dyn Job> {
        experiment.group(self).job.with_seed(self.seed)
    }
}

fn outcome(certificate: Certificate, measured: &Measurements) -> Outcome {
    Outcome {
        test: Evaluation::of(measured),
        epsilon: certificate.proved.epsilon,
        epsilon_if_seed_is_secret: certificate.epsilon_if_seed_is_secret(),
        claimed: certificate.claimed,
        steps: certificate.steps,
        events: certificate.events,
    }
}

/// How far the run in a folder is, if it is the one that is asked for.
fn state(path: &Path, wanted: &dyn Job) -> Result<State> {
    let recipe = path.join("recipe.toml");
    if !recipe.is_file() {
        return Ok(State::Missing);
    }
    let found = regular_file::read_to_string(&recipe).map_err(|error| Error::file(&recipe, error))?;
    if let Some(key) = difference(&found, &wanted.recipe()) {
        return Err(Error::file(
            path,
            format!(
                "there is a run with another `{key}`; give the settings it was started with, or choose another --output"
            ),
        ));
    }
    let certificate = path.join("privacy.json");
    if !certificate.is_file() || !path.join(MODEL_FILE).is_file() {
        return Ok(State::Interrupted);
    }
    let certificate = verify(path)?;
    // A power failure can lose the last measurement: the run is then taken up once more, with no step left.
    let last = metrics::read(&path.join("metrics.jsonl")).pop();
    let last =
        last.filter(|metric| metric.step == certificate.steps && certificate.status == Status::Finished);
    Ok(match last {
        Some(metric) => State::Finished(Box::new(outcome(certificate, &metric.measured))),
        None => State::Interrupted,
    })
}

/// The first key in which two recipes differ.
fn difference(one: &str, other: &str) -> Option<String> {
    let table = |recipe: &str| recipe.parse::<toml::Table>().unwrap_or_default();
    let (one, other) = (table(one), table(other));
    let mut keys = one.keys().chain(other.keys());
    keys.find(|key| one.get(*key) != other.get(*key)).cloned()
}
