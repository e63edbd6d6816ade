//! The audit of whole runs: many trainings, with a canary and without it.

use super::attack::{PILOT_SHARE, best_threshold, count};
use super::report::{Argument, Report, Verdict};
use crate::bounds::{Detections, needed_trials};
use crate::data::{Dataset, Split};
use crate::error::{Error, Result};
use crate::ledger::Ledger;
use crate::noise::{Key, Purpose, Stream, Uniform};
use crate::run::{Job, Purse};
use crate::side_by_side::side_by_side;
use crate::train::Evaluation;
use muffle_accounting::{Adjacency, Event, Quotes};
use serde::Serialize;
use std::sync::atomic::{AtomicBool, Ordering};

/// The attacker's position in an audit of whole runs.
pub const THREAT: &str = "black box: the attacker chooses one record, knows all others, and sees the loss of each finished model on it";

/// How thoroughly runs are audited.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Trainings, half of them with the canary.
    pub runs: u64,
    /// Of the lower bounds.
    pub confidence: f64,
    /// Of the canary and of all trainings.
    pub seed: u64,
    /// Trainings at the same time, each on one thread.
    pub workers: usize,
}

/// What an audit of whole runs found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunsReport {
    /// The three epsilons; a trial is a training.
    #[serde(flatten)]
    pub report: Report,
    /// The lower bound if the run as a whole were a Gaussian mechanism, which many small steps come close to.
    pub measured_if_gaussian: f64,
    /// Trainings in all.
    pub runs: u64,
    /// Losses of the canary in runs without it and with it.
    #[serde(skip)]
    pub losses: [Vec<f64>; 2],
}

/// Runs a job of any kind many times, half of them with a canary, and tells by its loss in the finished model whether it was there.
///
/// A fifth of the runs choose threshold and direction, the others are fresh. `None` if `stop` was set before the end;
/// `after_step` is called after every step of every training.
///
/// # Source
/// Jagielski, Ullman and Oprea 2020, "Auditing differentially private machine learning".
///
/// # Guarantee
/// Nothing of the runs that are counted was used to choose, so both errors are binomial counts. **Nothing is paid for**: what is
/// measured is for the holder of the records.
pub fn audit(
    job: &dyn Job,
    dataset: &Dataset,
    settings: &Settings,
    stop: &AtomicBool,
    after_step: &(dyn Fn() + Sync),
) -> Result<Option<RunsReport>> {
    let delta = job.terms().recipe.delta;
    check(delta, settings)?;
    let Some(losses) = losses(job, dataset, settings, stop, after_step)? else { return Ok(None) };
    let found = detections(&losses, delta, settings.confidence);
    report(job, &found, settings, losses).map(Some)
}

/// Runs of one world that choose the test; the others count.
fn pilots(runs: u64) -> u64 {
    ((0.5 * runs as f64 * PILOT_SHARE) as u64).max(2)
}

fn check(delta: f64, settings: &Settings) -> Result<()> {
    let refuse = |reason: String| Err(Error::Plan(reason));
    let Settings { runs, confidence, .. } = *settings;
    if !(confidence > 0.0 && confidence < 1.0) {
        return refuse(format!("confidence {confidence} is outside (0, 1)"));
    }
    let fresh = needed_trials(delta, confidence);
    let enough = |runs: &u64| runs / 2 >= pilots(*runs) + fresh;
    if !runs.is_multiple_of(2) || !enough(&runs) {
        let needed = (2..).step_by(2).find(enough).unwrap_or(u64::MAX);
        return refuse(format!(
            "{runs} runs: with confidence {confidence} even a test that never errs shows nothing unless there are {needed} of \
             them, or more; their number has to be even, half of them with the canary"
        ));
    }
    Ok(())
}

/// The records without the canary and with it, both of which measure their results on the canary alone.
fn worlds(dataset: &Dataset, adjacency: Adjacency, seed: u64) -> Result<[Dataset; 2]> {
    let split = dataset.train().split();
    let mut uniform = Uniform::new(&Key::from_seed(seed), Stream::new(Purpose::Audit, 0));
    let canary = uniform.below(split.len() as u64) as usize;
    let wrong = uniform.wrong_class(split.labels()[canary], dataset.classes().len());
    let others = split.select(&(0..split.len()).filter(|&record| record != canary).collect::<Vec<_>>());
    let honest = split.select(&[canary]);
    let planted = Split::classified(honest.records.clone(), vec![wrong]);
    let without = match adjacency {
        Adjacency::AddRemove => others.clone(),
        Adjacency::ReplaceOne => others.clone().followed_by(honest),
        Adjacency::ZeroOut => {
            return Err(Error::Plan(
                "a data set cannot hold the null record of zero_out: set adjacency = \"replace_one\", or sampler = \"poisson\" or \
                 \"balls-and-bins\""
                    .to_string(),
            ));
        }
    };
    let with = others.followed_by(planted.clone());
    Ok([dataset.with_splits(without, planted.clone())?, dataset.with_splits(with, planted)?])
}

