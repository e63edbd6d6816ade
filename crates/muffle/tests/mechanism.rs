//! The private step: what it adds, what it divides by, and what it says it did.

mod common;

use common::{LOSS, Records, Setting, distance, receipt};
use muffle::clip::{Allocation, Bounds, Clip, Flat, Grouped, PerLayer};
use muffle::mechanism::{Bounded, BoundedVector, Gradients, Mechanism, Rule, Unprotected};
use muffle::noise::Key;
use muffle::optimizer::{Optimizer, Sgd};
use muffle_accounting::Event;
use muffle_nn::Purpose;

fn mechanism(divisor: f32) -> Mechanism {
    Mechanism::new(Key::from_seed(4), divisor)
}

fn gaussian(noise_multiplier: f64) -> Event {
    if noise_multiplier > 0.0 { Event::gaussian(noise_multiplier) } else { Event::NonPrivate }
}

fn bounded<'a>(setting: &'a mut Setting, records: &Records, rule: Rule) -> (Bounded<'a>, Unprotected) {
    let (engine, parameters) = (&mut setting.engine, &setting.parameters[..]);
    Gradients { engine, parameters, examples: &records.all(), loss: LOSS, seed: 0 }.bounded(rule).unwrap()
}

/// The released gradient of records in a step.
fn release_at(
    step: u64,
    setting: &mut Setting,
    records: &Records,
    rule: &dyn Clip,
    mechanism: &Mechanism,
    noise_multiplier: f64,
) -> (Vec<f32>, Event, Unprotected) {
    let (bounded, unprotected) = bounded(setting, records, Rule::Norms(rule));
    let released = mechanism.release(bounded, noise_multiplier, receipt(step, gaussian(noise_multiplier)));
    (released.gradient().to_vec(), released.event().clone(), unprotected)
}

/// The same in the first step.
fn release(
    setting: &mut Setting,
    records: &Records,
    rule: &dyn Clip,
    mechanism: &Mechanism,
    noise_multiplier: f64,
) -> (Vec<f32>, Event, Unprotected) {
    release_at(0, setting, records, rule, mechanism, noise_multiplier)
}

const NOBODY: Records = Records { inputs: Vec::new() };

/// Sums of squares estimate a variance to a relative standard error of √(2/n); five are accepted (false alarm 6·10⁻⁷), and
/// n is large enough for ten per cent of scale to lie more than nine standard errors away.
fn has_deviation(squares: f64, count: f64, deviation: f64) -> bool {
    let error = (2.0 / count).sqrt();
    assert!(0.19 > 9.0 * error, "too few values to tell");
    (squares / count / deviation.powi(2) - 1.0).abs() < 5.0 * error
}

#[test]
fn every_group_gets_noise_of_the_right_scale() {
    let mut setting = Setting::new(Purpose::PerExample);
    let tensors = setting.network.parameters().len();
    let thresholds: Vec<f64> = (0..tensors).map(|tensor| 0.1 * (1.0 + tensor as f64)).collect();
    let groups: Vec<usize> = (0..tensors).map(|tensor| tensor % 3).collect();
    let rules: [&dyn Clip; 3] =
        [&Flat::new(0.5), &PerLayer::new(thresholds), &Grouped::new(groups, vec![0.2, 0.9, 0.4])];
    let lens: Vec<usize> = setting.network.parameters().iter().map(|tensor| tensor.range.len()).collect();
    // The smallest tensor has eight values; 600 releases give it 4,800.
    const RELEASES: usize = 600;
    let (noise_multiplier, divisor) = (1.3, 64.0f32);
    for rule in rules {
        for allocation in [Allocation::Flat, Allocation::EqualShare, Allocation::LeastEnergy] {
            let mechanism = mechanism(divisor).allocation(allocation);
            let mut squares = vec![0.0; tensors];
            for step in 0..RELEASES as u64 {
                let (noise, event, _) =
                    release_at(step, &mut setting, &NOBODY, rule, &mechanism, noise_multiplier);
                assert_eq!(event, Event::gaussian(noise_multiplier));
                for (square, tensor) in squares.iter_mut().zip(setting.network.parameters()) {
                    let values = &noise[tensor.range.clone()];
                    *square += values.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>();
                }
            }
            let expected = rule.bounds().deviations(allocation, noise_multiplier, &lens);
            for tensor in 0..tensors {
                // Rounding widens the noise by 0.8 to 1.2 per cent.
                let deviation = 1.01 * expected[tensor] / f64::from(divisor);
                let accepts = |scale: f64| {
                    has_deviation(squares[tensor], (RELEASES * lens[tensor]) as f64, scale * deviation)
                };
                assert!(accepts(1.0), "{allocation:?}, tensor {tensor}");
                assert!(!accepts(0.9) && !accepts(1.1), "{allocation:?}, tensor {tensor}");
            }
        }
    }
}

