//! A method on a small network, one step at a time.

use crate::common::{self, LOSS, Records, Setting, distance, receipt};
use muffle::data::Visibility;
use muffle::ledger::{Access, Ledger, Receipt};
use muffle::mechanism::{Gradients, Mechanism};
use muffle::methods::{METHODS, Method, Mode, Preparation, Step};
use muffle::noise::{GaussianNoise, Key, Purpose, Stream};
use muffle::train::{DataShape, METHOD, Plan, Recipe, TargetShape};
use muffle_accounting::Event;
use muffle_nn::{Options, Shape};

pub const BATCH: u64 = 400;
pub const THRESHOLD: f64 = 0.5;
pub const NOISE: f64 = 0.7;

/// What a form needs beside the settings of all.
fn settings(method: &str, mode: Mode) -> &'static [&'static str] {
    match (method, mode) {
        ("ng-local", _) => &["sampler=fixed-size"],
        // The records of these tests.
        ("adlm" | "afrrs", Mode::AsPublished) => &["parameters.low=-1", "parameters.high=1"],
        // The paper's price is stated for products of sample rate and noise up to 1/16.
        ("dp-sgd-decay", Mode::AsPublished) => &["records=8000"],
        _ => &[],
    }
}

/// The layers of these tests, without biases and with ReLU where a method asks for that.
fn layers(method: &str) -> String {
    match method {
        "backprop-clip" => common::LAYERS
            .replace("type = \"conv2d\"", "type = \"conv2d\", bias = false")
            .replace("type = \"dense\"", "type = \"dense\", bias = false")
            .replace("tanh", "relu"),
        // Their first layer is a convolution.
        "adlm" | "afrrs" => common::LAYERS.replacen('[', "[{ type = \"scale\" },", 1),
        _ => common::LAYERS.to_string(),
    }
}

/// What draws the noise of a run, step after step.
pub struct Noise {
    pub mechanism: Mechanism,
    pub step: u64,
}

impl Noise {
    pub fn of(seed: u64) -> Noise {
        Noise { mechanism: Mechanism::new(Key::from_seed(seed), 1.0), step: 0 }
    }

    /// The receipt of the next step.
    pub fn receipt(&mut self, release: Event) -> Receipt {
        self.step += 1;
        receipt(self.step - 1, release)
    }
}

/// A method on a small network.
pub struct Trial {
    pub plan: Plan,
    pub setting: Setting,
}

impl Trial {
    pub fn new(method: &str, mode: Mode) -> Trial {
        Trial::on(method, mode, &layers(method))
    }

    pub fn on(method: &str, mode: Mode, layers: &str) -> Trial {
        Trial::with(method, mode, layers, settings(method, mode))
    }

    pub fn with(method: &str, mode: Mode, layers: &str, settings: &[&str]) -> Trial {
        let text = format!(
            "data = \"none\"\nmodel = {{ input = [1, 12, 12], layers = {} }}\nmethod = {method:?}\nmode = {:?}\n\
             noise_multiplier = {NOISE}\nsteps = 5\nbatch_size = {BATCH}\nlearning_rate = 0.1\n\
             clip = {{ kind = \"flat\", threshold = {THRESHOLD} }}",
            layers,
            mode.name()
        );
        let settings: Vec<String> = settings.iter().map(ToString::to_string).collect();
        let recipe = Recipe::parse(method, &text, &settings).unwrap();
        let plan = Plan::new(recipe, &DATA).unwrap();
        let method = plan.build_method().unwrap();
        let options = Options { hooked: method.hooked(), ..Options::new(method.purpose()) };
        Trial { setting: Setting::of(plan.network.clone(), options), plan }
    }

    /// The method, ready for the first step.
    pub fn method(&self) -> Box<dyn Method> {
        let mut method = self.plan.build_method().unwrap();
        let records = self.setting.records(20, 1.0);
        if let Some(event) = method.preparation() {
            let preparation = Preparation {
                parameters: &mut self.setting.parameters.clone(),
                examples: &records.all(),
                mechanism: &Mechanism::new(Key::from_seed(8), 1.0),
                receipt: Ledger::in_memory().pay_one(Access::all(METHOD, 0, event)).unwrap(),
                noise_multiplier: self.plan.noise_multiplier,
            };
            method.prepare(preparation).unwrap();
        }
        method
    }

    /// The gradient of each record by itself, as it is.
    pub fn raw_gradients(&self, records: &Records) -> Vec<Vec<f32>> {
        let plain = Options::new(muffle_nn::Purpose::Plain);
        let mut setting = Setting::of(self.plan.network.clone(), plain);
        let each = (0..records.inputs.len()).map(|record| {
            setting.engine.sum(&setting.parameters, &records.select(vec![record]), LOSS, 0).unwrap();
            setting.engine.gradient().to_vec()
        });
        each.collect()
    }

    /// One step of a method that starts anew; the noisy sum, and what it cost.
    pub fn release(&mut self, records: &Records, seed: u64) -> (Vec<f32>, Event) {
        let mut method = self.method();
        self.advance(&mut *method, &mut Noise::of(seed), records)
    }

    pub fn advance(
        &mut self,
        method: &mut dyn Method,
        noise: &mut Noise,
        records: &Records,
    ) -> (Vec<f32>, Event) {
        let noise_multiplier = self.plan.noise_multiplier_at(0);
        let receipt = noise.receipt(self.plan.event(method, noise_multiplier));
        let gradients = Gradients {
            engine: &mut self.setting.engine,
            parameters: &self.setting.parameters,
            examples: &records.all(),
            loss: LOSS,
            seed: 0,
        };
        let mechanism = &noise.mechanism;
        let step = Step { gradients, mechanism, receipt, noise_multiplier, clip_factor: 1.0 };
        let released = method.release(step).unwrap().gradient;
        (released.gradient().to_vec(), released.event().clone())
    }
}

pub fn forms() -> impl Iterator<Item = (&'static str, Mode)> {
    METHODS.iter().flat_map(|entry| entry.modes.iter().map(|mode| (entry.name, *mode)))
}

/// The standard normals behind the noise of a step.
pub fn normals(seed: u64, step: u64, count: usize) -> Vec<f32> {
    let mut normals = vec![0.0; count];
    GaussianNoise::new(&Key::from_seed(seed), Stream::new(Purpose::GradientNoise, step)).fill(
        0,
        1.0,
        &mut normals,
    );
    normals
}

/// What the recipes of trials are made for.
pub const DATA: DataShape = DataShape {
    input: Shape::Image { height: 12, width: 12, channels: 1 },
    targets: TargetShape::Classes(10),
    records: 4000,
    visibility: Visibility::Public,
    split_by_hash: false,
    texts: None,
};

pub const NOBODY: Records = Records { inputs: Vec::new() };

/// The unclipped gradient of the records, summed.
pub fn raw_sum(records: &Records) -> (Setting, Vec<f32>) {
    let mut plain = Setting::new(muffle_nn::Purpose::Plain);
    plain.engine.sum(&plain.parameters, &records.all(), LOSS, 0).unwrap();
    let sum = plain.engine.gradient().to_vec();
    (plain, sum)
}

/// L2 norm.
pub fn length(values: &[f32]) -> f64 {
    distance(values, &vec![0.0; values.len()])
}
