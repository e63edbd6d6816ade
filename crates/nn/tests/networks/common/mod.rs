//! What the tests share: random data, a one-at-a-time reference, and the error measure.
#![allow(dead_code, reason = "not every test takes everything")]

pub mod layer_run;
pub mod regression;
pub mod torch;

use muffle_nn::config::{Entry, LayerConfig};
use muffle_nn::initialise::{SplitMix, initial_parameters};
use muffle_nn::layers::window::Extent;
use muffle_nn::{Batch, Engine, Examples, Loss, Network, Options, Purpose, Shape, Target};
use std::sync::{Arc, Mutex};

/// Largest accepted relative L2 distance between two ways to compute a gradient in single precision.
pub const TOLERANCE: f64 = 1e-4;

/// `|a - b| / |b|`, or `|a|` if `b` vanishes.
pub fn relative_error<A: Copy + Into<f64>, B: Copy + Into<f64>>(computed: &[A], expected: &[B]) -> f64 {
    assert_eq!(computed.len(), expected.len());
    let square = |value: f64| value * value;
    let difference: f64 = computed.iter().zip(expected).map(|(a, b)| square((*a).into() - (*b).into())).sum();
    let size: f64 = expected.iter().map(|value| square((*value).into())).sum();
    if size == 0.0 { difference.sqrt() } else { (difference / size).sqrt() }
}

/// A convolution that leaves the size of images as it is.
pub fn conv(channels: usize) -> LayerConfig {
    LayerConfig::Conv2d {
        channels,
        kernel: Extent::Square(3),
        stride: Extent::Square(1),
        padding: Extent::Square(1),
        groups: 1,
        bias: true,
    }
}

/// Some of the examples of a batch, in any order, each known by its place in it.
pub struct Chosen<'a> {
    pub all: &'a Batch,
    pub places: Vec<usize>,
}

impl Examples for Chosen<'_> {
    fn len(&self) -> usize {
        self.places.len()
    }

    fn read(&self, index: usize, input: &mut [f32]) {
        self.all.read(self.places[index], input);
    }

    fn target(&self, index: usize) -> Target<'_> {
        self.all.target(self.places[index])
    }

    fn identity(&self, record: usize) -> u64 {
        self.places[record] as u64
    }
}

/// A network with weights, inputs and classes, all from one seed.
pub struct Setting {
    pub network: Arc<Network>,
    pub parameters: Vec<f32>,
    inputs: Vec<f32>,
    classes: Vec<u32>,
}

impl Setting {
    pub fn new(network: Network, examples: usize, seed: u64) -> Setting {
        let network = Arc::new(network);
        let parameters = initial_parameters(&network, seed);
        let mut generator = SplitMix::new(seed ^ 0x5eed);
        let width = network.input().len();
        let inputs = (0..examples * width).map(|_| generator.normal()).collect();
        let outputs = network.output().len() as u64;
        let classes = (0..examples).map(|_| (generator.bits() % outputs) as u32).collect();
        Setting { network, parameters, inputs, classes }
    }

    pub fn layers(input: Shape, layers: Vec<Entry>, examples: usize) -> Setting {
        Setting::new(Network::new(input, &layers).expect("a valid network"), examples, 7)
    }

    /// Replaces the inputs, for networks that take tokens.
    pub fn with_inputs(mut self, mut value: impl FnMut(usize) -> f32) -> Setting {
        self.inputs.iter_mut().enumerate().for_each(|(index, input)| *input = value(index));
        self
    }

    pub fn examples(&self) -> usize {
        self.classes.len()
    }

    pub fn batch(&self, range: std::ops::Range<usize>) -> Batch {
        let width = self.network.input().len();
        Batch::new(self.inputs[range.start * width..range.end * width].to_vec(), self.classes[range].to_vec())
    }

    pub fn engine(&self, purpose: Purpose, threads: usize, micro_batch: usize) -> Engine {
        let options =
            Options { threads: Some(threads), micro_batch: Some(micro_batch), ..Options::new(purpose) };
        Engine::new(self.network.clone(), options).expect("an engine")
    }

    /// Plain gradients of every example, from micro-batches of one on one thread.
    pub fn one_at_a_time(&self) -> Vec<Vec<f32>> {
        let mut engine = self.engine(Purpose::Plain, 1, 1);
        let found = Mutex::new(vec![Vec::new(); self.examples()]);
        let visit = |example: usize, gradient: &mut [f32], _: &mut [f32]| {
            found.lock().unwrap()[example] = gradient.to_vec();
        };
        engine.visit(&self.parameters, &self.batch(0..self.examples()), LOSS, 3, &visit).expect("a step");
        found.into_inner().unwrap()
    }
}