/// Laplace noise has the fourth moment of kurtosis six, so a variance is known to √(5/n).
#[test]
fn laplace_noise_has_the_right_scale() {
    let mut setting = Setting::new(Purpose::Plain);
    let mechanism = mechanism(8.0);
    let (mut squares, mut count) = (0.0, 0.0);
    for step in 0..10 {
        let (bounded, _) = bounded(&mut setting, &NOBODY, Rule::L1 { threshold: 0.5 });
        let released = mechanism.release(bounded, 2.0, receipt(step, Event::laplace(2.0)));
        assert_eq!(*released.event(), Event::laplace(2.0));
        squares += released.gradient().iter().map(|value| f64::from(*value).powi(2)).sum::<f64>();
        count += released.gradient().len() as f64;
    }
    // Scale 2 · 0.5 / 8, variance twice its square.
    let accepts = |scale: f64| {
        let variance = 2.0 * (scale / 8.0).powi(2);
        (squares / count / variance - 1.0).abs() < 5.0 * (5.0 / count).sqrt()
    };
    assert!(accepts(1.0));
    assert!(!accepts(0.9) && !accepts(1.1));
}

#[test]
fn an_empty_batch_gets_the_noise_and_the_event_of_a_full_one() {
    let mut setting = Setting::new(Purpose::PerExample);
    let records = setting.records(9, 1.0);
    let rule = Flat::new(0.5);
    let (empty, empty_event, _) = release(&mut setting, &NOBODY, &rule, &mechanism(16.0), 1.1);
    let (full, full_event, _) = release(&mut setting, &records, &rule, &mechanism(16.0), 1.1);
    let (sum, _, _) = release(&mut setting, &records, &rule, &mechanism(16.0), 0.0);
    assert_eq!(empty_event, full_event);
    let noise: Vec<f32> = full.iter().zip(&sum).map(|(full, sum)| full - sum).collect();
    assert!(distance(&noise, &empty) < 1e-5 * distance(&empty, &vec![0.0; empty.len()]));
    assert!(empty.iter().filter(|value| **value == 0.0).count() < 3);
}

#[test]
fn no_noise_is_not_private() {
    let mut setting = Setting::new(Purpose::PerExample);
    let (_, event, _) = release(&mut setting, &NOBODY, &Flat::new(1.0), &mechanism(1.0), 0.0);
    assert_eq!(event, Event::NonPrivate);
}

#[test]
fn a_record_that_is_not_finite_contributes_nothing_and_is_counted() {
    let mut setting = Setting::new(Purpose::PerExample);
    let records = setting.records(5, 1.0);
    let (spoiled, without) = (records.zeroed_out(4), records.removed());
    let rule = PerLayer::even(1.0, setting.network.parameters().len());
    let (expected, _, _) = release(&mut setting, &without, &rule, &mechanism(1.0), 0.0);
    let (gradient, _, Unprotected(outcome)) = release(&mut setting, &spoiled, &rule, &mechanism(1.0), 0.0);
    let excluded: Vec<(usize, &str)> =
        outcome.excluded.iter().map(|excluded| (excluded.example, excluded.place.as_str())).collect();
    assert_eq!(excluded, [(4, "the input")]);
    assert!(distance(&gradient, &expected) < 1e-5);

    let mut setting = Setting::new(Purpose::Plain);
    let mut sum = |records: &Records| {
        let (bounded, Unprotected(outcome)) = bounded(&mut setting, records, Rule::L1 { threshold: 1.0 });
        let released = mechanism(1.0).release(bounded, 0.0, receipt(0, Event::NonPrivate));
        (released.gradient().to_vec(), outcome.excluded.len())
    };
    let ((spoiled, spoiled_count), (without, without_count)) = (sum(&spoiled), sum(&without));
    assert_eq!((spoiled_count, without_count), (1, 0));
    assert!(distance(&spoiled, &without) < 1e-5);
}

