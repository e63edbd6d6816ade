//! Norms must not come out too small, where the terms of a gradient cancel, where there are very many of them, or where they
//! are next to nothing: whoever clips by them would let too much through.

use crate::common::layer_run::run;
use muffle_nn::config::LayerConfig;
use muffle_nn::initialise::SplitMix;
use muffle_nn::layer::Layer;
use muffle_nn::layers::window::Extent;
use muffle_nn::{Purpose, Shape};

/// What a told squared norm may be below that of the gradient that is then summed, relative.
const MARGIN: f64 = 5e-6;

/// Runs one example and compares the norms that are told with the gradient that is summed.
fn holds(layer: &dyn Layer, inputs: &[f32], upstream: &[f32], case: &str) {
    let mut generator = SplitMix::new(5);
    let count: usize = layer.tensors().iter().map(|tensor| tensor.len()).sum();
    let parameters: Vec<f32> = (0..count).map(|_| 0.01 * generator.normal()).collect();
    let found = run(layer, Purpose::PerExample, &parameters, inputs, upstream);
    let mut first = 0;
    for (index, tensor) in layer.tensors().iter().enumerate() {
        let summed = &found.gradient[first..first + tensor.len()];
        first += tensor.len();
        let squared: f64 = summed.iter().map(|value| f64::from(*value).powi(2)).sum();
        let told = found.norms[index];
        assert!(
            told >= squared * (1.0 - MARGIN),
            "{case}, {}: told {told}, summed {squared}, {:e} too little",
            tensor.name,
            1.0 - told / squared
        );
        // Nor may it be much too large, as long as single precision has a say.
        assert!(told <= 1.5 * squared + 1e-30 || case.contains("share"), "{case}, {}: {told}", tensor.name);
    }
}

/// A layer that maps every one of `positions` pixels or steps by itself: all of them are multiples of one vector, and the
/// upstream gradients, multiples of another, are chosen such that the sum of all outer products cancels up to a share.
fn check(config: &LayerConfig, input: Shape, positions: usize, features: usize) {
    let layer = config.build("layer", input).unwrap();
    let mut generator = SplitMix::new(5);
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
        holds(&*layer, &inputs, &upstream, &format!("{positions} positions of size {size}, share {share}"));
    }
}

fn conv(channels: usize, side: usize, padding: usize, groups: usize) -> LayerConfig {
    LayerConfig::Conv2d {
        channels,
        kernel: Extent::Square(side),
        stride: Extent::Square(1),
        padding: Extent::Square(padding),
        groups,
        bias: true,
    }
}

/// Equal inputs, and equal upstream gradients: every sum is as long as it can be, and all of its roundings may be of one sign.
fn check_equal(config: &LayerConfig, input: Shape, case: &str) {
    let layer = config.build("layer", input).unwrap();
    for (value, gradient) in [(0.7, 0.3), (1.1, -0.013)] {
        let (inputs, upstream) = (vec![value; input.len()], vec![gradient; layer.output().len()]);
        holds(&*layer, &inputs, &upstream, &format!("{case} of {value} and {gradient}"));
    }
}

#[test]
fn convolutions_by_gram_matrices() {
    for (channels, side) in [(64, 3), (128, 4), (512, 5)] {
        check(&conv(128, 1, 0, 1), Shape::image(channels, side, side), side * side, channels);
    }
}

#[test]
fn dense_layers_over_sequences() {
    for steps in [50, 200, 1024] {
        check(
            &LayerConfig::Dense { features: 64, bias: true },
            Shape::Sequence { steps, features: 64 },
            steps,
            64,
        );
    }
}

