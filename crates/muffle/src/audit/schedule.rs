//! The audit of all steps of a run together, with the sampler on: a total that is claimed for a schedule, beside what its releases show.

use super::attack::{Attack, Objective, attack};
use super::game::Game;
use super::planted::{Planted, Record};
use super::step::{Case, Said, Settings, StepReport, check, of_same};
use super::subject::Subject;
use crate::error::{Error, Result};
use crate::methods::{self, Mode};
use crate::noise::{Key, Purpose, Stream, Uniform};
use crate::train::Plan;
use muffle_accounting::Adjacency;
use muffle_nn::{Batch, Engine};
use std::ops::Range;

/// The attacker's position in an audit of a schedule.
pub const THREAT: &str = "gradient-level white box: the attacker sees every release, knows all other records and the parameters, which \
                          stay where they are, and chooses the record; it takes part in a step when the sampler says so, and in what \
                          the method learns of all records";

/// How long a run is, and how records take part.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Schedule {
    /// Steps.
    pub steps: u64,
    /// Probability that a record takes part in a step.
    pub sample_rate: f64,
    /// The total that the noise is set for, by the form's own argument; the noise multiplier of the settings if absent.
    pub epsilon: Option<f64>,
}

impl Schedule {
    /// One step in which everybody takes part.
    pub const ONE_STEP: Schedule = Schedule { steps: 1, sample_rate: 1.0, epsilon: None };
}

/// Audits all steps of a run of a published method together, on a [`Planted`] network.
///
/// # Source
/// Nasr et al. 2023, "Tight auditing of differentially private machine learning", the white-box attacker who sees intermediate updates.
pub fn audit(settings: &Settings, schedule: &Schedule) -> Result<(StepReport, Attack)> {
    check(settings)?;
    let Schedule { steps, sample_rate, .. } = *schedule;
    if !(sample_rate > 0.0 && sample_rate < 1.0) {
        return Err(Error::Plan(format!("a sample rate of {sample_rate} is outside (0, 1)")));
    }
    if steps < 2 {
        return Err(Error::Plan(format!("{steps} steps are no schedule: take two or more")));
    }
    methods::find(&settings.method).map_err(Error::Plan)?;
    if let Some(found) = of_same(settings, |settings| audit(settings, schedule))? {
        return Ok(found);
    }
    let planted = Planted::new(settings.width);
    let case = Case::on(&planted, settings, schedule)?;
    if case.adjacency != Adjacency::AddRemove {
        return Err(Error::Plan(format!(
            "`{}` is stated under {}; a sampler that leaves records out is audited under add_remove",
            settings.method, case.adjacency
        )));
    }
    let parameters = planted.parameters(&case.plan.network);
    let subject = Subject { adjacency: case.adjacency, ..Subject::of(&case.plan, parameters) };
    // What a published form learns without protection would drown out its steps.
    let prepared_after = match settings.mode {
        Mode::Sound => Some(prepared_after(&case.plan)?),
        Mode::AsPublished => None,
    };
    let mut games: Vec<Box<dyn Game + '_>> = Vec::new();
    for seen in [Seen::Longest, Seen::Sum] {
        let game = ScheduleGame { prepared_after, ..ScheduleGame::new(&subject, &planted, *schedule, seen)? };
        games.push(Box::new(game));
    }
    let objective = Objective::Epsilon { delta: settings.delta };
    let found = attack(&mut games, objective, settings.confidence, settings.trials, settings.seed)?;
    let said = Said {
        adjacency: case.adjacency,
        claimed: case.claimed,
        proved: case.proved,
        gaussian: false,
        event: None,
        threat: THREAT,
    };
    let settings = Settings { noise_multiplier: case.plan.noise_multiplier, ..settings.clone() };
    Ok((StepReport::new(said, &found, &settings, case.plan.network.parameter_len())?, found))
}

/// Behind how many steps the method learns what it learns of all records.
fn prepared_after(plan: &Plan) -> Result<u64> {
    let sampler = plan.sampler(&Key::from_seed(0), plan.recipe.run.records.unwrap_or_default() as usize);
    Ok(plan.prepared_after(&*plan.build_method()?, &*sampler))
}

/// What the attacker keeps of all releases.
#[derive(Clone, Copy, Debug)]
enum Seen {
    /// The longest of them: noise that a record makes grow.
    Longest,
    /// Their sum: a shift that adds up.
    Sum,
}

impl Seen {
    fn name(self) -> &'static str {
        match self {
            Seen::Longest => "a large record among quiet ones, in the longest of all releases",
            Seen::Sum => "a large record among quiet ones, in the sum of all releases",
        }
    }
}

/// Plays all steps of a schedule on quiet records and, when the sampler says so, a large one.
struct ScheduleGame<'a> {
    subject: &'a Subject<'a>,
    schedule: Schedule,
    /// Behind how many steps the method learns from all records, if it does.
    prepared_after: Option<u64>,
    seen: Seen,
    engine: Engine,
    with: Batch,
    without: Batch,
}

/// Far above any threshold.
const LARGE: f32 = 1e3;

impl<'a> ScheduleGame<'a> {
    fn new(
        subject: &'a Subject<'a>,
        planted: &Planted,
        schedule: Schedule,
        seen: Seen,
    ) -> Result<ScheduleGame<'a>> {
        let quiet = vec![Record::with_gradient(0.0); 7];
        let with = [&quiet[..], &[Record::with_gradient(LARGE)]].concat();
        let engine = subject.engine(&*(subject.method)()?, Some(1))?;
        let (with, without) = (planted.batch(&with), planted.batch(&quiet));
        Ok(ScheduleGame { subject, schedule, prepared_after: None, seen, engine, with, without })
    }
}

impl Game for ScheduleGame<'_> {
    fn name(&self) -> &str {
        self.seen.name()
    }

    fn play(&mut self, present: bool, seed: u64) -> Result<Vec<f32>> {
        let mut method = (self.subject.method)()?;
        let key = Key::from_seed(seed);
        let mut sampler = Uniform::new(&key, Stream::new(Purpose::Sampling, 0));
        let mut kept: Vec<f32> = Vec::new();
        let mut longest = f64::NEG_INFINITY;
        let mut parameters = self.subject.parameters.clone();
        for step in 0..self.schedule.steps {
            if self.prepared_after == Some(step) {
                let all = if present { &self.with } else { &self.without };
                self.subject.prepare(&mut *method, &mut parameters, &key, all)?;
            }
            let takes_part = sampler.unit() < self.schedule.sample_rate;
            let examples = if present && takes_part { &self.with } else { &self.without };
            let release =
                self.subject.release(&mut *method, &mut self.engine, &parameters, &key, step, examples)?;
            match self.seen {
                Seen::Longest => {
                    let square = release.iter().map(|value| f64::from(*value).powi(2)).sum();
                    if square > longest {
                        (longest, kept) = (square, release);
                    }
                }
                Seen::Sum if kept.is_empty() => kept = release,
                Seen::Sum => kept.iter_mut().zip(&release).for_each(|(sum, value)| *sum += value),
            }
        }
        Ok(kept)
    }

    fn parts(&self) -> Vec<Range<usize>> {
        self.subject.network.parameters().iter().map(|tensor| tensor.range.clone()).collect()
    }
}
