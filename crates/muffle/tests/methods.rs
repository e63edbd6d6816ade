//! What must be true of every published method, in every form.

mod common;

use common::{LOSS, Records, Setting, distance};
use muffle::State;
use muffle::audit::Subject;
use muffle::audit::replay::Replay;
use muffle::data::Visibility;
use muffle::mechanism::Mechanism;
use muffle::methods::{METHODS, Method, Mode, Step, Verdict};
use muffle::noise::{GaussianNoise, Key, Purpose, Stream};
use muffle::relevance;
use muffle::train::estimate::estimate;
use muffle::train::{DataShape, Plan, Recipe};
use muffle_accounting::{Adjacency, Event};
use muffle_nn::relevance::Propagation;
use muffle_nn::{Options, Shape};

const BATCH: u64 = 400;
const THRESHOLD: f64 = 0.5;
const NOISE: f64 = 0.7;

/// What a form needs beside the settings of all.
fn settings(method: &str, mode: Mode) -> &'static [&'static str] {
    match (method, mode) {
        ("ng-local", _) => &["sampler=fixed-size"],
        // The paper's price is stated for products of sample rate and noise up to 1/16.
        ("dp-sgd-decay", Mode::AsPublished) => &["records=8000"],
        _ => &[],
    }
}

/// The layers of these tests, without biases where a method has no bound for them.
fn layers(method: &str) -> String {
    match method {
        "backprop-clip" => common::LAYERS
            .replace("type = \"conv2d\"", "type = \"conv2d\", bias = false")
            .replace("type = \"dense\"", "type = \"dense\", bias = false"),
        _ => common::LAYERS.to_string(),
    }
}

/// A method on a small network.
struct Trial {
    plan: Plan,
    setting: Setting,
}

impl Trial {
    fn new(method: &str, mode: Mode) -> Trial {
        Trial::on(method, mode, &layers(method))
    }

    fn on(method: &str, mode: Mode, layers: &str) -> Trial {
        let text = format!(
            "data = \"none\"\nmodel = {{ input = [1, 12, 12], layers = {} }}\nmethod = {method:?}\nmode = {:?}\n\
             noise_multiplier = {NOISE}\nsteps = 5\nbatch_size = {BATCH}\nlearning_rate = 0.1\n\
             clip = {{ kind = \"flat\", threshold = {THRESHOLD} }}",
            layers,
            mode.name()
        );
        let settings: Vec<String> = settings(method, mode).iter().map(ToString::to_string).collect();
        let recipe = Recipe::parse(method, &text, &settings).unwrap();
        let plan = Plan::new(recipe, &DATA).unwrap();
        let method = plan.build_method().unwrap();
        let options = Options { hooked: method.hooked(), ..Options::new(method.purpose()) };
        Trial { setting: Setting::of(plan.network.clone(), options), plan }
    }

    /// The method, ready for the first step.
    fn method(&self) -> Box<dyn Method> {
        let mut method = self.plan.build_method().unwrap();
        let records = self.setting.records(20, 1.0);
        let event = method.prepare(&self.setting.parameters, &records.all(), &Key::from_seed(8)).unwrap();
        assert_eq!(event, method.preparation(), "{}", self.plan.recipe.method);
        method
    }

    /// One step of a method that starts anew; the noisy sum, and what it cost.
    fn release(&mut self, records: &Records, seed: u64) -> (Vec<f32>, Event) {
        let mut method = self.method();
        self.advance(&mut *method, &mut Mechanism::new(Key::from_seed(seed), 1.0), records)
    }

    fn advance(
        &mut self,
        method: &mut dyn Method,
        mechanism: &mut Mechanism,
        records: &Records,
    ) -> (Vec<f32>, Event) {
        let released = method
            .release(Step {
                engine: &mut self.setting.engine,
                mechanism,
                parameters: &self.setting.parameters,
                examples: &records.all(),
                loss: LOSS,
                seed: 0,
                noise_multiplier: self.plan.noise_multiplier_at(0),
                clip_factor: 1.0,
                claim: self.plan.claim(),
            })
            .unwrap();
        (released.gradient.gradient().to_vec(), released.event)
    }
}

fn forms() -> impl Iterator<Item = (&'static str, Mode)> {
    METHODS.iter().flat_map(|entry| entry.modes.iter().map(|mode| (entry.name, *mode)))
}