#[test]
fn long_sums_of_equal_terms() {
    let dense = LayerConfig::Dense { features: 3, bias: true };
    for steps in [200, 784, 1_500] {
        check_equal(&dense, Shape::Sequence { steps, features: 5 }, &format!("{steps} steps"));
    }
    let lstm = LayerConfig::Lstm { features: 3, sequence: true };
    for steps in [28, 1_000] {
        check_equal(&lstm, Shape::Sequence { steps, features: 5 }, &format!("an LSTM over {steps} steps"));
    }
    let gru = LayerConfig::Gru { features: 3, sequence: true };
    for steps in [28, 1_000] {
        check_equal(&gru, Shape::Sequence { steps, features: 5 }, &format!("a GRU over {steps} steps"));
    }
    let attention = LayerConfig::MultiHeadAttention { heads: 2, causal: true };
    check_equal(&attention, Shape::Sequence { steps: 200, features: 6 }, "attention over 200 steps");
    let conv1d = LayerConfig::Conv1d { channels: 4, kernel: 3, stride: 1, padding: 1, bias: true };
    check_equal(&conv1d, Shape::Sequence { steps: 2_000, features: 5 }, "a convolution of 2000 steps");
    check_equal(&dense, Shape::Vector(1 << 18), "a dense layer of 262144 inputs");
    // Every pixel of a large image under one bias; and gradients that are kept and many.
    check_equal(&conv(2, 1, 0, 1), Shape::image(1, 512, 512), "a convolution of 262144 pixels");
    check_equal(&conv(2, 1, 0, 2), Shape::image(2, 512, 512), "a depthwise convolution of 262144 pixels");
    check_equal(&conv(128, 3, 1, 1), Shape::image(64, 16, 16), "a convolution of 16 by 16 pixels");
    check_equal(&conv(64, 2, 0, 1), Shape::image(64, 30, 30), "a convolution of 29 by 29 pixels");
    let transposed = LayerConfig::ConvTranspose2d {
        channels: 2,
        kernel: Extent::Square(2),
        stride: Extent::Square(2),
        padding: Extent::Square(0),
        output_padding: Extent::Square(0),
        bias: true,
    };
    check_equal(&transposed, Shape::image(1, 256, 256), "a transposed convolution to 262144 pixels");
    check_equal(
        &LayerConfig::LayerNorm { affine: true },
        Shape::Sequence { steps: 2_000, features: 5 },
        "layer norm",
    );
    let embedding = LayerConfig::Embedding { tokens: 2, features: 3, padding: None }
        .build("layer", Shape::Vector(1_000))
        .unwrap();
    holds(&*embedding, &[1.0; 1_000], &[0.3; 3_000], "1000 tokens of one kind");
    let bag = LayerConfig::EmbeddingBag { tokens: 3, features: 3, padding: Some(2) };
    let tokens: Vec<f32> = (0..999).map(|place| (place % 3) as f32).collect();
    holds(&*bag.build("layer", Shape::Vector(999)).unwrap(), &tokens, &[0.3; 3], "the mean of 666 tokens");
}

/// Gradients far below one, whose squares single precision does not have.
#[test]
fn gradients_that_are_next_to_nothing() {
    let layers = [
        (LayerConfig::Dense { features: 9, bias: true }, Shape::Vector(20)),
        (LayerConfig::Dense { features: 9, bias: true }, Shape::Sequence { steps: 7, features: 20 }),
        (LayerConfig::Lstm { features: 6, sequence: true }, Shape::Sequence { steps: 7, features: 5 }),
        (LayerConfig::Gru { features: 6, sequence: true }, Shape::Sequence { steps: 7, features: 5 }),
        (
            LayerConfig::MultiHeadAttention { heads: 2, causal: false },
            Shape::Sequence { steps: 7, features: 6 },
        ),
        (LayerConfig::PositionEmbedding, Shape::Sequence { steps: 7, features: 5 }),
        (conv(4, 3, 1, 1), Shape::image(3, 8, 8)),
        (conv(128, 1, 0, 1), Shape::image(64, 3, 3)),
        (conv(64, 3, 1, 1), Shape::image(64, 4, 4)),
        (conv(16, 3, 1, 1), Shape::image(16, 16, 16)),
        (conv(4, 3, 1, 4), Shape::image(4, 6, 6)),
        (LayerConfig::GroupNorm { groups: 2, affine: true }, Shape::image(4, 5, 5)),
        (LayerConfig::LayerNorm { affine: true }, Shape::Vector(12)),
        (LayerConfig::Embedding { tokens: 30, features: 3, padding: None }, Shape::Vector(8)),
    ];
    for (config, shape) in layers {
        let layer = config.build("layer", shape).unwrap();
        let embeds = matches!(config, LayerConfig::Embedding { .. });
        for exponent in [0, -20, -40, -60, -64, -68, -72, -80, -100, -120] {
            let mut generator = SplitMix::new(3);
            let input = |_| if embeds { generator.uniform() as f32 * 9.0 } else { generator.normal() };
            let inputs: Vec<f32> =
                (0..shape.len()).map(input).map(|x: f32| if embeds { x.floor() } else { x }).collect();
            let scale = 2f32.powi(exponent);
            let upstream: Vec<f32> = (0..layer.output().len()).map(|_| scale * generator.normal()).collect();
            // A share, since what has no squares is guarded by what it could have been.
            holds(&*layer, &inputs, &upstream, &format!("{config:?}, 2^{exponent}, share"));
        }
    }
}

/// Pixels that have nothing to do with the gradient, in one tile with those that have.
#[test]
fn tiles_with_large_values_beside_the_gradient() {
    for (channels, side, kernel) in [(64, 4, 3), (64, 6, 3), (64, 8, 3), (128, 4, 5), (256, 8, 3)] {
        let shape = Shape::image(channels, side, side);
        let layer = conv(channels, kernel, kernel / 2, 1).build("layer", shape).unwrap();
        for seed in 0..4 {
            let mut generator = SplitMix::new(seed);
            let (height, width) = (side, side);
            let reached = |pixel: usize| pixel / width <= kernel / 2 && pixel % width <= kernel / 2;
            let mut inputs = Vec::new();
            for pixel in 0..height * width {
                let size = if reached(pixel) { 0.0 } else { 1000.0 };
                inputs.extend((0..channels).map(|_| size * generator.normal()));
            }
            let mut upstream = vec![0.0; layer.output().len()];
            upstream[..channels].fill_with(|| generator.normal());
            holds(&*layer, &inputs, &upstream, &format!("{channels} channels, {side} by {side}, share"));
        }
    }
}