/// The losses of the canary without it and with it, run by run.
fn losses(
    job: &dyn Job,
    dataset: &Dataset,
    settings: &Settings,
    stop: &AtomicBool,
    after_step: &(dyn Fn() + Sync),
) -> Result<Option<[Vec<f64>; 2]>> {
    let worlds = worlds(dataset, job.terms().adjacency, settings.seed)?;
    let mut stream = Uniform::new(&Key::from_seed(settings.seed), Stream::new(Purpose::Audit, 1));
    let seeds: Vec<u64> = (0..settings.runs).map(|_| stream.bits()).collect();
    let train =
        |run: usize| loss(&*job.with_seed(Some(seeds[run])), &worlds[run % 2], stop, &|| after_step());
    let found = side_by_side(settings.runs as usize, settings.workers, &train)?;
    let found: Option<Vec<f64>> = found.into_iter().collect();
    let world = |found: &[f64], world: usize| found.iter().skip(world).step_by(2).copied().collect();
    Ok(found.map(|found| [world(&found, 0), world(&found, 1)]))
}

/// The loss of a finished run on the test split; `None` if it was stopped. **Nothing is paid for.**
fn loss(job: &dyn Job, dataset: &Dataset, stop: &AtomicBool, after_step: &dyn Fn()) -> Result<Option<f64>> {
    let terms = job.terms();
    let mut trainer = job.trainer(dataset)?;
    if !trainer.get_ready(stop, &mut |_| {})? {
        return Ok(None);
    }
    let mut purse = Purse::new(Ledger::in_memory(), terms.filter()?)?;
    while trainer.step() < terms.steps {
        if stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let before = trainer.step();
        let paid = purse.pay_and_do(&mut *trainer, 1)?;
        if trainer.step() > before {
            after_step();
        }
        if paid.ended {
            break;
        }
    }
    Ok(Some(Evaluation::of(&trainer.measure()?).loss))
}

/// Chooses direction and threshold on the first runs, and counts on the others how often the test is right.
fn detections([absent, present]: &[Vec<f64>; 2], delta: f64, confidence: f64) -> Detections {
    let pilots = pilots(2 * absent.len() as u64) as usize;
    let fresh = (absent.len() - pilots) as u64;
    // A few runs bound nothing by themselves: what would the fresh ones show if they came out alike?
    let alike = fresh / pilots as u64;
    let worth = |found: &Detections| found.repeated(alike).epsilon(delta, confidence);
    let chosen = [-1.0, 1.0].map(|sign| {
        let scores = |losses: &[f64]| losses.iter().map(|loss| sign * loss).collect::<Vec<f64>>();
        let (absent, present) = (scores(absent), scores(present));
        let (value, threshold) = best_threshold(&absent[..pilots], &present[..pilots], &worth);
        (value, count(&absent[pilots..], &present[pilots..], threshold))
    });
    // A record is learned rather than forgotten: the usual direction is taken unless the other was better.
    if chosen[1].0 > chosen[0].0 { chosen[1].1 } else { chosen[0].1 }
}

/// What is proved of a run, and its event if that is fixed in advance.
pub(super) fn proved(job: &dyn Job) -> Result<(Option<f64>, Option<Event>)> {
    let terms = job.terms();
    if terms.filter_order.is_some() {
        return Ok((terms.recipe.epsilon, None));
    }
    if terms.is_unproved() || !terms.recipe.private {
        return Ok((None, None));
    }
    let event = job.cost()?;
    let best =
        Quotes::ask(&event, terms.adjacency, terms.recipe.delta).best().map(|quote| quote.price.epsilon);
    Ok((best, best.map(|_| event)))
}

fn report(
    job: &dyn Job,
    found: &Detections,
    settings: &Settings,
    losses: [Vec<f64>; 2],
) -> Result<RunsReport> {
    let (terms, confidence) = (job.terms(), settings.confidence);
    let (delta, adjacency) = (terms.recipe.delta, terms.adjacency);
    let (proved, event) = proved(job)?;
    let free = found.epsilon(delta, confidence);
    let (argument, measured) = match event {
        Some(event) => (Argument::NoiseFactor, found.epsilon_within(&event, adjacency, delta, confidence)?),
        None => (Argument::ClopperPearson, free),
    };
    let report = Report {
        verdict: Verdict::of(terms.claimed, proved, measured),
        method: terms.method.to_string(),
        mode: terms.mode,
        claimed: terms.claimed,
        proved,
        measured,
        argument,
        measured_without_assumptions: free,
        confidence,
        delta,
        adjacency,
        threat: THREAT.to_string(),
        trials: found.present,
        true_positives: found.true_positives,
        false_positives: found.false_positives,
        seed: settings.seed,
    };
    let measured_if_gaussian = found.gaussian_epsilon(delta, confidence);
    Ok(RunsReport { report, measured_if_gaussian, runs: settings.runs, losses })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Twenty runs a world: four choose, sixteen count. A threshold between 1 and 2 separates the pilots; of the fresh runs one
    /// in each world is on the wrong side.
    #[test]
    fn the_first_runs_choose_and_the_others_count() {
        let mut worlds = [vec![2.0; 20], vec![1.0; 20]];
        (worlds[0][7], worlds[1][9]) = (0.0, 3.0);
        let expected = Detections { present: 16, true_positives: 15, absent: 16, false_positives: 1 };
        assert_eq!(detections(&worlds, 1e-5, 0.95), expected);
        // The other direction is found as well.
        worlds.reverse();
        assert_eq!(detections(&worlds, 1e-5, 0.95), expected);
        assert_eq!((pilots(40), pilots(4)), (4, 2));
    }
}
