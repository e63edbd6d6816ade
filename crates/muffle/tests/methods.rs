//! What must be true of every published method, in every form.

mod common;

use common::{LOSS, Records, Setting, distance};
use muffle::data::Visibility;
use muffle::mechanism::Mechanism;
use muffle::methods::{METHODS, Method, Mode, Step, Verdict};
use muffle::noise::Key;
use muffle::train::{DataShape, Plan, Recipe};
use muffle_accounting::Event;

const BATCH: u64 = 400;
const THRESHOLD: f64 = 0.5;

/// A plan for the small network of these tests.
fn plan(setting: &Setting, method: &str, mode: Mode) -> Plan {
    let text = format!(
        "data = \"none\"\nmodel = {{ input = [1, 12, 12], layers = {} }}\nmethod = {method:?}\nmode = {:?}\n\
         noise_multiplier = 0.7\nsteps = 5\nbatch_size = {BATCH}\nlearning_rate = 0.1\n\
         clip = {{ kind = \"flat\", threshold = {THRESHOLD} }}",
        common::LAYERS,
        mode.name()
    );
    let recipe = Recipe::parse(method, &text, &[]).unwrap();
    let data = DataShape {
        input: setting.network.input(),
        classes: 10,
        records: 4000,
        visibility: Visibility::Public,
    };
    Plan::new(recipe, &data).unwrap()
}

/// One step of a method that starts anew; the noisy sum, and what it cost.
fn release(setting: &mut Setting, plan: &Plan, records: &Records, seed: u64) -> (Vec<f32>, Event) {
    let mut method = plan.build_method().unwrap();
    advance(setting, plan, &mut *method, &mut Mechanism::new(Key::from_seed(seed), 1.0), records)
}

fn advance(
    setting: &mut Setting,
    plan: &Plan,
    method: &mut dyn Method,
    mechanism: &mut Mechanism,
    records: &Records,
) -> (Vec<f32>, Event) {
    let mut other = Setting::new(method.purpose());
    let setting = if method.purpose() == muffle_nn::Purpose::PerExample { setting } else { &mut other };
    let released = method
        .release(Step {
            engine: &mut setting.engine,
            mechanism,
            parameters: &setting.parameters,
            examples: &records.all(),
            loss: LOSS,
            seed: 0,
            noise_multiplier: plan.noise_multiplier_at(0),
            clip_factor: 1.0,
            number: 0,
            claim: plan.claim(),
        })
        .unwrap();
    (released.gradient.gradient().to_vec(), released.event)
}

fn forms() -> impl Iterator<Item = (&'static str, Mode)> {
    METHODS.iter().flat_map(|entry| entry.modes.iter().map(|mode| (entry.name, *mode)))
}

#[test]
fn every_form_takes_an_empty_batch_a_batch_of_one_and_a_record_that_is_not_finite() {
    let mut setting = Setting::new(muffle_nn::Purpose::PerExample);
    let some = setting.records(3, 1.0);
    for (name, mode) in forms() {
        let plan = plan(&setting, name, mode);
        for records in [Records { inputs: vec![] }, setting.records(1, 1.0), some.zeroed_out(1), some.clone()]
        {
            let (sum, event) = release(&mut setting, &plan, &records, 1);
            assert!(sum.iter().all(|value| value.is_finite()), "{name}, {mode:?}");
            match (mode, &event) {
                (Mode::Sound, Event::Gaussian { noise_multiplier }) => assert_eq!(*noise_multiplier, 0.7),
                (Mode::AsPublished, Event::Claimed { epsilon, .. }) => {
                    assert_eq!(Some(*epsilon), plan.claimed, "{name}");
                }
                _ => panic!("{name}, {mode:?}: {event:?}"),
            }
        }
        // Left out means: nothing of it is in the sum.
        let without = Records { inputs: vec![some.inputs[0].clone()] };
        let excluded = Records { inputs: vec![some.inputs[0].clone(), vec![f32::NAN; 144]] };
        let (left, _) = release(&mut setting, &plan, &without, 1);
        let (right, _) = release(&mut setting, &plan, &excluded, 1);
        assert!(distance(&left, &right) <= 1e-5, "{name}, {mode:?}");
    }
}

/// Frozen randomness, one record more or less. The noise of an empty batch gives its own scale to a relative error of
/// 1/√(2·6,000); one in 20 is allowed (five of these errors).
#[test]
fn the_sum_of_a_sound_form_moves_by_no_more_than_its_noise_allows() {
    let mut setting = Setting::new(muffle_nn::Purpose::PerExample);
    let nobody = Records { inputs: vec![] };
    for entry in METHODS.iter().filter(|entry| entry.name != "noisy-gradient") {
        let plan = plan(&setting, entry.name, Mode::Sound);
        let (noise, _) = release(&mut setting, &plan, &nobody, 3);
        let deviation =
            (noise.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>() / noise.len() as f64).sqrt();
        for scale in [0.1, 1.0, 30.0] {
            let records = setting.records(8, scale);
            let (with, _) = release(&mut setting, &plan, &records, 3);
            let (without, _) = release(&mut setting, &plan, &records.removed(), 3);
            let moved = distance(&with, &without);
            assert!(moved <= 1.05 * deviation / 0.7, "{}: moved {moved}, noise {deviation}", entry.name);
        }
    }
}

/// The noise stays on the released mean, whose length is then bounded; the direction is that of plain DP-SGD.
#[test]
fn noisy_gradient_scales_the_noisy_mean_back_to_the_threshold() {
    let mut setting = Setting::new(muffle_nn::Purpose::PerExample);
    let records = setting.records(8, 1.0);
    let (bounded, plain) =
        (plan(&setting, "noisy-gradient", Mode::Sound), plan(&setting, "dp-sgd", Mode::Sound));
    let (bounded, _) = release(&mut setting, &bounded, &records, 2);
    let (plain, _) = release(&mut setting, &plain, &records, 2);
    let zeros = vec![0.0; plain.len()];
    assert!((distance(&bounded, &zeros) - THRESHOLD).abs() < 1e-4);
    let factor = (THRESHOLD / distance(&plain, &zeros)) as f32;
    let scaled: Vec<f32> = plain.iter().map(|value| factor * value).collect();
    assert!(distance(&bounded, &scaled) < 1e-4);
}

#[test]
fn thresholds_follow_the_quantile_and_survive_a_checkpoint() {
    let mut setting = Setting::new(muffle_nn::Purpose::PerExample);
    let records = setting.records(60, 1.0);
    for name in ["quantile-clip", "icgc"] {
        let plan = plan(&setting, name, Mode::Sound);
        let mut method = plan.build_method().unwrap();
        let mut mechanism = Mechanism::new(Key::from_seed(5), 1.0);
        let first = method.state();
        for _ in 0..10 {
            advance(&mut setting, &plan, &mut *method, &mut mechanism, &records);
        }
        let saved = method.state();
        assert_ne!(first, saved, "{name}");
        let mut resumed = plan.build_method().unwrap();
        resumed.restore(&saved).unwrap();
        let mut copy = Mechanism::new(Key::from_seed(5), 1.0).resumed_at(10);
        let one = advance(&mut setting, &plan, &mut *method, &mut mechanism, &records);
        let two = advance(&mut setting, &plan, &mut *resumed, &mut copy, &records);
        assert_eq!(one.0, two.0, "{name}");
        assert_eq!(method.state(), resumed.state(), "{name}");
    }
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
