//! Norms must not come out too small when the terms of a gradient cancel: whoever clips by them would let too much through.

mod common;

use common::layer_run::run;
use muffle_nn::config::LayerConfig;
use muffle_nn::initialise::SplitMix;
use muffle_nn::layers::window::Extent;
use muffle_nn::{Purpose, Shape};

/// A layer that maps every one of `positions` pixels or steps by itself: all of them are multiples of one vector, and the
/// upstream gradients, multiples of another, are chosen such that the sum of all outer products cancels up to a share.
fn check(config: &LayerConfig, input: Shape, positions: usize, features: usize) {
    let layer = config.build("layer", input).unwrap();
    let mut generator = SplitMix::new(5);
    let count: usize = layer.tensors().iter().map(|tensor| tensor.len()).sum();
    let parameters: Vec<f32> = (0..count).map(|_| 0.01 * generator.normal()).collect();
    for (size, share) in [(1.0, 1e-2), (10.0, 1e-3), (100.0, 1e-3), (1000.0, 1e-4), (1000.0, 0.0)] {
        let pixel: Vec<f32> = (0..features).map(|_| size * generator.normal()).collect();
        let outputs = layer.output().len() / positions;
        let direction: Vec<f32> = (0..outputs).map(|_| generator.normal()).collect();
        let weights: Vec<f32> = (0..positions).map(|_| 0.5 + generator.uniform() as f32).collect();
        let mut signs: Vec<f32> = (0..positions).map(|_| generator.normal()).collect();
        let rest: f32 = weights.iter().zip(&signs).skip(1).map(|(weight, sign)| weight * sign).sum();
        signs[0] = (share - rest) / weights[0];
        let spread = |factors: &[f32], vector: &[f32]| -> Vec<f32> {
            factors.iter().flat_map(|factor| vector.iter().map(move |value| factor * value)).collect()
        };
        let (inputs, upstream) = (spread(&weights, &pixel), spread(&signs, &direction));
        let found = run(&*layer, Purpose::PerExample, &parameters, &inputs, &upstream);
        let mut first = 0;
        for (index, tensor) in layer.tensors().iter().enumerate() {
            let summed = &found.gradient[first..first + tensor.len()];
            first += tensor.len();
            let squared: f64 = summed.iter().map(|value| f64::from(*value).powi(2)).sum();
            let reported = f64::from(found.norms[index]);
            assert!(
                reported >= squared * (1.0 - 2e-5),
                "{}: reported {reported}, summed {squared} at size {size}, share {share}",
                tensor.name
            );
        }
    }
}

#[test]
fn convolutions_by_gram_matrices() {
    let (one, zero) = (Extent::Square(1), Extent::Square(0));
    for (channels, side) in [(64, 3), (128, 4), (512, 5)] {
        let config = LayerConfig::Conv2d {
            channels: 128,
            kernel: one,
            stride: one,
            padding: zero,
            groups: 1,
            bias: true,
        };
        check(&config, Shape::image(channels, side, side), side * side, channels);
    }
}

#[test]
fn dense_layers_over_sequences() {
    check(
        &LayerConfig::Dense { features: 64, bias: true },
        Shape::Sequence { steps: 50, features: 64 },
        50,
        64,
    );
}
