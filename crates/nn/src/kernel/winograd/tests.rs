//! Every method against the direct convolution in double precision.

use std::ops::Range;

use proptest::prelude::*;

use super::{Line, Winograd};
use crate::kernel::instructions::forced::{Forced, with};

/// The largest relative error, in the Euclidean norm, that a method may make.
const TOLERANCE: f64 = 2e-6;

/// The same for images of a few pixels, where most of every tile lies outside and still adds its rounding errors.
const TOLERANCE_AT_EDGES: f64 = 5e-6;

#[derive(Clone, Copy, Debug)]
struct Shape {
    height: usize,
    width: usize,
    in_channels: usize,
    out_channels: usize,
    kernel: usize,
    padding: usize,
    batch: usize,
}

impl Shape {
    fn winograd(&self) -> Winograd {
        let &Shape { height, width, in_channels, out_channels, kernel, padding, .. } = self;
        Winograd::new(height, width, in_channels, out_channels, kernel, padding)
    }

    fn input_len(&self) -> usize {
        self.batch * self.height * self.width * self.in_channels
    }

    fn output_len(&self) -> usize {
        let (height, width) = self.winograd().output_size();
        self.batch * height * width * self.out_channels
    }

    fn weights_len(&self) -> usize {
        self.kernel * self.kernel * self.in_channels * self.out_channels
    }

    /// Visits every multiplication of the convolution: its example, and where in input, weights and output its numbers
    /// lie.
    fn each_product(&self, mut visit: impl FnMut(usize, usize, usize, usize)) {
        let (height, width) = self.winograd().output_size();
        for example in 0..self.batch {
            for (row, column) in pairs(height, width) {
                for (tap_row, tap_column) in pairs(self.kernel, self.kernel) {
                    let input_row = (row + tap_row).wrapping_sub(self.padding);
                    let input_column = (column + tap_column).wrapping_sub(self.padding);
                    if input_row >= self.height || input_column >= self.width {
                        continue;
                    }
                    let input = (example * self.height + input_row) * self.width + input_column;
                    let output = (example * height + row) * width + column;
                    let tap = tap_row * self.kernel + tap_column;
                    for (from, to) in pairs(self.in_channels, self.out_channels) {
                        let input = input * self.in_channels + from;
                        let weight = (tap * self.in_channels + from) * self.out_channels + to;
                        visit(example, input, weight, output * self.out_channels + to);
                    }
                }
            }
        }
    }
}

fn pairs(rows: usize, columns: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..rows).flat_map(move |row| (0..columns).map(move |column| (row, column)))
}

fn numbers(length: usize, seed: u64) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / (1 << 23) as f32 - 1.0
    };
    (0..length).map(|_| next()).collect()
}

fn relative_error(found: &[f32], expected: &[f64]) -> f64 {
    assert_eq!(found.len(), expected.len());
    let difference: f64 =
        found.iter().zip(expected).map(|(&found, expected)| (f64::from(found) - expected).powi(2)).sum();
    let size: f64 = expected.iter().map(|expected| expected.powi(2)).sum();
    (difference / size.max(f64::MIN_POSITIVE)).sqrt()
}

/// Scratch memory as another call may have left it.
fn used_scratch(winograd: &Winograd) -> Vec<Line> {
    vec![Line([f32::NAN; 16]); winograd.scratch_len()]
}

/// Relative errors of forward, backward_input and weight_gradient.
fn errors(shape: &Shape, examples: Range<usize>, factors: Option<&[f32]>, seed: u64) -> [f64; 3] {
    let winograd = shape.winograd();
    let input = numbers(shape.input_len(), seed);
    let weights = numbers(shape.weights_len(), seed + 1);
    let upstream = numbers(shape.output_len(), seed + 2);
    let before = numbers(shape.weights_len(), seed + 3);

    let mut transformed = vec![Line([f32::NAN; 16]); winograd.transformed_weights_len()];
    winograd.transform_weights(&weights, &mut transformed);
    let mut output = vec![f32::NAN; upstream.len()];
    winograd.forward(&transformed, &input, shape.batch, &mut output, &mut used_scratch(&winograd));
    let mut downstream = vec![f32::NAN; input.len()];
    winograd.backward_input(
        &transformed,
        &upstream,
        shape.batch,
        &mut downstream,
        &mut used_scratch(&winograd),
    );
    let mut gradient = before.clone();
    let scratch = &mut used_scratch(&winograd);
    winograd.weight_gradient(&input, &upstream, examples.clone(), factors, &mut gradient, scratch);

    let mut exact_output = vec![0.0; output.len()];
    let mut exact_downstream = vec![0.0; downstream.len()];
    let mut exact_gradient: Vec<f64> = before.iter().map(|&value| f64::from(value)).collect();
    shape.each_product(|example, from, weight, to| {
        exact_output[to] += f64::from(input[from]) * f64::from(weights[weight]);
        exact_downstream[from] += f64::from(upstream[to]) * f64::from(weights[weight]);
        if examples.contains(&example) {
            let factor = factors.map_or(1.0, |factors| f64::from(factors[example]));
            exact_gradient[weight] += factor * f64::from(input[from]) * f64::from(upstream[to]);
        }
    });
    [
        relative_error(&output, &exact_output),
        relative_error(&downstream, &exact_downstream),
        relative_error(&gradient, &exact_gradient),
    ]
}