pub const LOSS: Loss = Loss::SoftmaxCrossEntropy;

/// Checks norms, weighted sums and materialised gradients against a loop over single examples, for several batch
/// sizes, micro-batch sizes and numbers of threads.
pub fn check(setting: &Setting) {
    let single = setting.one_at_a_time();
    let tensors = setting.network.parameters();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    for (batch, micro_batch, threads) in [(0, 2, 1), (1, 4, 1), (3, 2, 1), (5, 5, 2), (7, 3, 2), (7, 1, 1)] {
        let (batch, threads) = (batch.min(setting.examples()), threads.min(cores));
        let case = format!("batch {batch}, micro-batch {micro_batch}, {threads} threads");
        let examples = setting.batch(0..batch);

        // Squared norms, tensor by tensor. Examples come in any order, so each is found by its own norms.
        let seen = Mutex::new(Vec::new());
        let mut engine = setting.engine(Purpose::PerExample, threads, micro_batch);
        let weigh = |norms: &[f64], factors: &mut [f32]| {
            for (tensor, (factor, norm)) in factors.iter_mut().zip(norms).enumerate() {
                *factor = (1.0 + tensor as f32) / (1.0 + norm.sqrt() as f32);
            }
            seen.lock().unwrap().push(norms.to_vec());
        };
        engine.weighted_sum(&setting.parameters, &examples, LOSS, 3, &weigh).expect("a step");
        let seen = seen.into_inner().unwrap();
        assert_eq!(seen.len(), batch, "{case}");
        let norms_of = |example: usize| -> Vec<f32> {
            let norm = |range: std::ops::Range<usize>| single[example][range].iter().map(|v| v * v).sum();
            tensors.iter().map(|tensor| norm(tensor.range.clone())).collect()
        };
        for example in 0..batch {
            let expected = norms_of(example);
            let best =
                seen.iter().map(|norms| relative_error(norms, &expected)).fold(f64::INFINITY, f64::min);
            assert!(best <= TOLERANCE, "{case}: norms of example {example} differ by {best}");
        }

        // Weighted sum.
        let mut expected = vec![0.0; setting.parameters.len()];
        for (example, gradient) in single.iter().enumerate().take(batch) {
            for (tensor, norm) in norms_of(example).iter().enumerate() {
                let factor = (1.0 + tensor as f32) / (1.0 + norm.sqrt());
                for index in tensors[tensor].range.clone() {
                    expected[index] += factor * gradient[index];
                }
            }
        }
        for tensor in tensors {
            let range = tensor.range.clone();
            let error = relative_error(&engine.gradient()[range.clone()], &expected[range]);
            assert!(error <= TOLERANCE, "{case}: weighted sum of {} differs by {error}", tensor.name);
        }

        // Materialised gradients, and the plain sum.
        let found = Mutex::new(vec![Vec::new(); batch]);
        let mut engine = setting.engine(Purpose::Plain, threads, micro_batch);
        let visit = |example: usize, gradient: &mut [f32], sum: &mut [f32]| {
            found.lock().unwrap()[example] = gradient.to_vec();
            sum.iter_mut().zip(gradient).for_each(|(sum, value)| *sum += *value);
        };
        engine.visit(&setting.parameters, &examples, LOSS, 3, &visit).expect("a step");
        for (example, gradient) in found.into_inner().unwrap().iter().enumerate() {
            let error = relative_error(gradient, &single[example]);
            assert!(error <= TOLERANCE, "{case}: gradient of example {example} differs by {error}");
        }
        let summed = engine.gradient().to_vec();
        engine.sum(&setting.parameters, &examples, LOSS, 3).expect("a step");
        let error = relative_error(engine.gradient(), &summed);
        assert!(error <= TOLERANCE, "{case}: plain sum differs by {error}");

        // Limits for single values.
        let limits: Vec<f32> = (0..summed.len()).map(|index| 1e-3 * (1 + index % 40) as f32).collect();
        let gradients: Vec<&[f32]> = single[..batch].iter().map(|gradient| &gradient[..]).collect();
        engine.limited_sum_apart(&setting.parameters, &examples, LOSS, 3, &limits).expect("a step");
        engine.for_each_chunk(&|_, _| {});
        let error = relative_error(engine.gradient(), &limited(&gradients, &limits));
        assert!(error <= TOLERANCE, "{case}: limited sum differs by {error}");
    }
}

/// The sum of gradients, each value of each moved into ± its limit.
pub fn limited(gradients: &[&[f32]], limits: &[f32]) -> Vec<f32> {
    let value = |index: usize| {
        let limit = limits[index];
        gradients.iter().map(|gradient| gradient[index].clamp(-limit, limit)).sum()
    };
    (0..limits.len()).map(value).collect()
}