/// The standard normals behind the noise of a step.
fn normals(seed: u64, step: u64, count: usize) -> Vec<f32> {
    let mut normals = vec![0.0; count];
    GaussianNoise::new(&Key::from_seed(seed), Stream::new(Purpose::GradientNoise, step)).fill(
        0,
        1.0,
        &mut normals,
    );
    normals
}

/// What the recipes of trials are made for.
const DATA: DataShape = DataShape {
    input: Shape::Image { height: 12, width: 12, channels: 1 },
    classes: 10,
    records: 4000,
    visibility: Visibility::Public,
};

const NOBODY: Records = Records { inputs: Vec::new() };

#[test]
fn every_form_takes_an_empty_batch_a_batch_of_one_and_a_record_that_is_not_finite() {
    for (name, mode) in forms() {
        let mut trial = Trial::new(name, mode);
        let some = trial.setting.records(3, 1.0);
        for records in [NOBODY, trial.setting.records(1, 1.0), some.zeroed_out(1), some.clone()] {
            let (sum, event) = trial.release(&records, 1);
            assert!(sum.iter().all(|value| value.is_finite()), "{name}, {mode:?}");
            match (mode, &event) {
                (Mode::Sound, Event::Gaussian { noise_multiplier }) => assert_eq!(*noise_multiplier, NOISE),
                (Mode::AsPublished, Event::Claimed { epsilon, .. }) => {
                    assert_eq!(Some(*epsilon), trial.plan.claimed, "{name}");
                }
                _ => panic!("{name}, {mode:?}: {event:?}"),
            }
        }
        // Left out means: nothing of it is in the sum. Only where the number of records is public does it leave a report.
        let without = Records { inputs: vec![some.inputs[0].clone()] };
        let excluded = Records { inputs: vec![some.inputs[0].clone(), vec![f32::NAN; 144]] };
        let (left, _) = trial.release(&without, 1);
        let (right, _) = trial.release(&excluded, 1);
        assert!((distance(&left, &right) <= 1e-5) == (name != "ng-local"), "{name}, {mode:?}");
    }
}

/// Frozen randomness, one record more or less, at the first step and with a history: in deviations of its noise the sum
/// moves by 1/σ at most.
#[test]
fn the_sum_of_a_sound_form_moves_by_no_more_than_its_noise_allows() {
    // These two go on after the noise; they have tests of their own.
    let plain = |name: &str| name != "noisy-gradient" && name != "ng-local";
    for entry in METHODS.iter().filter(|entry| plain(entry.name)) {
        let trial = Trial::new(entry.name, Mode::Sound);
        for (history, scale) in [(0, 0.1), (0, 30.0), (3, 0.1), (3, 1.0), (3, 30.0)] {
            let records = trial.setting.records(8, scale);
            let subject = Subject {
                method: Box::new(|| Ok(trial.method())),
                ..Subject::of(&trial.plan, trial.setting.parameters.clone())
            };
            let mut replay = Replay::new(subject, 3).unwrap();
            for _ in 0..history {
                replay.advance(&records.all()).unwrap();
            }
            let movement = replay.movement(&records.all(), &records.removed().all()).unwrap();
            assert!((movement.allowed - trial.plan.adjacency.sensitivity() / NOISE).abs() < 1e-12);
            assert!(movement.holds(), "{} after {history} steps: {movement:?}", entry.name);
            assert!(movement.moved > 1e-3, "{}: the record takes part", entry.name);
        }
    }
}

/// Both networks are in one release: at the same threshold twice the tensors have √2 times the noise.
#[test]
fn two_fused_networks_are_clipped_together() {
    let fused = format!(
        "[{{ type = \"concat\", branches = [{{ type = \"sequential\", layers = {0} }}, {{ type = \"sequential\", \
         layers = {0} }}] }}, {{ type = \"fusion\" }}]",
        common::LAYERS
    );
    let mut deviations = Vec::new();
    for layers in [common::LAYERS, &fused] {
        let mut trial = Trial::on("icgc", Mode::Sound, layers);
        let mut method = trial.plan.build_method().unwrap();
        let records = trial.setting.records(8, 30.0);
        let mut release = |records: &Records| {
            let mut mechanism = Mechanism::new(Key::from_seed(3), 1.0);
            method.restore(&State::from([("threshold".to_string(), vec![0.1])])).unwrap();
            trial.advance(&mut *method, &mut mechanism, records).0
        };
        let noise = release(&NOBODY);
        let deviation = f64::from(noise[0]) / f64::from(normals(3, 0, 1)[0]);
        deviations.push(deviation);
        let moved = distance(&release(&records), &release(&records.removed())) / deviation;
        assert!(moved <= (1.0 + 1e-4) / NOISE && moved > 1e-3, "moved {moved} deviations");
    }
    assert!((deviations[1] / deviations[0] - 2f64.sqrt()).abs() < 1e-5, "{deviations:?}");
}

