//! Plain training, without noise: of what is never published, or learns from public records and released values alone.

use crate::State;
use crate::data::{View, Views};
use crate::error::{Error, Result};
use crate::ledger::{Access, Ledger, Purpose};
use crate::mechanism::{Gradients, Mechanism};
use crate::moving_average::MovingAverage;
use crate::noise::{self, Key, Stream, Uniform};
use crate::optimizer::{Optimizer, OptimizerChoice};
use crate::schedule::Scheduled;
use crate::state::{part, put, restore};
use crate::train::network::{check_shapes, describe};
use crate::train::{Initialisation, ModelChoice, TargetShape, ViewsOfRecord};
use muffle_accounting::Event;
use muffle_nn::shape::Shape;
use muffle_nn::{Engine, Examples, Loss, ModelDescription, Network, Options};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A step that releases nothing, in a ledger that is kept nowhere.
const PLAIN: Purpose = Purpose::new("plain_steps");

/// How a network is trained without noise: so many steps on batches of one size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Learner {
    /// The network.
    pub model: ModelChoice,
    /// Number of steps.
    pub steps: u64,
    /// Records in a step.
    pub batch_size: usize,
    /// A number or a schedule over the steps.
    pub learning_rate: Scheduled,
    /// What becomes of a gradient.
    #[serde(default)]
    pub optimizer: OptimizerChoice,
    /// How weights start.
    #[serde(default)]
    pub initialisation: Initialisation,
    /// How the views of a record differ from step to step.
    #[serde(default)]
    pub augmentation: ViewsOfRecord,
    /// Decay of the moving average of the weights, which then is the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moving_average: Option<f32>,
}

impl Learner {
    /// Checks the range of every number by itself.
    pub(crate) fn check(&self) -> std::result::Result<(), String> {
        if self.steps == 0 {
            return Err("steps = 0 is outside 1 and above".to_string());
        }
        if self.batch_size == 0 {
            return Err("batch_size = 0 is outside 1 and above".to_string());
        }
        if let Some(decay) = self.moving_average.filter(|decay| !(0.0..1.0).contains(decay)) {
            return Err(format!("moving_average = {decay} is outside [0, 1)"));
        }
        self.optimizer.check()?;
        self.augmentation.check()
    }

    /// The network for records of this shape and so many classes.
    pub(crate) fn network(&self, input: Shape, classes: usize) -> Result<(ModelDescription, Arc<Network>)> {
        let description = describe(&self.model, input)?;
        let network = description.network()?;
        check_shapes(&network, input, TargetShape::Classes(classes))?;
        if let Some(layer) = network.mixing_layer() {
            return Err(Error::Plan(format!(
                "the layer `{}` mixes the records of a batch; take group normalisation in its place",
                layer.name
            )));
        }
        Ok((description, Arc::new(network)))
    }

    /// The weights of a network that learned from these records.
    pub(crate) fn teach(
        &self,
        network: &Arc<Network>,
        records: &View,
        threads: Option<usize>,
        seed: u64,
    ) -> Result<Vec<f32>> {
        let mut pupil = Pupil::new(self, network.clone(), threads, seed)?;
        let mut batches = Batches::new((0..records.len()).collect(), seed);
        while pupil.step() < self.steps {
            let batch = records.select(batches.take(self.batch_size));
            let (augmentation, step) = (self.augmentation.augmentation(), pupil.step());
            pupil.learn(&Views::new(batch, augmentation, seed ^ step, 0, 1))?;
        }
        Ok(pupil.result().to_vec())
    }
}

/// A network in training.
pub(crate) struct Pupil {
    learner: Learner,
    loss: Loss,
    engine: Engine,
    mechanism: Mechanism,
    optimizer: Box<dyn Optimizer>,
    parameters: Vec<f32>,
    average: Option<MovingAverage>,
    step: u64,
    seed: u64,
}

