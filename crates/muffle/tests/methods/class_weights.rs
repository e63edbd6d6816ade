//! Weights of classes multiply gradients before anything bounds them.

use crate::common::{LOSS, Records, Setting, receipt};
use crate::trial::Trial;
use muffle::audit::Subject;
use muffle::audit::replay::Replay;
use muffle::clip::{Clip, Flat, Grouped, NonMonotone, Normalised, PerLayer};
use muffle::mechanism::{Gradients, Mechanism, Rule};
use muffle::methods::{METHODS, Mode};
use muffle::noise::Key;
use muffle::train::Weighted;
use muffle_accounting::Event;
use muffle_nn::{Examples, Purpose};

/// The class of the last of eight records weighs a hundred thousand times what any other does.
const WEIGHTS: [f32; 10] = [0.01, 0.01, 0.01, 0.01, 0.01, 0.01, 0.01, 1e3, 0.01, 0.01];

fn sum(setting: &mut Setting, records: &Records, rule: Rule) -> Vec<f32> {
    let (engine, parameters) = (&mut setting.engine, &setting.parameters[..]);
    let examples = &Weighted { examples: &records.all(), weights: &WEIGHTS };
    let (bounded, _) = Gradients { engine, parameters, examples, loss: LOSS, seed: 0 }.bounded(rule).unwrap();
    let released =
        Mechanism::new(Key::from_seed(1), 1.0).release(bounded, 0.0, receipt(0, Event::NonPrivate));
    released.gradient().to_vec()
}

/// How far the heavy record moves the sum, coordinate by coordinate.
fn movement<'r>(purpose: Purpose, rule: &dyn Fn(usize) -> Rule<'r>) -> Vec<f64> {
    let mut setting = Setting::new(purpose);
    let (records, len) = (setting.records(8, 1.0), setting.parameters.len());
    let with = sum(&mut setting, &records, rule(len));
    let without = sum(&mut setting, &records.removed(), rule(len));
    with.iter().zip(&without).map(|(with, without)| f64::from(with - without)).collect()
}

fn norm(values: &[f64]) -> f64 {
    values.iter().map(|value| value * value).sum::<f64>().sqrt()
}

/// Rounding of a sum of eight in single precision.
const ROUNDING: f64 = 1.0 + 1e-4;

#[test]
fn no_weight_moves_a_sum_further_than_the_rule_allows() {
    let tensors = Setting::new(Purpose::PerExample).network.parameters().len();
    let groups: Vec<usize> = (0..tensors).map(|tensor| tensor % 2).collect();
    let rules: [&dyn Clip; 5] = [
        &Flat::new(0.5),
        &PerLayer::new(vec![0.1; tensors]),
        &Grouped::new(groups, vec![0.2, 0.4]),
        &Normalised::new(0.5, 0.01),
        &NonMonotone::new(0.5, 0.1),
    ];
    for rule in rules {
        let moved = norm(&movement(Purpose::PerExample, &|_| Rule::Norms(rule)));
        let bound = rule.bounds().sensitivity();
        assert!(moved <= ROUNDING * bound && moved > 0.5 * bound, "{moved} of {bound}");
    }
    let moved = norm(&movement(Purpose::Plain, &|_| Rule::WrittenOut { threshold: 0.5 }));
    assert!(moved <= ROUNDING * 0.5 && moved > 0.25, "{moved}");
    let moved = movement(Purpose::Plain, &|len| Rule::Units { units: vec![2.0; len], threshold: 0.5 });
    assert!(norm(&moved) <= ROUNDING * 1.0 && norm(&moved) > 0.5, "{}", norm(&moved));
    let moved = movement(Purpose::Plain, &|_| Rule::L1 { threshold: 0.5 });
    let length: f64 = moved.iter().map(|value| value.abs()).sum();
    assert!(length <= ROUNDING * 0.5 && length > 0.25, "{length}");
    let moved = movement(Purpose::Plain, &|len| Rule::Limits(vec![0.125; len]));
    let largest = moved.iter().fold(0.0, |largest, value| f64::max(largest, value.abs()));
    assert!(largest <= ROUNDING * 0.125 && largest > 0.1, "{largest}");
}

/// Frozen randomness, with and without the heavy record: in deviations of its noise the sum of a sound form moves by 1/σ at most.
#[test]
fn no_weight_moves_the_sum_of_a_sound_form_further_than_its_noise_allows() {
    // These two go on after the noise.
    let plain = |name: &str| name != "noisy-gradient" && name != "ng-local";
    for entry in METHODS.iter().filter(|entry| plain(entry.name)) {
        let trial = Trial::new(entry.name, Mode::Sound);
        let (records, parameters) = (trial.setting.records(8, 1.0), trial.setting.parameters.clone());
        let removed = records.removed();
        let (with, without) = (records.all(), removed.all());
        let [with, without] = [&with, &without].map(|examples| Weighted { examples, weights: &WEIGHTS });
        let method = Box::new(|| Ok(trial.method()));
        let mut replay = Replay::new(Subject { method, ..Subject::of(&trial.plan, parameters) }, 3).unwrap();
        for _ in 0..2 {
            let movement = replay.movement(&with, &without).unwrap();
            assert!(movement.holds() && movement.moved > 1e-3, "{}: {movement:?}", entry.name);
            replay.advance(&with).unwrap();
        }
    }
}

/// Without a bound, a weight of two is the record twice, and a mean over views is weighted as a whole.
#[test]
fn a_weight_multiplies_loss_and_gradient() {
    let mut setting = Setting::new(Purpose::Plain);
    let records = setting.records(2, 1.0);
    let mut run = |examples: &dyn Examples| {
        let outcome = setting.engine.sum(&setting.parameters, examples, LOSS, 0).unwrap();
        (outcome.loss, setting.engine.gradient().to_vec())
    };
    let (first, second) = (records.select(vec![0]), records.select(vec![1]));
    let ((first_loss, first), (second_loss, second)) = (run(&first), run(&second));
    let mut weights = [1.0; 10];
    (weights[0], weights[1]) = (3.0, 0.25);
    let (loss, gradient) = run(&Weighted { examples: &records.all(), weights: &weights });
    assert!((loss - (3.0 * first_loss + 0.25 * second_loss)).abs() < 1e-6 * loss.abs());
    for ((found, first), second) in gradient.iter().zip(&first).zip(&second) {
        assert!((found - (3.0 * first + 0.25 * second)).abs() < 1e-6, "{found}");
    }
    let (plain, even) =
        (run(&records.all()), run(&Weighted { examples: &records.all(), weights: &[1.0; 10] }));
    assert_eq!(plain, even, "to the bit");
}