/// The noise stays on the released mean, whose length is then bounded; the direction is that of plain DP-SGD.
#[test]
fn noisy_gradient_scales_the_noisy_mean_back_to_the_threshold() {
    let (mut bounded, mut plain) =
        (Trial::new("noisy-gradient", Mode::Sound), Trial::new("dp-sgd", Mode::Sound));
    let records = plain.setting.records(8, 1.0);
    let (bounded, _) = bounded.release(&records, 2);
    let (plain, _) = plain.release(&records, 2);
    let zeros = vec![0.0; plain.len()];
    assert!((distance(&bounded, &zeros) - THRESHOLD).abs() < 1e-4);
    let factor = (THRESHOLD / distance(&plain, &zeros)) as f32;
    let scaled: Vec<f32> = plain.iter().map(|value| factor * value).collect();
    assert!(distance(&bounded, &scaled) < 1e-4);
}

/// With every sampler that a form takes: it is the recipe's own that draws the made-up records.
#[test]
fn the_time_of_every_form_can_be_estimated() {
    for (method, mode) in forms() {
        let expected = estimate(&Trial::new(method, mode).plan);
        assert!(expected.unwrap_or_else(|error| panic!("{method}, {}: {error}", mode.name())).seconds > 0.0);
    }
}

#[test]
fn what_a_method_learns_survives_a_checkpoint() {
    for name in ["quantile-clip", "icgc", "adadp", "dp-adam-ilg", "relevance-noise"] {
        let mut trial = Trial::new(name, Mode::Sound);
        let records = trial.setting.records(60, 1.0);
        let mut method = trial.method();
        let mut mechanism = Mechanism::new(Key::from_seed(5), 1.0);
        let first = trial.plan.build_method().unwrap().state();
        for _ in 0..10 {
            trial.advance(&mut *method, &mut mechanism, &records);
        }
        let saved = method.state();
        assert_ne!(first, saved, "{name}");
        let mut resumed = trial.plan.build_method().unwrap();
        resumed.restore(&saved).unwrap();
        let mut copy = Mechanism::new(Key::from_seed(5), 1.0).resumed_at(10);
        let one = trial.advance(&mut *method, &mut mechanism, &records);
        let two = trial.advance(&mut *resumed, &mut copy, &records);
        assert_eq!(one.0, two.0, "{name}");
        assert_eq!(method.state(), resumed.state(), "{name}");
    }
}

/// The unclipped gradient of the records, summed.
fn raw_sum(records: &Records) -> (Setting, Vec<f32>) {
    let mut plain = Setting::new(muffle_nn::Purpose::Plain);
    plain.engine.sum(&plain.parameters, &records.all(), LOSS, 0).unwrap();
    let sum = plain.engine.gradient().to_vec();
    (plain, sum)
}

/// L2 norm.
fn length(values: &[f32]) -> f64 {
    distance(values, &vec![0.0; values.len()])
}

/// Without its noise, the release is the raw sum with each tensor's values within ±1.2·‖g‖/√n, and the noise has deviation
/// 0.7 · 1.2 · ‖g‖: it vanishes with the gradient.
#[test]
fn dp_adam_ilg_as_published_scales_the_noise_by_the_batch() {
    let mut trial = Trial::new("dp-adam-ilg", Mode::AsPublished);
    let records = trial.setting.records(8, 1.0);
    let (released, _) = trial.release(&records, 2);
    let (plain, raw) = raw_sum(&records);
    let normals = normals(2, 0, raw.len());
    let mut moved = 0;
    for tensor in plain.network.parameters() {
        let range = tensor.range.clone();
        let bound = 1.2 * length(&raw[range.clone()]);
        let limit = bound / (range.len() as f64).sqrt();
        for place in range {
            let clamped = f64::from(raw[place]).clamp(-limit, limit);
            moved += usize::from(clamped != f64::from(raw[place]));
            let expected = clamped + NOISE * bound * f64::from(normals[place]);
            assert!((f64::from(released[place]) - expected).abs() <= 1e-4 * bound, "{}", tensor.name);
        }
    }
    assert!(moved > 0, "no value is beyond its limit");
    assert!(trial.release(&NOBODY, 2).0.iter().all(|value| *value == 0.0), "no gradient, no noise");
}

