//! Search for a network that learns well under clipping and noise, with every look at the records paid for.

mod controller;
mod genotype;
mod plans;
mod settings;
mod strategy;
mod trials;

pub use settings::Settings;
pub use strategy::Strategy;

use crate::atomic_file;
use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::ledger::{self, Access, Ledger};
use crate::mechanism::{BoundedVector, Mechanism};
use crate::noise::{self, Key, Purpose, Stream, Uniform};
use crate::records::PrivateRecords;
use crate::run::{Binding, Certificate, End, Purse, Status, Trainer, lock, ready};
use crate::train::validation::hold_out;
use crate::train::{Evaluator, GradientTrainer, Plan, Recipe};
use muffle_accounting::Event;
use muffle_nn::ModelDescription;
use plans::Plans;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use trials::Trials;

/// A count of held-out records that a candidate classifies correctly.
const REWARD: ledger::Purpose = ledger::Purpose::with_noise("validation", noise::Purpose::ValidationNoise);

/// Names of the files of a search: what was asked for, what was spent, and the network that was found.
const SEARCH: &str = "search.toml";
const LEDGER: &str = "ledger.jsonl";
const MODEL: &str = "model.toml";

/// A network that was tried.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate {
    /// Counted from one.
    pub number: u64,
    /// Accuracy on the records held out, with noise: it may lie outside zero and one.
    pub accuracy: f64,
    /// Whether it is the best so far.
    pub best: bool,
}

/// What a search found.
#[derive(Clone, Debug)]
pub struct Found {
    /// The best network.
    pub model: ModelDescription,
    /// Its accuracy on the records held out, with noise.
    pub accuracy: f64,
    /// What the search has spent.
    pub certificate: Certificate,
}

/// Trains candidates privately, one after the other, as the [strategy](Settings::strategy) proposes them, and keeps the best by noisy
/// counts of held-out records. Writes `search.toml`, `candidates.jsonl`, `model.toml`, `ledger.jsonl` and `privacy.json`.
///
/// The recipe says how a candidate is trained; its epsilon is for the whole search. `stop` ends the search after a candidate; called
/// again for the same folder, it goes on with the next.
///
/// # Source
/// The cells and operations of Cheng et al. 2022, with their controller or a walk of single changes in its place; their rewards had
/// no noise.
///
/// # Guarantee
/// Candidates depend on the records through noisy rewards only (R6), each is paid for on disk before it is trained, and the
/// noise is the same for all, so that the whole search costs no more than the recipe's epsilon by composition. What was lost when a
/// process died is paid for again, and the search is shorter by that. What is trained later with the network that was found costs
/// its own.
pub fn search(
    folder: &Path,
    recipe: &Recipe,
    settings: &Settings,
    dataset: &Dataset,
    stop: &AtomicBool,
    observe: &mut dyn FnMut(&Candidate),
) -> Result<Found> {
    let plans = Plans::new(recipe, settings, dataset)?;
    std::fs::create_dir_all(folder).map_err(|error| Error::file(folder, error))?;
    let _lock = lock(folder)?;
    let described = format!("# {settings:?}\n{}", plans.recipe.to_toml());
    describe(folder, &described)?;
    // Steps of candidates have the same numbers, so that a repeated one cannot be told from another: all are paid for.
    let mut purse = Purse::new(Ledger::open(&folder.join(LEDGER), &described, false)?, None)?;
    let (mut trials, mut guide) = (Trials::open(folder)?, settings.strategy.guide()?);
    for (cell, accuracy) in trials.tried() {
        guide.learn(cell, *accuracy)?;
    }
    let last = trials.count() + plans.affordable(settings, &purse.ledger, trials.count())?;
    let mut judge = Judge::new(dataset, recipe, settings, plans.records)?;
    while trials.count() < last && !(stop.load(Ordering::Relaxed) && trials.count() > 0) {
        let number = trials.count();
        let cell = guide.propose(&mut Uniform::new(&judge.own, Stream::new(Purpose::Data, number)))?;
        let accuracy = judge.reward(&plans.of(&cell)?, &mut purse, number)?;
        let best = trials.best().is_none_or(|(_, highest)| accuracy > *highest);
        guide.learn(&cell, accuracy)?;
        trials.add(cell, accuracy)?;
        observe(&Candidate { number: number + 1, accuracy, best });
    }
    let (cell, accuracy) = trials.best().ok_or_else(|| {
        Error::file(
            folder,
            "the budget was spent on candidates that were lost; choose another folder, and count what this one has spent as well",
        )
    })?;
    let left = last - trials.count();
    let certificate =
        certify(folder, &described, &plans.of(cell)?, settings, (trials.count(), left), &purse)?;
    Ok(Found { model: plans.of(cell)?.description, accuracy: *accuracy, certificate })
}

