//! How fast a training step is on this machine, private and plain, beside the speed of a matrix product.

mod adversary;
mod methods;

pub use methods::{MethodMeasurement, measure_methods};

use crate::clip::Flat;
use crate::ledger::{Access, Ledger};
use crate::mechanism::{Gradients, Mechanism, Rule};
use crate::memory::peak_rss_mb;
use crate::noise::Key;
use crate::optimizer::{Optimizer, Sgd};
use crate::train::STEPS;
use adversary::{Adversary, judged};
use muffle_accounting::Event;
use muffle_nn::initialise::{SplitMix, initial_parameters};
use muffle_nn::kernel::matrix::{Matrix, product};
use muffle_nn::{
    Batch, Engine, Error, Examples, Loss, ModelDescription, Network, Options, Purpose, Result, models,
};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A network and a batch size to measure.
pub struct Workload {
    /// Name on the command line.
    pub name: &'static str,
    /// Model, by its name; `None` is the critic of a generator, in a step that also learns from what the generator makes.
    pub model: Option<&'static str>,
    /// Examples in a step.
    pub batch: usize,
    /// Tokens that its texts are made of; its inputs are normal numbers if absent.
    pub tokens: Option<u64>,
}

impl Workload {
    const fn numbers(name: &'static str, model: &'static str, batch: usize) -> Workload {
        Workload { name, model: Some(model), batch, tokens: None }
    }

    const fn critic(name: &'static str, batch: usize) -> Workload {
        Workload { name, model: None, batch, tokens: None }
    }

    const fn texts(name: &'static str, model: &'static str, batch: usize) -> Workload {
        Workload { name, model: Some(model), batch, tokens: Some(4096) }
    }

    /// What is trained.
    fn description(&self) -> Result<ModelDescription> {
        self.model.map_or_else(|| Ok(models::generative::critic()), models::model)
    }

    /// Random inputs.
    fn inputs(&self, len: usize, generator: &mut SplitMix) -> Vec<f32> {
        let mut value = || match self.tokens {
            Some(tokens) => (generator.bits() % tokens) as f32,
            None => generator.normal(),
        };
        (0..len).map(|_| value()).collect()
    }
}

/// The workloads, the same that other frameworks are measured on.
pub const WORKLOADS: [Workload; 8] = [
    Workload::numbers("w1", "cnn-small", 256),
    Workload::numbers("w2", "cnn-5x5", 256),
    Workload::numbers("w3", "lstm-rows", 128),
    Workload::numbers("w4", "resnet18", 32),
    Workload::texts("w5", "text-transformer", 64),
    Workload::texts("w6", "text-gru", 64),
    Workload::texts("w7", "text-cnn", 64),
    Workload::critic("w8", 512),
];

/// What kind of step is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Forward, backward, norms, flat clip, sum, Gaussian noise, update.
    Private,
    /// Forward, backward, sum, update.
    Plain,
}

/// What to measure.
pub struct Settings {
    /// Kind of step.
    pub mode: Mode,
    /// Examples in a step; the workload's own if absent.
    pub batch: Option<usize>,
    /// Threads; the machine's cores if absent.
    pub threads: Option<usize>,
    /// Most examples a thread handles at once; chosen by the engine if absent.
    pub micro_batch: Option<usize>,
    /// Seconds to measure for, after warm-up.
    pub seconds: f64,
}

/// What was measured.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Measurement {
    /// Workload.
    pub workload: String,
    /// Kind of step.
    pub mode: Mode,
    /// Examples in a step.
    pub batch: usize,
    /// Threads.
    pub threads: usize,
    /// Numbers that training moves.
    pub parameters: usize,
    /// Batch over the median step time.
    pub samples_per_s: f64,
    /// Batch over the mean step time, which is what a run sees: interruptions by the machine count.
    pub samples_per_s_mean: f64,
    /// Median step time in milliseconds.
    pub step_ms: f64,
    /// Fastest step in milliseconds.
    pub step_ms_min: f64,
    /// Steps measured.
    pub steps: usize,
    /// Most memory the process has held, in megabytes, where the system tells.
    pub peak_rss_mb: Option<f64>,
    /// Billions of floating-point operations a second, counting two for every multiply-add of a direct computation.
    pub gflops: f64,
    /// The same of a 1024 x 1024 x 1024 matrix product on the same threads, interleaved with the steps.
    pub matrix_gflops: f64,
    /// `gflops / matrix_gflops`; algorithms that save multiplications can pass one.
    pub ratio: f64,
}