/// Learned norms start at C/(κ√J), so the first thresholds are C/√J, shared among eight tensors.
#[test]
fn dp_adam_ilg_learns_from_its_releases() {
    let mut trial = Trial::new("dp-adam-ilg", Mode::Sound);
    let records = trial.setting.records(8, 1.0);
    let mut method = trial.method();
    let tensors = trial.setting.network.parameters().len() as f64;
    let start = THRESHOLD / tensors.sqrt() / 4.0;
    assert!(method.state()["norms"].iter().all(|norm| (f64::from(*norm) - start).abs() < 1e-7));
    let (released, _) = trial.advance(&mut *method, &mut Mechanism::new(Key::from_seed(2), 1.0), &records);
    // Without an allocation in the recipe every tensor has the same noise.
    let deviation = NOISE * THRESHOLD;
    for (norm, tensor) in method.state()["norms"].iter().zip(trial.setting.network.parameters()) {
        let square =
            length(&released[tensor.range.clone()]).powi(2) - tensor.range.len() as f64 * deviation.powi(2);
        let expected = 0.9 * start + 0.1 * square.max(0.0).sqrt();
        assert!((f64::from(*norm) - expected).abs() < 1e-4 * expected, "{}: {norm}", tensor.name);
    }
}

/// First a norm, then a box: limits are 1.1 times the root of a tenth of the first release's squares, brought to norm C, and
/// the noise is 0.7 · √m times as large.
#[test]
fn adadp_turns_a_release_into_limits_for_the_next() {
    let mut trial = Trial::new("adadp", Mode::Sound);
    let mut plain = Trial::new("dp-sgd", Mode::Sound);
    let records = trial.setting.records(8, 1.0);
    let mut method = trial.method();
    let mut mechanism = Mechanism::new(Key::from_seed(2), 1.0);
    let (first, _) = trial.advance(&mut *method, &mut mechanism, &records);
    let (expected, _) = plain.release(&records, 2);
    assert!(distance(&first, &expected) < 1e-4 * length(&expected));

    let (noise, _) = trial.advance(&mut *method, &mut mechanism, &NOBODY);
    let roots: Vec<f64> = first.iter().map(|value| 1.1 * (0.1f64).sqrt() * f64::from(value.abs())).collect();
    let norm = roots.iter().map(|root| root * root).sum::<f64>().sqrt();
    assert!(norm > THRESHOLD, "noise of {} coordinates is longer than the threshold", roots.len());
    let scale = NOISE * (roots.len() as f64).sqrt() * THRESHOLD / norm;
    for ((value, root), normal) in noise.iter().zip(&roots).zip(normals(2, 1, roots.len())) {
        let floor = NOISE * 1e-3 * THRESHOLD;
        let expected = (scale * root).max(floor) * f64::from(normal);
        assert!((f64::from(*value) - expected).abs() < 1e-3 * expected.abs(), "{value} for {expected}");
    }
}

/// One record alone: its gradient at length C, noise, and the result at length C again.
#[test]
fn ng_local_noises_every_record_between_two_clips() {
    let mut trial = Trial::new("ng-local", Mode::Sound);
    let record = trial.setting.records(1, 30.0);
    let (_, raw) = raw_sum(&record);
    assert!(length(&raw) > THRESHOLD);
    let normals = normals(2, 0, raw.len());
    let report = |gradient: &[f32]| -> Vec<f32> {
        let factor = (THRESHOLD / length(gradient).max(THRESHOLD)) as f32;
        let deviation = (NOISE * THRESHOLD) as f32;
        let noisy: Vec<f32> = gradient
            .iter()
            .zip(&normals)
            .map(|(value, normal)| factor * value + deviation * normal)
            .collect();
        let factor = (THRESHOLD / length(&noisy).max(THRESHOLD)) as f32;
        noisy.iter().map(|value| factor * value).collect()
    };
    let (released, _) = trial.release(&record, 2);
    assert!(distance(&released, &report(&raw)) < 1e-4);
    // A record without a finite gradient reports as the zero gradient does.
    let (released, _) = trial.release(&record.zeroed_out(0), 2);
    assert!(distance(&released, &report(&vec![0.0; raw.len()])) < 1e-4);
    assert!(trial.release(&NOBODY, 2).0.iter().all(|value| *value == 0.0));
}