/// Writes what a search was asked for, or finds that it is the one to go on with.
fn describe(folder: &Path, described: &str) -> Result<()> {
    match std::fs::read_to_string(folder.join(SEARCH)) {
        Ok(text) if text == described => Ok(()),
        Ok(_) => Err(Error::file(
            folder,
            format!(
                "there is another search already ({SEARCH}): ask for the same to go on with it, or choose another folder"
            ),
        )),
        Err(_) => write(folder, SEARCH, described),
    }
}

fn write(folder: &Path, name: &str, text: &str) -> Result<()> {
    let path = folder.join(name);
    atomic_file::write(&path, text).map_err(|error| Error::file(&path, error))
}

/// Leaves the network that was found, and the certificate after so many candidates with so many left.
fn certify(
    folder: &Path,
    described: &str,
    plan: &Plan,
    settings: &Settings,
    (tried, left): (u64, u64),
    purse: &Purse,
) -> Result<Certificate> {
    write(folder, MODEL, &plan.description.to_toml())?;
    let binding = Binding::new(folder, described, purse.ledger.head(), &[MODEL.to_string()])?;
    let status = if left == 0 { Status::Finished } else { Status::Interrupted };
    let rest: Event = settings.cost(plan.total_cost()?, left);
    let end = End { steps: tried * plan.steps, status, rest, claimed: None, audit: None, binding };
    let certificate = Certificate::new(&plan.terms(), &purse.ledger, end);
    write(folder, "privacy.json", &certificate.to_json())?;
    Ok(certificate)
}

/// Trains candidates on one part of the records and counts what they get right on the other.
struct Judge {
    training: Dataset,
    held_out: PrivateRecords,
    /// How many records are held out, as far as that is public (R2).
    expected: f64,
    reward_epsilon: f64,
    seed: Option<u64>,
    threads: Option<usize>,
    /// Makes the search's own choices and the noise on rewards.
    own: Key,
}

/// The key of a candidate, counted from one; zero is the search itself.
fn key(seed: Option<u64>, number: u64) -> Result<Key> {
    match seed {
        Some(seed) => Ok(Key::from_seed(seed.wrapping_mul(1 << 20).wrapping_add(number))),
        None => Ok(Key::from_entropy()?),
    }
}

impl Judge {
    fn new(dataset: &Dataset, recipe: &Recipe, settings: &Settings, records: u64) -> Result<Judge> {
        let (training, held_out) = hold_out(&dataset.train(), settings.share);
        let all = dataset.train().split();
        Ok(Judge {
            training: dataset.with_splits(all.select(&training), all.select(&held_out))?,
            held_out: PrivateRecords::some(Arc::new(dataset.clone()), held_out),
            expected: settings.share * records as f64,
            reward_epsilon: settings.reward_epsilon,
            seed: recipe.run.seed,
            threads: recipe.run.threads,
            own: key(recipe.run.seed, 0)?,
        })
    }

    /// The accuracy of a candidate, with noise.
    ///
    /// # Guarantee
    /// One record more or less changes the number of correct ones by one at most.
    fn reward(&mut self, plan: &Plan, purse: &mut Purse, number: u64) -> Result<f64> {
        let mut trainer = GradientTrainer::new(plan, &self.training, key(self.seed, number + 1)?)?;
        ready(&mut trainer)?;
        while trainer.step() < plan.steps {
            purse.pay_and_do(&mut trainer, plan.steps)?;
        }
        let noise_multiplier = 1.0 / self.reward_epsilon;
        let access = Access::all(REWARD, number, Event::laplace(noise_multiplier));
        let (view, receipt) = self.held_out.all(purse.ledger.pay_one(access)?);
        let mut evaluator = Evaluator::new(plan.network.clone(), self.threads)?;
        let count = BoundedVector::l1(vec![evaluator.correct(trainer.result(), &view)? as f64], 1.0);
        let (correct, _) = Mechanism::new(self.own.clone(), 1.0).answer(count, noise_multiplier, receipt);
        Ok(correct[0] / self.expected)
    }
}
