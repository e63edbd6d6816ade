//! The audit of a method that its schedule tells apart: all steps of the schedule together, with the record in each.

use super::attack::{Attack, Objective, attack};
use super::game::Game;
use super::neighbours::neighbours;
use super::planted::Planted;
use super::schedule::Schedule;
use super::step::{Case, Said, Settings, StepReport};
use super::subject::Subject;
use crate::error::Result;
use crate::methods::{self, Mode};
use crate::noise::Key;
use muffle_nn::{Batch, Engine};
use std::ops::Range;

/// The attacker's position in an audit of a course.
pub const THREAT: &str = "gradient-level white box: the attacker sees the releases of all steps of the schedule, knows all other records \
                          and the parameters, which stay where they are, and chooses the record; it is forced into every batch, so that \
                          the steps are compared without sampling";

/// Steps that are played: a schedule over the whole run goes from one end to the other in them.
const STEPS: u64 = 8;

/// Whether a form takes the steps of DP-SGD under a schedule of noise or of thresholds, which one step would not show.
pub(super) fn applies(settings: &Settings) -> Result<bool> {
    let Ok(entry) = methods::find(&settings.method) else { return Ok(false) };
    let scheduled = entry.settings.iter().any(|setting| is_schedule(setting));
    Ok(settings.mode == Mode::Sound && scheduled && Case::new(settings)?.plan.build_method()?.is_dp_sgd())
}

/// Whether a setting of a recipe says how noise or thresholds go from step to step.
pub(super) fn is_schedule(setting: &str) -> bool {
    ["noise_schedule", "clip_schedule"].iter().any(|key| setting.split('=').next() == Some(key))
}

/// Audits all steps of the method's own schedule, with so much more noise that they would cost what one does if all were alike.
pub(super) fn audit(settings: &Settings) -> Result<(StepReport, Attack)> {
    let noise_multiplier = settings.noise_multiplier * (STEPS as f64).sqrt();
    let settings = Settings { noise_multiplier, ..settings.clone() };
    let planted = Planted::new(settings.width);
    let case = Case::on(&planted, &settings, &Schedule { steps: STEPS, ..Schedule::ONE_STEP })?;
    let subject = case.subject(&planted);
    let engine = subject.engine(&*(subject.method)()?, Some(1))?;
    let (with, without) = neighbours(&planted, case.adjacency).swap_remove(0).steps.swap_remove(0);
    let mut games: Vec<Box<dyn Game + '_>> =
        vec![Box::new(CourseGame { subject: &subject, engine, with, without })];
    let found = attack(&mut games, Objective::Mu, settings.confidence, settings.trials, settings.seed)?;
    let said = Said {
        adjacency: case.adjacency,
        claimed: None,
        proved: case.proved,
        gaussian: true,
        event: None,
        threat: THREAT,
    };
    let report = StepReport::new(said, &found, &settings, case.plan.network.parameter_len())?;
    Ok((StepReport { course: Some(STEPS), ..report }, found))
}

/// Plays all steps; the attacker adds up what is released, each by how much it tells.
struct CourseGame<'a> {
    subject: &'a Subject<'a>,
    engine: Engine,
    with: Batch,
    without: Batch,
}

impl Game for CourseGame<'_> {
    fn name(&self) -> &str {
        "a large record beside quiet ones, in eight steps of the schedule"
    }

    /// A record moves the release of a step by its threshold C, under noise of deviation σC: the likelihood ratio is a function of the sum
    /// of all releases over σ²C.
    fn play(&mut self, present: bool, seed: u64) -> Result<Vec<f32>> {
        let mut method = (self.subject.method)()?;
        let (key, parameters) = (Key::from_seed(seed), &self.subject.parameters);
        let examples = if present { &self.with } else { &self.without };
        let mut seen = vec![0.0; parameters.len()];
        for step in 0..STEPS {
            let release =
                self.subject.release(&mut *method, &mut self.engine, parameters, &key, step, examples)?;
            let (noise_multiplier, clip_factor) = (self.subject.strength)(step)?;
            let weight = (1.0 / (noise_multiplier.powi(2) * clip_factor)) as f32;
            seen.iter_mut().zip(release).for_each(|(sum, value)| *sum += weight * value);
        }
        Ok(seen)
    }

    fn parts(&self) -> Vec<Range<usize>> {
        self.subject.network.parameters().iter().map(|tensor| tensor.range.clone()).collect()
    }
}