/// Finds a workload by name.
pub fn workload(name: &str) -> Result<&'static Workload> {
    WORKLOADS.iter().find(|workload| workload.name == name).ok_or_else(|| {
        let known: Vec<&str> = WORKLOADS.iter().map(|workload| workload.name).collect();
        Error::Options(format!("unknown workload `{name}`; the known ones are {}", known.join(", ")))
    })
}

/// Warm-up steps before the clock counts.
const WARM_UP: usize = 3;
/// Fewest steps to take a median of.
const FEWEST: usize = 5;

/// Measures a workload on random data.
pub fn measure(workload: &Workload, settings: &Settings) -> Result<Measurement> {
    let batch = settings.batch.unwrap_or(workload.batch);
    if batch == 0 {
        return Err(Error::Options("batch: a step needs at least 1 example".to_string()));
    }
    if !(settings.seconds > 0.0 && settings.seconds.is_finite()) {
        return Err(Error::Options(format!("seconds: {} is not a positive time", settings.seconds)));
    }
    let network = Arc::new(workload.description()?.network()?);
    let (parameters, multiply_adds) = (network.trainable_len(), multiply_adds(workload, &network)?);
    let mut trial = Trial::new(workload, network, batch, settings)?;
    for step in 0..WARM_UP {
        trial.step(step as u64)?;
    }
    let (mut times, mut products) = (Vec::new(), Vec::new());
    let mut matrices = None;
    let end = Instant::now() + Duration::from_secs_f64(settings.seconds);
    let mut peak_rss_mb = peak_rss_mb();
    while times.len() < FEWEST || Instant::now() < end {
        let begin = Instant::now();
        trial.step((WARM_UP + times.len()) as u64)?;
        times.push(begin.elapsed().as_secs_f64());
        // The matrices would count as the step's memory, so they come once its peak is known.
        let matrices = matrices.get_or_insert_with(|| {
            peak_rss_mb = self::peak_rss_mb();
            Matrices::new()
        });
        if products.len() < 20 {
            products.push(matrices.seconds(trial.engine.pool()));
        }
    }
    times.sort_by(f64::total_cmp);
    products.sort_by(f64::total_cmp);
    let step = times[times.len() / 2];
    let gflops = 2.0 * multiply_adds as f64 * batch as f64 / step / 1e9;
    let matrix_gflops = 2.0 * (Matrices::SIZE as f64).powi(3) / products[products.len() / 2] / 1e9;
    Ok(Measurement {
        workload: workload.name.to_string(),
        mode: settings.mode,
        batch,
        threads: trial.engine.pool().current_num_threads(),
        parameters,
        samples_per_s: batch as f64 / step,
        samples_per_s_mean: batch as f64 * times.len() as f64 / times.iter().sum::<f64>(),
        step_ms: 1e3 * step,
        step_ms_min: 1e3 * times[0],
        steps: times.len(),
        peak_rss_mb,
        gflops,
        matrix_gflops,
        ratio: gflops / matrix_gflops,
    })
}

/// Those of one example in training: for a critic, of a record and of a made one.
fn multiply_adds(workload: &Workload, network: &Network) -> Result<u64> {
    let own = network.training_multiply_adds();
    match workload.model {
        Some(_) => Ok(own),
        None => Ok(2 * own + models::generative::generator().network()?.multiply_adds()),
    }
}

/// One network in training on one random batch.
struct Trial {
    engine: Engine,
    parameters: Vec<f32>,
    batch: Box<dyn Examples>,
    loss: Loss,
    /// For a critic.
    adversary: Option<Adversary>,
    mode: Mode,
    mechanism: Mechanism,
    optimizer: Sgd,
}

impl Trial {
    const LEARNING_RATE: f32 = 0.05;
    const THRESHOLD: f64 = 1.0;
    const NOISE_MULTIPLIER: f64 = 1.0;

