//! The audit of a sampler: are records drawn as they are charged for?
//!
//! However little noise there is, a record that is not drawn gives nothing away: at negligible noise δ is the probability of
//! taking part, and all of amplification rests on it. Who draws in one way and charges for another claims too little (R3).

mod check;
mod draws;

pub use check::Check;
pub use draws::MakeSampler;

use super::report::Verdict;
use super::runs::proved;
use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::methods::Mode;
use crate::noise::Key;
use crate::sampler::SamplerChoice;
use crate::train::Plan;
use crate::train::validation::hold_out;
use check::{log_binomial, log_common};
use draws::Draws;
use muffle_accounting::{Adjacency, Assignment, Event};
use serde::Serialize;

/// The attacker's position in an audit of participation.
pub const THREAT: &str =
    "gradient-level white box without noise: the attacker sees which records take part in every step";

/// How thoroughly a sampler is audited.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Runs whose first steps are drawn.
    pub runs: u64,
    /// A sampler that draws what is charged is refuted with a probability of one less this at most.
    pub confidence: f64,
    /// Of all draws.
    pub seed: u64,
}

/// What draws look like beside what is charged.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ParticipationReport {
    /// What became of what is charged.
    pub verdict: Verdict,
    /// The method.
    pub method: String,
    /// Its form.
    pub mode: Mode,
    /// What the paper's argument gives for the run.
    pub claimed: Option<f64>,
    /// What is proved of the run, if records are drawn as they are charged for.
    pub proved: Option<f64>,
    /// Draws give no epsilon.
    pub measured: Option<f64>,
    /// Of the verdict, if it is that what is charged is violated.
    pub confidence: f64,
    /// Which data sets are neighbours.
    pub adjacency: Adjacency,
    /// What the attacker sees.
    pub threat: String,
    /// How records are drawn.
    pub sampler: SamplerChoice,
    /// The kind of event that is charged.
    pub charged: String,
    /// Records there are.
    pub records: usize,
    /// Runs whose first steps were drawn.
    pub runs: u64,
    /// What was compared.
    pub checks: Vec<Check>,
    /// Of all draws.
    pub seed: u64,
}

/// Draws the sampler of a plan again and again.
pub fn audit(plan: &Plan, dataset: &Dataset, settings: &Settings) -> Result<ParticipationReport> {
    let Settings { runs, confidence, seed } = *settings;
    if !(confidence > 0.0 && confidence < 1.0) {
        return Err(Error::Plan(format!("confidence {confidence} is outside (0, 1)")));
    }
    if runs == 0 {
        return Err(Error::Plan("0 runs show nothing; take 20 or more".to_string()));
    }
    let share = plan.recipe.training.held_out();
    let records = match share > 0.0 {
        true => hold_out(&dataset.train(), share).0.len(),
        false => dataset.train().split().len(),
    };
    let make = |key: &Key| plan.sampler(key, records);
    let checks = checks(&make, records, runs, seed)?;
    let violated = is_violated(&checks, confidence);
    Ok(ParticipationReport {
        verdict: if violated { Verdict::Violated } else { Verdict::NoContradictionFound },
        method: plan.method.name.to_string(),
        mode: plan.recipe.training.mode,
        claimed: plan.claimed(),
        proved: proved(plan)?.0,
        measured: None,
        confidence,
        adjacency: plan.adjacency,
        threat: THREAT.to_string(),
        sampler: plan.recipe.training.sampler,
        charged: charged(&make).kind().to_string(),
        records,
        runs,
        checks,
        seed,
    })
}

/// Whether some check is too unlikely to be chance.
///
/// # Guarantee
/// If records are drawn as they are charged for, this is so with probability 1 − `confidence` at most, whatever the number of
/// checks: each is exact and gets an equal share.
pub fn is_violated(checks: &[Check], confidence: f64) -> bool {
    let level = (1.0 - confidence) / checks.len() as f64;
    checks.iter().any(|check| check.p_value < level)
}

/// What a sampler has some event charged as.
fn charged(make: &MakeSampler) -> Event {
    make(&Key::from_seed(0)).amplify(Event::gaussian(1.0))
}

