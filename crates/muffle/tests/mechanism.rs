//! The private step: what it bounds, what it adds, what it divides by.

use muffle::mechanism::clip;
use muffle::noise::Key;
use muffle::optimizer::GradientDescent;
use muffle_nn::initialise::{SplitMix, initial_parameters};
use muffle_nn::{Batch, Engine, Loss, Network, Options, Purpose, models};
use std::sync::Arc;

const LOSS: Loss = Loss::SoftmaxCrossEntropy;

struct Setting {
    network: Arc<Network>,
    parameters: Vec<f32>,
    engine: Engine,
}

impl Setting {
    fn new() -> Setting {
        let network = Arc::new(models::model("cnn-small").unwrap().network().unwrap());
        let parameters = initial_parameters(&network, 1);
        let engine = Engine::new(network.clone(), Options::new(Purpose::PerExample)).unwrap();
        Setting { network, parameters, engine }
    }

    fn batch(&self, examples: usize, scale: f32) -> Batch {
        let mut generator = SplitMix::new(9);
        let inputs = (0..examples * self.network.input().len()).map(|_| scale * generator.normal()).collect();
        Batch::new(inputs, (0..examples).map(|example| example as u32 % 10).collect())
    }

    /// The released gradient of a batch.
    fn release(&mut self, batch: &Batch, threshold: f32, noise_multiplier: f32, divisor: f32) -> Vec<f32> {
        let clipped = clip(&mut self.engine, &self.parameters, batch, LOSS, 0, threshold).unwrap();
        let (released, _) = clipped.release(&Key::from_seed(4), 0, noise_multiplier, divisor);
        released.gradient().to_vec()
    }
}

fn norm(values: &[f32]) -> f64 {
    values.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>().sqrt()
}

#[test]
fn one_example_never_passes_the_threshold() {
    let mut setting = Setting::new();
    for scale in [0.1, 1.0, 30.0, 1e4] {
        let batch = setting.batch(1, scale);
        let free = norm(&setting.release(&batch, 1e12, 0.0, 1.0));
        for threshold in [1e-3f32, 0.5, 4.0] {
            let clipped = norm(&setting.release(&batch, threshold, 0.0, 1.0));
            assert!(clipped <= f64::from(threshold), "{clipped} above {threshold} at scale {scale}");
            let expected = free.min(f64::from(threshold));
            assert!((clipped / expected - 1.0).abs() < 1e-4, "{clipped} instead of {expected}");
        }
    }
}

#[test]
fn a_neighbour_changes_the_sum_by_at_most_the_threshold() {
    let mut setting = Setting::new();
    let batch = setting.batch(20, 3.0);
    let with = setting.release(&batch, 0.7, 0.0, 1.0);
    let fewer = setting.batch(19, 3.0);
    let without = setting.release(&fewer, 0.7, 0.0, 1.0);
    let change: Vec<f32> = with.iter().zip(&without).map(|(with, without)| with - without).collect();
    assert!(norm(&change) <= 0.7 * (1.0 + 1e-4), "{}", norm(&change));
    assert!(norm(&change) > 0.1, "the example takes part");
}

#[test]
fn an_example_that_is_not_finite_contributes_nothing() {
    let mut setting = Setting::new();
    let good = setting.batch(4, 1.0);
    let expected = setting.release(&good, 1.0, 0.0, 1.0);
    let mut generator = SplitMix::new(9);
    let width = setting.network.input().len();
    let mut inputs: Vec<f32> = (0..4 * width).map(|_| generator.normal()).collect();
    inputs.extend((0..width).map(|pixel| if pixel == 100 { f32::NAN } else { 0.5 }));
    let spoiled = Batch::new(inputs, vec![0, 1, 2, 3, 4]);
    let clipped = clip(&mut setting.engine, &setting.parameters, &spoiled, LOSS, 0, 1.0).unwrap();
    let (released, outcome) = clipped.release(&Key::from_seed(4), 0, 0.0, 1.0);
    assert_eq!(outcome.excluded.len(), 1);
    assert_eq!((outcome.excluded[0].example, outcome.excluded[0].place.as_str()), (4, "the input"));
    let difference: Vec<f32> =
        released.gradient().iter().zip(&expected).map(|(computed, expected)| computed - expected).collect();
    assert!(norm(&difference) <= 1e-5 * norm(&expected));
}

/// 26,010 coordinates estimate the variance to a relative standard error of √(2/26010) = 0.9 %; ten per cent of scale
/// move it by 19 or 21 %, more than twenty standard errors, and five standard errors are accepted (false alarm 6e-7).
#[test]
fn an_empty_batch_still_gets_noise_of_the_right_scale() {
    let mut setting = Setting::new();
    let empty = Batch::new(Vec::new(), Vec::new());
    let (threshold, noise_multiplier, divisor) = (0.5f32, 1.3f32, 64.0f32);
    let noise = setting.release(&empty, threshold, noise_multiplier, divisor);
    let variance = norm(&noise).powi(2) / noise.len() as f64;
    let accepts = |scale: f64| {
        let deviation = scale * f64::from(noise_multiplier * threshold / divisor);
        (variance / deviation.powi(2) - 1.0).abs() < 5.0 * (2.0 / noise.len() as f64).sqrt()
    };
    assert!(accepts(1.0));
    assert!(!accepts(0.9) && !accepts(1.1));
}

#[test]
fn the_divisor_does_not_depend_on_the_batch() {
    let mut setting = Setting::new();
    let batch = setting.batch(3, 1.0);
    let whole = setting.release(&batch, 1.0, 0.0, 1.0);
    let divided = setting.release(&batch, 1.0, 0.0, 256.0);
    for (whole, divided) in whole.iter().zip(&divided) {
        assert_eq!(whole / 256.0, *divided);
    }
}

#[test]
fn gradient_descent_moves_against_the_released_gradient() {
    let mut setting = Setting::new();
    let batch = setting.batch(8, 1.0);
    let mut moved = setting.parameters.clone();
    let clipped = clip(&mut setting.engine, &setting.parameters, &batch, LOSS, 0, 1.0).unwrap();
    let (released, _) = clipped.release(&Key::from_seed(4), 0, 1.0, 8.0);
    GradientDescent { learning_rate: 0.25 }.step(&mut moved, &released);
    for ((moved, parameter), gradient) in moved.iter().zip(&setting.parameters).zip(released.gradient()) {
        assert_eq!(*moved, parameter - 0.25 * gradient);
    }
}

#[test]
fn two_steps_never_share_their_noise() {
    let mut setting = Setting::new();
    let empty = Batch::new(Vec::new(), Vec::new());
    let mut draw = |step: u64| {
        let clipped = clip(&mut setting.engine, &setting.parameters, &empty, LOSS, 0, 1.0).unwrap();
        clipped.release(&Key::from_seed(4), step, 1.0, 1.0).0.gradient().to_vec()
    };
    let (first, second) = (draw(0), draw(1));
    let equal = first.iter().zip(&second).filter(|(first, second)| first == second).count();
    assert!(equal < 5, "{equal} equal values");
    let product: f64 = first.iter().zip(&second).map(|(a, b)| f64::from(a * b)).sum();
    // Independent standard normals: the sum of n products has a standard deviation of √n; five are accepted.
    assert!(product.abs() < 5.0 * (first.len() as f64).sqrt());
}
