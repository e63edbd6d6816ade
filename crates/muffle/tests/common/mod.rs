//! A small network with data, and releases of it.

use muffle::ledger::{Access, Ledger, Receipt};
use muffle::noise::{Key, Purpose, Stream, Uniform};
use muffle::train::STEPS;
use muffle_accounting::Event;
use muffle_nn::initialise::initial_parameters;
use muffle_nn::{Engine, Examples, Loss, ModelDescription, Network, Options, Target};
use std::sync::Arc;

pub const LOSS: Loss = Loss::SoftmaxCrossEntropy;

/// Eight tensors of 12 to 3,200 values.
pub const LAYERS: &str = r#"[
        { type = "conv2d", channels = 8, kernel = 5, stride = 2, padding = 2 },
        { type = "tanh" },
        { type = "conv2d", channels = 16, kernel = 5, stride = 2, padding = 2 },
        { type = "tanh" },
        { type = "flatten" },
        { type = "dense", features = 12 },
        { type = "tanh" },
        { type = "dense", features = 10 },
    ]"#;

/// The receipt of a step that releases this.
pub fn receipt(number: u64, release: Event) -> Receipt {
    Ledger::in_memory().pay_one(Access::all(STEPS, number, release)).unwrap()
}

/// A network with an engine and parameters.
pub struct Setting {
    pub network: Arc<Network>,
    pub parameters: Vec<f32>,
    pub engine: Engine,
}

impl Setting {
    pub fn new(purpose: muffle_nn::Purpose) -> Setting {
        let model = format!("input = [1, 12, 12]\nlayers = {LAYERS}");
        let network = Arc::new(ModelDescription::from_toml(&model).unwrap().network().unwrap());
        Setting::of(network, Options::new(purpose))
    }

    /// Of another network.
    pub fn of(network: Arc<Network>, options: Options) -> Setting {
        let parameters = initial_parameters(&network, 1);
        let engine = Engine::new(network.clone(), options).unwrap();
        Setting { network, parameters, engine }
    }

    /// Random records of ten classes, with inputs of this scale.
    pub fn records(&self, count: usize, scale: f32) -> Records {
        let width = self.network.input().len();
        let mut uniform = Uniform::new(&Key::from_seed(9), Stream::new(Purpose::Data, 0));
        let mut value = || scale * (2.0 * uniform.unit() as f32 - 1.0);
        let inputs = (0..count).map(|_| (0..width).map(|_| value()).collect()).collect();
        Records { inputs }
    }
}

/// Records in memory; record `i` has class `i` modulo ten.
#[derive(Clone)]
pub struct Records {
    pub inputs: Vec<Vec<f32>>,
}

impl Records {
    /// The same with a null record in one place: it keeps its slot and has no finite gradient, so it contributes zero.
    pub fn zeroed_out(&self, record: usize) -> Records {
        let mut neighbour = self.clone();
        neighbour.inputs[record].fill(f32::NAN);
        neighbour
    }

    /// The same without the last record.
    pub fn removed(&self) -> Records {
        Records { inputs: self.inputs[..self.inputs.len() - 1].to_vec() }
    }

    /// Some of them.
    pub fn select(&self, indices: Vec<usize>) -> Selection<'_> {
        Selection { records: self, indices }
    }

    /// All of them.
    pub fn all(&self) -> Selection<'_> {
        self.select((0..self.inputs.len()).collect())
    }
}

/// A batch of records.
pub struct Selection<'a> {
    records: &'a Records,
    pub indices: Vec<usize>,
}

impl Examples for Selection<'_> {
    fn len(&self) -> usize {
        self.indices.len()
    }

    fn read(&self, index: usize, input: &mut [f32]) {
        input.copy_from_slice(&self.records.inputs[self.indices[index]]);
    }

    fn target(&self, index: usize) -> Target<'_> {
        Target::Class(self.indices[index] as u32 % 10)
    }

    fn identity(&self, record: usize) -> u64 {
        self.indices[record] as u64
    }
}

/// L2 norm of the difference of two vectors.
pub fn distance(left: &[f32], right: &[f32]) -> f64 {
    let square = |(left, right): (&f32, &f32)| f64::from(left - right).powi(2);
    left.iter().zip(right).map(square).sum::<f64>().sqrt()
}
