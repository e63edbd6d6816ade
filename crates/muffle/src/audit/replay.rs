//! The same randomness on two neighbours: how far a release really moves, beside how far it may.

use super::subject::Subject;
use crate::State;
use crate::data::{Dataset, Views};
use crate::error::{Error, Result};
use crate::methods::Method;
use crate::noise::{GaussianNoise, Key, Purpose, Stream, Uniform};
use crate::train::Plan;
use muffle_accounting::{Adjacency, Event};
use muffle_nn::initialise::initial_parameters;
use muffle_nn::{Batch, Engine, Examples, Target};

/// Sums are taken in single precision and in another order without a record: relative to what is allowed.
pub const ROUNDING: f64 = 1e-4;

/// How far a release moved between neighbours, in standard deviations of its noise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Movement {
    /// The step.
    pub step: u64,
    /// How far; infinite where a coordinate that moves has no noise.
    pub moved: f64,
    /// How far it may: the sensitivity of the adjacency over the noise multiplier of the event.
    pub allowed: f64,
    /// How much the noise on these records differs from that of an empty batch, as a share of it.
    pub noise_change: f64,
}

impl Movement {
    /// Whether the release kept its promise, up to rounding: it moved no further than it may, under noise that knows nothing
    /// of the records (R1).
    pub fn holds(&self) -> bool {
        self.moved <= self.allowed * (1.0 + ROUNDING) && self.noise_change <= 10.0 * ROUNDING
    }
}

/// Replays releases of a method whose noise is Gaussian and the last thing that happens to a sum.
pub struct Replay<'a> {
    /// What is replayed; its parameters may move between steps.
    pub subject: Subject<'a>,
    method: Box<dyn Method>,
    engine: Engine,
    key: Key,
    /// For a second draw of the same noise.
    other: Key,
    step: u64,
}

impl<'a> Replay<'a> {
    /// Before the first step, with randomness that follows from the seed.
    pub fn new(subject: Subject<'a>, seed: u64) -> Result<Replay<'a>> {
        let method = (subject.method)()?;
        let engine = subject.engine(&*method, None)?;
        let (key, other) = (Key::from_seed(seed), Key::from_seed(!seed));
        Ok(Replay { subject, method, engine, key, other, step: 0 })
    }

    /// Compares the next step on two neighbours from the same state with the same randomness.
    ///
    /// The noise of an empty batch, divided by the normals behind it, is the deviation on each coordinate. Two draws of noise
    /// on the same records differ as two draws on an empty batch do, unless the noise depends on the records.
    ///
    /// # Guarantee
    /// Exact for these two batches, up to rounding: no claim about others.
    pub fn movement(&mut self, with: &dyn Examples, without: &dyn Examples) -> Result<Movement> {
        let state = self.method.state();
        let (nobody, key, other) = (Batch::new(Vec::new(), Vec::new()), self.key.clone(), self.other.clone());
        let (noise, second_noise) =
            (self.rehearse(&state, &key, &nobody)?, self.rehearse(&state, &other, &nobody)?);
        let second = self.rehearse(&state, &other, with)?;
        let (with, without) = (self.rehearse(&state, &key, with)?, self.rehearse(&state, &key, without)?);
        self.method.restore(&state)?;
        let mut normals = vec![0.0f32; noise.len()];
        let stream = Stream::new(Purpose::GradientNoise, self.step);
        GaussianNoise::new(&self.key, stream).fill(0, 1.0, &mut normals);
        let (mut change, mut whole) = (0.0, 0.0);
        for ((with, second), (noise, second_noise)) in
            with.iter().zip(&second).zip(noise.iter().zip(&second_noise))
        {
            let drawn = f64::from(*noise) - f64::from(*second_noise);
            change += (f64::from(*with) - f64::from(*second) - drawn).powi(2);
            whole += drawn.powi(2);
        }
        let noise_change = if whole > 0.0 { (change / whole).sqrt() } else { f64::INFINITY };
        let mut square = 0.0;
        for ((with, without), (noise, normal)) in with.iter().zip(&without).zip(noise.iter().zip(&normals)) {
            let (moved, deviation) = (f64::from(with - without), f64::from(*noise) / f64::from(*normal));
            // Noise that is missing in an empty batch is missing.
            square += match deviation > 0.0 {
                true => (moved / deviation).powi(2),
                false => f64::INFINITY,
            };
        }
        let adjacency = self.subject.adjacency;
        let allowed = match self.method.event((self.subject.strength)(self.step)?.0) {
            Event::Gaussian { noise_multiplier } => adjacency.sensitivity() / noise_multiplier,
            event => {
                return Err(Error::Plan(format!(
                    "a replay compares with Gaussian noise; this step releases a {} event",
                    event.kind()
                )));
            }
        };
        Ok(Movement { step: self.step, moved: square.sqrt(), allowed, noise_change })
    }

    /// Lets the method learn from all records what it learns of them, if anything.
    pub fn prepare(&mut self, all: &dyn Examples) -> Result<()> {
        let mut parameters = self.subject.parameters.clone();
        self.subject.prepare(&mut *self.method, &mut parameters, &self.key, all)?;
        self.subject.parameters = parameters;
        Ok(())
    }

    /// Takes the next step on a batch and goes on behind it.
    pub fn advance(&mut self, batch: &dyn Examples) -> Result<Vec<f32>> {
        let Replay { subject, method, engine, key, step, .. } = self;
        let released = subject.release(&mut **method, engine, &subject.parameters, key, *step, batch)?;
        *step += 1;
        Ok(released)
    }

    /// The next release on a batch, without going on.
    fn rehearse(&mut self, state: &State, key: &Key, batch: &dyn Examples) -> Result<Vec<f32>> {
        let Replay { subject, method, engine, step, .. } = self;
        method.restore(state)?;
        subject.release(&mut **method, engine, &subject.parameters, key, *step, batch)
    }
}

/// A batch of which one record is a null record: it keeps its slot and has no finite gradient, so it contributes zero.
struct ZeroedOut<'a> {
    inner: &'a dyn Examples,
    record: usize,
}