/// Compares the draws of several runs with the event that the sampler has charged.
///
/// Every count is binomial if records are drawn as they are charged for: independent trials are taken where there are some.
pub fn checks(make: &MakeSampler, records: usize, runs: u64, seed: u64) -> Result<Vec<Check>> {
    // So many steps that a record is expected once, and an even number.
    let steps = |rate: f64| ((1.0 / rate).round() as u64).max(2).next_multiple_of(2);
    match charged(make) {
        Event::PoissonSampled { sample_rate, .. } => {
            let steps = steps(sample_rate);
            Ok(poisson(&Draws::new(make, records, (runs, steps, steps), seed), sample_rate))
        }
        Event::FixedSizeSampled { sample_rate, .. } => {
            let steps = steps(sample_rate);
            Ok(fixed_size(&Draws::new(make, records, (runs, steps, steps), seed), sample_rate))
        }
        Event::PartitionedEpoch { assignment, .. } => {
            let period = make(&Key::from_seed(0)).period();
            Ok(partition(&Draws::new(make, records, (runs, 2 * period, period), seed), assignment, period))
        }
        event => Err(Error::Plan(format!(
            "the sampler has a {} event charged, which says nothing of how records are drawn",
            event.kind()
        ))),
    }
}

/// Each record in each step independently, at the same rate.
fn poisson(draws: &Draws, rate: f64) -> Vec<Check> {
    let Draws { records, runs, .. } = *draws;
    let all_steps = runs * draws.steps;
    let drawn: u64 = draws.sizes.iter().sum();
    let ever = -(draws.steps as f64 * (-rate).ln_1p()).exp_m1();
    vec![
        Check::share("records in a step", drawn, all_steps * records, rate),
        Check::most_uneven("the record that is most off", &draws.counts, all_steps, rate),
        Check::middle(
            "sizes of samples in the middle of their distribution",
            &draws.sizes,
            records,
            &|size| log_binomial(records, rate, size),
        ),
        Check::share("two records together", draws.together, all_steps * (records / 2), rate * rate),
        Check::share(
            "records in a step and in the next",
            draws.common.iter().sum(),
            draws.common.len() as u64 * records,
            rate * rate,
        ),
        Check::share("records that take part at all", draws.took_part, runs * records, ever),
    ]
}

/// Every subset of one size in each step with the same probability, independently.
fn fixed_size(draws: &Draws, rate: f64) -> Vec<Check> {
    let (records, all_steps) = (draws.records, draws.runs * draws.steps);
    let size = (rate * records as f64).round() as u64;
    let other_sizes = draws.sizes.iter().filter(|drawn| **drawn != size).count() as u64;
    let share = size as f64 / records as f64;
    let both = share * (size as f64 - 1.0) / (records as f64 - 1.0).max(1.0);
    vec![
        Check::never("samples of another size", other_sizes, all_steps),
        Check::most_uneven("the record that is most off", &draws.counts, all_steps, share),
        Check::share(
            "two records together",
            draws.one_pair_together,
            if records > 1 { all_steps } else { 0 },
            both.max(0.0),
        ),
        Check::middle(
            "common records of two steps in the middle of their distribution",
            &draws.common,
            size,
            &|common| log_common(records, size, common),
        ),
    ]
}

/// Each record in one batch of every epoch; independently of others, if it picks its batch.
fn partition(draws: &Draws, assignment: Assignment, batches: u64) -> Vec<Check> {
    let Draws { records, runs, steps, .. } = *draws;
    let epochs = runs * steps / batches;
    let once = Check::never("records that are not in exactly one batch", draws.not_once, epochs * records);
    match assignment {
        // Whoever else is in a batch does not matter: no sampling is charged for.
        Assignment::Reshuffled => vec![once],
        Assignment::BallsAndBins => {
            let rate = 1.0 / batches as f64;
            let firsts: Vec<u64> = draws.sizes.iter().step_by(batches as usize).copied().collect();
            vec![
                once,
                Check::middle(
                    "sizes of first batches in the middle of their distribution",
                    &firsts,
                    records,
                    &|size| log_binomial(records, rate, size),
                ),
                Check::share("two records together", draws.together, epochs * (records / 2), rate),
            ]
        }
    }
}