    fn new(
        workload: &Workload,
        network: Arc<Network>,
        examples: usize,
        settings: &Settings,
    ) -> Result<Trial> {
        let purpose = match settings.mode {
            Mode::Private => Purpose::PerExample,
            Mode::Plain => Purpose::Plain,
        };
        let mut generator = SplitMix::new(0);
        let (width, classes) = (network.input().len(), network.output().len() as u64);
        let inputs = workload.inputs(examples * width, &mut generator);
        let parameters = initial_parameters(&network, 0);
        let options =
            Options { threads: settings.threads, micro_batch: settings.micro_batch, ..Options::new(purpose) };
        let (batch, loss, adversary): (Box<dyn Examples>, Loss, Option<Adversary>) = match workload.model {
            Some(_) => {
                let targets = (0..examples).map(|_| (generator.bits() % classes) as u32).collect();
                (Box::new(Batch::new(inputs, targets)), Loss::SoftmaxCrossEntropy, None)
            }
            None => {
                let threshold = (settings.mode == Mode::Private).then_some(Trial::THRESHOLD);
                let adversary = Adversary::new(network.clone(), examples, threshold, options)?;
                (Box::new(judged(width, classes as usize, inputs, 1.0)), Loss::Logistic, Some(adversary))
            }
        };
        Ok(Trial {
            engine: Engine::new(network, options)?,
            optimizer: Sgd::new(parameters.len()),
            parameters,
            batch,
            loss,
            adversary,
            mode: settings.mode,
            mechanism: Mechanism::new(Key::from_seed(0), examples as f32),
        })
    }

    fn step(&mut self, step: u64) -> Result<()> {
        let (loss, share) = (self.loss, 1.0 / self.batch.len() as f32);
        let made = match &mut self.adversary {
            Some(adversary) => Some(adversary.gradient(&self.parameters, step)?),
            None => None,
        };
        match self.mode {
            Mode::Private => {
                let noise = Trial::NOISE_MULTIPLIER;
                let access = Access::all(STEPS, step, Event::gaussian(noise));
                let receipt = Ledger::in_memory().pay_one(access).expect("memory does not fail");
                let (engine, parameters) = (&mut self.engine, &self.parameters[..]);
                let gradients = Gradients { engine, parameters, examples: &*self.batch, loss, seed: step };
                let (bounded, _) = gradients.bounded(Rule::Norms(&Flat::new(Trial::THRESHOLD)))?;
                let mut released = self.mechanism.release(bounded, noise, receipt);
                if let Some(made) = made {
                    released.add(made, share);
                }
                self.optimizer.step(&mut self.parameters, &released, Trial::LEARNING_RATE);
            }
            Mode::Plain => {
                self.engine.sum(&self.parameters, &*self.batch, loss, step)?;
                for gradient in [Some(self.engine.gradient()), made].into_iter().flatten() {
                    descend(self.engine.pool(), &mut self.parameters, gradient, Trial::LEARNING_RATE * share);
                }
            }
        }
        Ok(())
    }
}

/// Moves weights against a sum of gradients.
fn descend(pool: &rayon::ThreadPool, parameters: &mut [f32], gradient: &[f32], rate: f32) {
    let chunks = parameters.par_chunks_mut(1 << 14).zip(gradient.par_chunks(1 << 14));
    pool.install(|| {
        chunks.for_each(|(parameters, gradient)| {
            let both = parameters.iter_mut().zip(gradient);
            both.for_each(|(value, gradient)| *value -= rate * gradient);
        });
    });
}

/// Square matrices whose product is the yardstick.
struct Matrices {
    left: Vec<f32>,
    right: Vec<f32>,
    output: Vec<f32>,
}

impl Matrices {
    const SIZE: usize = 1024;

    fn new() -> Matrices {
        let len = Matrices::SIZE * Matrices::SIZE;
        Matrices { left: vec![1.0; len], right: vec![0.5; len], output: vec![0.0; len] }
    }

    /// Seconds of one product, its rows dealt to the threads.
    fn seconds(&mut self, pool: &rayon::ThreadPool) -> f64 {
        let size = Matrices::SIZE;
        let share = size.div_ceil(pool.current_num_threads()) * size;
        let begin = Instant::now();
        pool.install(|| {
            self.output.par_chunks_mut(share).zip(self.left.par_chunks(share)).for_each(|(output, left)| {
                let right = Matrix::rows(&self.right, size, size);
                product(Matrix::rows(left, left.len() / size, size), right, false, output, size);
            });
        });
        begin.elapsed().as_secs_f64()
    }
}