impl Examples for ZeroedOut<'_> {
    fn len(&self) -> usize {
        self.inner.len()
    }

    fn read(&self, index: usize, input: &mut [f32]) {
        match index / self.views() == self.record {
            true => input.fill(f32::NAN),
            false => self.inner.read(index, input),
        }
    }

    fn target(&self, index: usize) -> Target<'_> {
        self.inner.target(index)
    }

    fn weight(&self, index: usize) -> f32 {
        self.inner.weight(index)
    }

    fn views(&self) -> usize {
        self.inner.views()
    }

    fn identity(&self, record: usize) -> u64 {
        self.inner.identity(record)
    }
}

/// Replays the first steps of a run: in each, one record of the batch is removed, zeroed out or exchanged for another of the
/// data set, as the adjacency has it. Steps whose sample is empty are left out. What the method learns of all records it learns where
/// the run would, from records that are the same for both.
///
/// Parameters move by plain gradient descent between steps.
pub fn run(plan: &Plan, dataset: &Dataset, steps: u64, seed: u64) -> Result<Vec<Movement>> {
    if !plan.method.additive {
        let name = plan.method.name;
        return Err(Error::Plan(format!(
            "method `{name}` goes on after its noise, so that a release with frozen noise moves by no fixed amount; audit it \
             by `muffle audit step`"
        )));
    }
    if plan.recipe.training.principal_components.is_some() {
        return Err(Error::Plan("a replay takes records as they are: set principal_components=".to_string()));
    }
    let features = plan.inputs(dataset)?;
    let dataset = features.as_deref().unwrap_or(dataset);
    let key = Key::from_seed(seed);
    let mut sampler = plan.sampler(&key, dataset.train().split().len());
    let mut replay = Replay::new(Subject::of(plan, initial_parameters(&plan.network, seed)), seed)?;
    let mut movements = Vec::new();
    let prepared_after = plan.prepared_after(&*replay.method, &*sampler);
    for step in 0..steps.min(plan.steps) {
        if step == prepared_after {
            replay.prepare(&dataset.train())?;
        }
        let records = sampler.draw(step);
        let mut uniform = Uniform::new(&key, Stream::new(Purpose::Audit, step));
        let seed = uniform.bits();
        let batch = |records: &[usize]| {
            let augmentation = &plan.recipe.training.augmentation;
            let view = dataset.train().select(records.to_vec());
            Views::new(view, augmentation.augmentation(), seed, 0, augmentation.views)
        };
        let whole = batch(&records);
        if !records.is_empty() {
            let place = uniform.below(records.len() as u64) as usize;
            let movement = match plan.adjacency {
                Adjacency::AddRemove => {
                    let others = [&records[..place], &records[place + 1..]].concat();
                    replay.movement(&whole, &batch(&others))?
                }
                Adjacency::ZeroOut => replay.movement(&whole, &ZeroedOut { inner: &whole, record: place })?,
                Adjacency::ReplaceOne => {
                    let mut exchanged = records.clone();
                    exchanged[place] = uniform.below(dataset.train().split().len() as u64) as usize;
                    replay.movement(&whole, &batch(&exchanged))?
                }
            };
            movements.push(movement);
        }
        let released = replay.advance(&whole)?;
        let rate = plan.recipe.training.learning_rate.at(plan.time(step)) as f32;
        let parameters = replay.subject.parameters.iter_mut().zip(released);
        parameters.for_each(|(parameter, value)| *parameter -= rate * value);
    }
    Ok(movements)
}