/// R from a sum of relevances: over its mean, at least a tenth, over the mean again; and the neuron of each parameter.
fn shares_of(relevance: &[f64]) -> Vec<f64> {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let positive: Vec<f64> = relevance.iter().map(|value| value.max(0.0)).collect();
    let raised: Vec<f64> = positive.iter().map(|value| (value / mean(&positive)).max(0.1)).collect();
    raised.iter().map(|value| value / mean(&raised)).collect()
}

/// The noise is σC/√R on every parameter of a neuron, with R from a release of Laplace noise of scale 1/0.1; a record alone is
/// its gradient, scaled to √Σ R g² = C.
#[test]
fn relevance_noise_measures_every_neuron_by_its_private_relevance() {
    let mut trial = Trial::new("relevance-noise", Mode::Sound);
    let propagation = Propagation::new(trial.setting.network.clone(), 0.01).unwrap();
    let (parameters, all) = (trial.setting.parameters.clone(), trial.setting.records(20, 1.0));
    let (key, of) = (Key::from_seed(8), relevance::Of::Neurons);
    let (released, event) =
        relevance::release(&propagation, &parameters, &all.all(), of, 10.0, &key).unwrap();
    assert_eq!(event, Event::laplace(10.0));
    // Channels and outputs.
    assert_eq!(released.len(), 8 + 16 + 12 + 10);
    let shares = shares_of(&released);
    assert!(shares.iter().any(|share| *share > 2.0) && shares.iter().any(|share| *share < 0.2), "{shares:?}");
    let owned = |place: usize| shares[propagation.neurons().owners()[place] as usize];

    let (noise, _) = trial.release(&NOBODY, 2);
    for (place, (value, normal)) in noise.iter().zip(normals(2, 0, noise.len())).enumerate() {
        let expected = NOISE * THRESHOLD / owned(place).sqrt() * f64::from(normal);
        assert!((f64::from(*value) - expected).abs() <= 1e-5 * expected.abs(), "{place}");
    }
    for scale in [0.01, 30.0] {
        let record = trial.setting.records(1, scale);
        let (_, raw) = raw_sum(&record);
        let square = |(place, value): (usize, &f32)| owned(place) * f64::from(*value).powi(2);
        let norm = raw.iter().enumerate().map(square).sum::<f64>().sqrt();
        let factor = (THRESHOLD / norm).min(1.0) as f32;
        assert!(factor < 1.0, "{norm}");
        let expected: Vec<f32> =
            raw.iter().zip(&noise).map(|(value, noise)| factor * value + noise).collect();
        assert!(distance(&trial.release(&record, 2).0, &expected) < 1e-4);
    }
}

/// The paid release is part of the price of a run, and its scale follows the neighbours.
#[test]
fn relevance_noise_pays_before_the_first_step() {
    let trial = Trial::new("relevance-noise", Mode::Sound);
    let steps = Event::compose([Event::gaussian(NOISE).poisson_sampled(0.1).repeated(5)]);
    assert_eq!(trial.plan.total_cost().unwrap(), Event::compose([Event::laplace(10.0), steps]));
    let published = Trial::new("relevance-noise", Mode::AsPublished);
    assert_eq!(published.plan.build_method().unwrap().preparation(), None);

    let mut recipe = trial.plan.recipe.clone();
    recipe.adjacency = Some(Adjacency::ReplaceOne);
    let plan = Plan::new(recipe, &DATA).unwrap();
    assert_eq!(plan.build_method().unwrap().preparation(), Some(Event::laplace(20.0)));
}

/// The raw relevance of the batch sets the noise; the sum is clipped at C as a whole.
#[test]
fn relevance_noise_as_published_lets_the_batch_set_the_noise() {
    let mut trial = Trial::new("relevance-noise", Mode::AsPublished);
    let propagation = Propagation::new(trial.setting.network.clone(), 0.01).unwrap();
    let record = trial.setting.records(1, 30.0);
    let of = relevance::Of::Neurons;
    let raw = relevance::sum(&propagation, &trial.setting.parameters, &record.all(), of).unwrap();
    let shares = shares_of(&raw);
    let (released, _) = trial.release(&record, 2);
    let (_, gradient) = raw_sum(&record);
    let factor = THRESHOLD / length(&gradient);
    assert!(factor < 1.0);
    let normals = normals(2, 0, gradient.len());
    for (place, owner) in propagation.neurons().owners().iter().enumerate() {
        let deviation = NOISE * THRESHOLD / shares[*owner as usize].sqrt();
        let expected = factor * f64::from(gradient[place]) + deviation * f64::from(normals[place]);
        assert!((f64::from(released[place]) - expected).abs() <= 1e-4 * THRESHOLD, "{place}");
    }
    // What breaks: another record, another noise on every weight.
    let (other, _) = trial.release(&NOBODY, 2);
    let plain = NOISE * THRESHOLD * f64::from(normals[0]);
    assert!((f64::from(other[0]) - plain).abs() < 1e-6, "nobody, no relevance: the noise of DP-SGD");
}