impl Pupil {
    /// First weights, and everything that a step needs.
    pub fn new(learner: &Learner, network: Arc<Network>, threads: Option<usize>, seed: u64) -> Result<Pupil> {
        let mut learner = learner.clone();
        learner.learning_rate.end_with(Some(learner.steps)).map_err(Error::Plan)?;
        let parameters = learner.initialisation.parameters(&network, seed);
        let options = Options { threads, ..Options::new(muffle_nn::Purpose::Plain) };
        Ok(Pupil {
            engine: Engine::new(network, options)?,
            mechanism: Mechanism::new(Key::from_seed(seed), learner.batch_size as f32),
            optimizer: learner.optimizer.optimizer(parameters.len()),
            average: learner.moving_average.map(|decay| MovingAverage::new(&parameters, decay)),
            learner,
            loss: Loss::SoftmaxCrossEntropy,
            parameters,
            step: 0,
            seed,
        })
    }

    /// The same with another loss than that of classes.
    pub fn minimising(self, loss: Loss) -> Pupil {
        Pupil { loss, ..self }
    }

    /// Steps taken.
    pub fn step(&self) -> u64 {
        self.step
    }

    /// Moves the weights along the gradients of a batch.
    pub fn learn(&mut self, batch: &dyn Examples) -> Result<()> {
        // What is made here stays with the holder of the records, or is made of public ones: no ledger has to know.
        let access =
            Access { purpose: PLAIN, number: 0, release: Event::NonPrivate, charge: None, keep: false };
        let receipt = Ledger::in_memory().pay_one(access)?;
        let gradients = Gradients {
            engine: &mut self.engine,
            parameters: &self.parameters,
            examples: batch,
            loss: self.loss,
            seed: self.seed ^ self.step,
        };
        let (sum, _) = gradients.plain()?;
        let gradient = self.mechanism.divide(sum, receipt);
        let learning_rate = self.learner.learning_rate.at(self.step) as f32;
        self.optimizer.step(&mut self.parameters, &gradient, learning_rate);
        if let Some(average) = &mut self.average {
            average.update(&self.parameters, gradient.pool());
        }
        self.step += 1;
        Ok(())
    }

    /// The weights as they are, whatever their average.
    pub fn parameters(&self) -> &[f32] {
        &self.parameters
    }

    /// What has to be saved for the next step to be the same.
    pub fn state(&self) -> State {
        let mut state = State::from([("parameters".to_string(), self.parameters.clone())]);
        let average = self.average.as_ref().map(|average| ("average", average.state()));
        for (name, inner) in average.into_iter().chain([("optimizer", self.optimizer.state())]) {
            put(&mut state, name, inner);
        }
        state
    }

    /// Takes over a saved state after so many steps.
    pub fn restore(&mut self, state: &State, step: u64) -> Result<()> {
        restore(state, "parameters", &mut self.parameters)?;
        self.optimizer.restore(&part(state, "optimizer"))?;
        if let Some(average) = &mut self.average {
            average.restore(&part(state, "average"))?;
        }
        self.step = step;
        Ok(())
    }

    /// The weights: their moving average if there is one.
    pub fn result(&self) -> &[f32] {
        self.average.as_ref().map_or(&self.parameters, |average| average.average())
    }
}

/// Endless batches: all positions in a random order, then again in another.
pub(crate) struct Batches {
    positions: Vec<usize>,
    next: usize,
    uniform: Uniform,
}

impl Batches {
    /// Of these positions, which have to be some.
    pub fn new(positions: Vec<usize>, seed: u64) -> Batches {
        assert!(!positions.is_empty(), "batches of no records");
        let uniform = Uniform::new(&Key::from_seed(seed), Stream::new(noise::Purpose::Sampling, 0));
        let next = positions.len();
        Batches { positions, next, uniform }
    }

    /// The next positions; those of a small set come more than once in a large batch.
    pub fn take(&mut self, count: usize) -> Vec<usize> {
        let mut batch = Vec::with_capacity(count);
        for _ in 0..count {
            if self.next == self.positions.len() {
                self.uniform.shuffle(&mut self.positions);
                self.next = 0;
            }
            batch.push(self.positions[self.next]);
            self.next += 1;
        }
        batch
    }
}