#[test]
fn the_divisor_does_not_depend_on_the_batch() {
    let mut setting = Setting::new(Purpose::PerExample);
    for count in [0, 1, 7] {
        let records = setting.records(count, 1.0);
        let rule = Flat::new(1.0);
        let (whole, _, _) = release(&mut setting, &records, &rule, &mechanism(1.0), 1.0);
        let (divided, _, _) = release(&mut setting, &records, &rule, &mechanism(256.0), 1.0);
        assert!(whole.iter().zip(&divided).all(|(whole, divided)| whole / 256.0 == *divided));
    }
}

#[test]
fn two_steps_never_share_their_noise_and_a_resumed_run_repeats_it() {
    let mut setting = Setting::new(Purpose::PerExample);
    let rule = Flat::new(1.0);
    let mut at = |step: u64| release_at(step, &mut setting, &NOBODY, &rule, &mechanism(1.0), 1.0).0;
    let (first, second) = (at(0), at(1));
    let equal = first.iter().zip(&second).filter(|(first, second)| first == second).count();
    assert!(equal < 5, "{equal} equal values");
    let product: f64 = first.iter().zip(&second).map(|(a, b)| f64::from(a * b)).sum();
    // Independent standard normals: the sum of n products has a standard deviation of √n; five are accepted.
    assert!(product.abs() < 5.0 * (first.len() as f64).sqrt());
    assert_eq!(at(1), second);
}

#[test]
fn gradient_descent_moves_against_the_released_gradient() {
    let mut setting = Setting::new(Purpose::PerExample);
    let records = setting.records(8, 1.0);
    let mut moved = setting.parameters.clone();
    let rule = Flat::new(1.0);
    let parameters = setting.parameters.clone();
    let (bounded, _) = bounded(&mut setting, &records, Rule::Norms(&rule));
    let released = mechanism(8.0).release(bounded, 1.0, receipt(0, gaussian(1.0)));
    Sgd::new(moved.len()).step(&mut moved, &released, 0.25);
    for ((moved, parameter), gradient) in moved.iter().zip(&parameters).zip(released.gradient()) {
        assert_eq!(*moved, parameter - 0.25 * gradient);
    }
}

/// A rule that promises more than it does.
struct Careless(Bounds);

impl Clip for Careless {
    fn bounds(&self) -> &Bounds {
        &self.0
    }

    fn factors(&self, _: &[f64], factors: &mut [f32]) {
        factors.fill(1.0);
    }
}

#[test]
#[should_panic(expected = "broke its own bounds")]
fn a_rule_that_breaks_its_bounds_is_stopped() {
    let mut setting = Setting::new(Purpose::PerExample);
    let records = setting.records(3, 4.0);
    let rule = Careless(Bounds::whole(1e-3));
    release(&mut setting, &records, &rule, &mechanism(1.0), 1.0);
}

#[test]
#[should_panic(expected = "as many tensors as the network has")]
fn a_rule_for_another_network_is_refused() {
    let mut setting = Setting::new(Purpose::PerExample);
    release(&mut setting, &NOBODY, &PerLayer::even(1.0, 3), &mechanism(1.0), 1.0);
}

/// Squares of Laplace noise estimate its variance 2b² to a relative standard error of √(5/n); five are accepted (false alarm 6·10⁻⁷).
#[test]
fn few_numbers_that_move_cost_as_many_laplace_mechanisms() {
    let (count, scale) = (100_000, 3.0);
    let event = Event::laplace(scale).repeated(2);
    let zeros = BoundedVector::few(vec![0.0; count], 2, 1.0);
    let (noisy, paid) = mechanism(1.0).answer(zeros, scale, receipt(0, event.clone()));
    assert_eq!(paid, event);
    let variance = noisy.iter().map(|value| value * value).sum::<f64>() / count as f64;
    let error = (5.0 / count as f64).sqrt();
    assert!((variance / (2.0 * scale * scale) - 1.0).abs() < 5.0 * error, "{variance}");
}

#[test]
#[should_panic(expected = "released something else than was paid for")]
fn few_numbers_are_not_released_for_the_price_of_one() {
    let votes = BoundedVector::few(vec![3.0, 4.0], 2, 1.0);
    let _ = mechanism(1.0).answer(votes, 2.0, receipt(0, Event::laplace(2.0)));
}