/// Refusals name the cause and the remedy.
#[test]
fn methods_refuse_what_they_have_no_bound_for() {
    let refused = |method: &str, settings: &[&str]| {
        let text = format!(
            "data = \"none\"\nmodel = {{ layers = [{{ type = \"dense\", features = 2 }}] }}\nmethod = {method:?}\n\
             noise_multiplier = 1\nsteps = 5\nbatch_size = 10\nlearning_rate = 0.1\n\
             clip = {{ kind = \"flat\", threshold = 1 }}"
        );
        let settings: Vec<String> = settings.iter().map(ToString::to_string).collect();
        let data =
            DataShape { input: Shape::Vector(4), classes: 2, records: 100, visibility: Visibility::Public };
        let plan = Recipe::parse(method, &text, &settings).and_then(|recipe| Plan::new(recipe, &data));
        plan.err().map(|error| error.to_string()).unwrap_or_default()
    };
    for (method, settings, part) in [
        ("backprop-clip", &[][..], "set bias = false"),
        ("ng-local", &[], "their number is public"),
        ("ng-local", &["sampler=balls-and-bins"], "their number is public"),
        (
            "dp-sgd-decay",
            &["sampler=balls-and-bins", "mode=as-published"],
            "sampler = \"reshuffled\" and \"poisson\"",
        ),
        (
            "dp-sgd-decay",
            &["sampler=reshuffled", "adjacency=replace_one", "mode=as-published"],
            "four times that",
        ),
        ("adadp", &["parameters.floor=1"], "outside (0, 1)"),
        ("relevance-noise", &["parameters.relevance_epsilon=0"], "outside [1e-6, 1e6]"),
        ("relevance-noise", &["parameters.stabiliser=-1"], "stabiliser of -1"),
        (
            "relevance-noise",
            &["model={layers=[{type=\"layer-norm\"},{type=\"dense\",features=2}]}"],
            "layer `0` (layer-norm)",
        ),
    ] {
        let message = refused(method, settings);
        assert!(message.contains(part), "{method}: {message}");
    }
    for settings in [
        &["sampler=fixed-size"][..],
        &["sampler=reshuffled"],
        &["sampler=balls-and-bins", "adjacency=replace_one"],
    ] {
        assert_eq!(refused("ng-local", settings), "", "{settings:?}");
    }
}

/// Yu et al. print zCDP of random samples, which is another figure than that of the moments accountant.
#[test]
fn a_paper_is_quoted_by_its_own_accountant() {
    let trial = Trial::new("dp-sgd-decay", Mode::AsPublished);
    let (rate, log) = (BATCH as f64 / 8000.0, 1e5f64.ln());
    let rho = 5.0 * (rate / NOISE).powi(2);
    let excess = -NOISE * NOISE * (rate * NOISE).ln();
    // δ is below exp(−ρ(u − 1)²), so the last order of the stated range decides.
    assert!(log > rho * excess * excess);
    let expected = rho * (1.0 + excess) + log / excess;
    assert!((trial.plan.claimed.unwrap() - expected).abs() < 1e-9 * expected);
}

#[test]
fn unsound_methods_come_in_both_forms() {
    for entry in METHODS {
        assert!(entry.modes.contains(&Mode::Sound), "{}", entry.name);
        if entry.verdict == Verdict::Unsound {
            assert!(entry.modes.contains(&Mode::AsPublished) && !entry.breaks.is_empty(), "{}", entry.name);
        }
    }
}

/// What `--method` applies to a recipe makes a plan.
#[test]
fn the_settings_of_every_method_are_settings() {
    let text = "data = \"mnist\"\nmodel = \"cnn-small\"\nepsilon = 3\nepochs = 2\nbatch_size = 600\n\
                learning_rate = 0.5\nclip = { kind = \"flat\", threshold = 1 }";
    for entry in METHODS {
        let settings: Vec<String> = entry.settings.iter().map(ToString::to_string).collect();
        let recipe = Recipe::parse(entry.name, text, &settings);
        assert!(recipe.is_ok(), "{}: {}", entry.name, recipe.unwrap_err());
    }
}