fn check(shape: &Shape, examples: Range<usize>, factors: Option<&[f32]>, seed: u64) {
    let tolerance =
        if shape.height.min(shape.width) < 2 * shape.kernel { TOLERANCE_AT_EDGES } else { TOLERANCE };
    for error in errors(shape, examples, factors, seed) {
        assert!(error < tolerance, "relative error {error:e} for {shape:?}");
    }
}

fn shapes() -> impl Strategy<Value = Shape> {
    (
        prop::sample::select(vec![3_usize, 4, 5]),
        1..12_usize,
        1..12_usize,
        1..40_usize,
        1..40_usize,
        1..4_usize,
    )
        .prop_flat_map(|(kernel, height, width, in_channels, out_channels, batch)| {
            let least = (kernel - height.min(width).min(kernel)).div_ceil(2);
            (least..kernel).prop_map(move |padding| Shape {
                height,
                width,
                in_channels,
                out_channels,
                kernel,
                padding,
                batch,
            })
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn agrees_with_direct_convolution(
        shape in shapes(),
        weighted: bool,
        bounds: (prop::sample::Index, prop::sample::Index),
        seed in 0..1_000_000_u64,
    ) {
        let bounds = (bounds.0.index(shape.batch + 1), bounds.1.index(shape.batch + 1));
        let factors = numbers(shape.batch, seed + 4);
        check(&shape, bounds.0.min(bounds.1)..bounds.0.max(bounds.1), weighted.then_some(&factors), seed);
    }

    #[test]
    fn all_instructions_agree_with_direct_convolution(shape in shapes(), seed in 0..1_000_000_u64) {
        for forced in [Forced::Portable, Forced::PortableWide] {
            with(forced, || check(&shape, 0..shape.batch, None, seed));
        }
    }
}

#[test]
fn more_tiles_than_a_block_holds() {
    let shape =
        Shape { height: 19, width: 23, in_channels: 80, out_channels: 70, kernel: 3, padding: 1, batch: 3 };
    check(&shape, 1..3, Some(&[0.5, -2.0, 3.0]), 7);
    check(&Shape { kernel: 4, padding: 0, ..shape }, 0..3, None, 9);
    check(&Shape { kernel: 5, padding: 2, ..shape }, 0..3, None, 8);
}

#[test]
fn deep_layers_are_accurate() {
    for (side, channels, batch) in [(32, 64, 1), (16, 128, 1), (8, 256, 2), (4, 512, 4)] {
        let shape = Shape {
            height: side,
            width: side,
            in_channels: channels,
            out_channels: channels,
            kernel: 3,
            padding: 1,
            batch,
        };
        check(&shape, 0..batch, None, 11);
    }
    let shape =
        Shape { height: 14, width: 14, in_channels: 32, out_channels: 64, kernel: 5, padding: 2, batch: 4 };
    check(&shape, 0..4, None, 12);
}

#[test]
fn gradients_of_single_examples_add_up() {
    let shape =
        Shape { height: 9, width: 6, in_channels: 20, out_channels: 17, kernel: 3, padding: 1, batch: 4 };
    let winograd = shape.winograd();
    let (input, upstream) = (numbers(shape.input_len(), 1), numbers(shape.output_len(), 2));
    let scratch = &mut used_scratch(&winograd);
    let mut together = vec![0.0; shape.weights_len()];
    winograd.weight_gradient(&input, &upstream, 0..4, None, &mut together, scratch);
    let mut sum = vec![0.0; shape.weights_len()];
    for example in 0..4 {
        winograd.weight_gradient(&input, &upstream, example..example + 1, None, &mut sum, scratch);
    }
    let together: Vec<f64> = together.into_iter().map(f64::from).collect();
    assert!(relative_error(&sum, &together) < TOLERANCE);
}

#[test]
#[should_panic(expected = "padding 3 is not less than the kernel size 3")]
fn too_much_padding_is_refused() {
    Winograd::new(8, 8, 1, 1, 3, 3);
}

#[test]
#[should_panic(expected = "length of the input")]
fn wrong_lengths_are_refused() {
    let winograd = Winograd::new(8, 8, 16, 16, 3, 1);
    let transformed = vec![Line::default(); winograd.transformed_weights_len()];
    let scratch = &mut used_scratch(&winograd);
    winograd.forward(&transformed, &[0.0; 8 * 8 * 15], 1, &mut [0.0; 8 * 8 * 16], scratch);
}
