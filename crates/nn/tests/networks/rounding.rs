//! Sums over groups of records are off by no more than is said, whatever the records are: those above all whose terms are large and
//! cancel, so that the norm of their gradient says nothing of what rounding does to it.

use crate::common::layer_run::run_weighted;
use muffle_nn::config::LayerConfig;
use muffle_nn::initialise::SplitMix;
use muffle_nn::layer::{Layer, Summation};
use muffle_nn::layers::window::Extent;
use muffle_nn::rounding::{SMALL_GROUP, SMALL_GROUP_ROUNDINGS};
use muffle_nn::{Purpose, Shape};

/// What a group may be off by, as a part of the bound of one record.
const SAID: f64 = (SMALL_GROUP * SMALL_GROUP_ROUNDINGS) as f64 / (1 << 24) as f64;

/// Brings a gradient of this squared norm to norm one.
fn factor(squared_norm: f64) -> f32 {
    if squared_norm > 0.0 { squared_norm.sqrt().recip() as f32 } else { 0.0 }
}

/// What flows into a layer, and the gradient that comes back, for one record.
struct Record {
    input: Vec<f32>,
    upstream: Vec<f32>,
}

/// Terms over positions that cancel: a large one, many that are lost beside it or rounded up, and the large one again with the other
/// sign.
fn cancelling(positions: usize, share: f32) -> Vec<f32> {
    let mut weights = vec![share / (1 << 24) as f32; positions];
    weights[0] = 1.0;
    weights[positions - 1] = -1.0;
    weights
}

/// Random terms of which the last takes away the others.
fn balanced(positions: usize, generator: &mut SplitMix) -> Vec<f32> {
    let mut weights: Vec<f32> = (0..positions - 1).map(|_| generator.normal()).collect();
    weights.push(-weights.iter().sum::<f32>());
    weights
}

/// Vectors over channels, times a weight for each position.
fn spread(weights: &[f32], vector: &[f32]) -> Vec<f32> {
    weights.iter().flat_map(|weight| vector.iter().map(move |value| weight * value)).collect()
}

/// The same vector for every record.
fn same_signs(len: usize) -> Vec<f32> {
    (0..len).map(|index| if index.is_multiple_of(3) { -1.0 } else { 1.0 }).collect()
}

/// A group of records of several kinds, for a layer with so many positions and channels on both sides.
fn group(kind: usize, inputs: [usize; 2], outputs: [usize; 2]) -> Vec<Record> {
    let mut generator = SplitMix::new(kind as u64);
    let mut vector =
        |len: usize, scale: f32| -> Vec<f32> { (0..len).map(|_| scale * generator.normal()).collect() };
    let record = |number: usize| {
        let ([positions, features], [places, width]) = (inputs, outputs);
        let size = 2f32.powi(number as i32 % 9 - 4);
        match kind {
            // Nothing cancels.
            0 => Record { input: vector(positions * features, size), upstream: vector(places * width, 1.0) },
            // In all records the same values are lost.
            1 | 2 => Record {
                input: spread(&vec![size; positions], &same_signs(features)),
                upstream: spread(&cancelling(places, [0.6, 0.9][kind - 1]), &same_signs(width)),
            },
            3 => Record {
                input: spread(&vec![1.0; positions], &vector(features, size)),
                upstream: spread(&balanced(places, &mut SplitMix::new(number as u64)), &vector(width, 1.0)),
            },
            // Large values beside a gradient of nothing.
            _ => {
                let mut record =
                    Record { input: vector(positions * features, 1e3), upstream: vec![0.0; places * width] };
                let side = positions.isqrt();
                for position in (0..positions).filter(|position| position / side < 3 && position % side < 3) {
                    record.input[position * features..][..features].fill(0.0);
                }
                record.upstream[..width].copy_from_slice(&vector(width, 1.0));
                record
            }
        }
    };
    (0..SMALL_GROUP).map(record).collect()
}

/// How far the sum of a layer's first tensor is from what `exact` adds up in double precision, record by record.
fn off(
    layer: &dyn Layer,
    parameters: &[f32],
    group: &[Record],
    exact: &dyn Fn(&Record, f64, &mut [f64]),
) -> f64 {
    assert_eq!(layer.summation(), Summation::Terms);
    let all = |part: fn(&Record) -> &[f32]| -> Vec<f32> { group.iter().flat_map(part).copied().collect() };
    let (inputs, upstream) = (all(|record| &record.input), all(|record| &record.upstream));
    let run = run_weighted(layer, Purpose::PerExample, parameters, &inputs, &upstream, &factor);
    let len = layer.tensors()[0].len();
    let mut sum = vec![0.0; len];
    for (record, norm) in group.iter().zip(&run.norms) {
        exact(record, f64::from(factor(*norm)), &mut sum);
    }
    let errors =
        run.gradient[..len].iter().zip(&sum).map(|(found, exact)| (f64::from(*found) - exact).powi(2));
    errors.sum::<f64>().sqrt()
}

/// Adds a multiple of an outer product.
fn add_product(sum: &mut [f64], factor: f64, rows: &[f32], columns: &[f32]) {
    for (sum, row) in sum.chunks_exact_mut(columns.len()).zip(rows) {
        let row = factor * f64::from(*row);
        sum.iter_mut().zip(columns).for_each(|(sum, column)| *sum += row * f64::from(*column));
    }
}

#[test]
fn dense_layers_over_sequences() {
    let (steps, features) = (90, 257);
    let layer = LayerConfig::Dense { features, bias: true };
    let layer = layer.build("layer", Shape::Sequence { steps, features }).unwrap();
    let parameters = vec![0.0; features * (features + 1)];
    let exact = |record: &Record, factor: f64, sum: &mut [f64]| {
        for (input, upstream) in record.input.chunks(features).zip(record.upstream.chunks(features)) {
            add_product(sum, factor, upstream, input);
        }
    };
    for kind in 0..5 {
        let off = off(&*layer, &parameters, &group(kind, [steps, features], [steps, features]), &exact);
        assert!(off < SAID, "records of kind {kind}: {off}, of {SAID}");
    }
}

/// Weights of zero, and forget gates that are shut: the gradient of the cell's gate is a quarter of that of the output.
#[test]
fn recurrent_layers() {
    let (steps, features, units) = (100, 20, 24);
    let layer = LayerConfig::Lstm { features: units, sequence: true };
    let layer = layer.build("layer", Shape::Sequence { steps, features }).unwrap();
    let mut parameters = vec![0.0; 4 * units * (features + units + 2)];
    parameters[4 * units * (features + units) + units..][..units].fill(-1000.0);
    let exact = |record: &Record, factor: f64, sum: &mut [f64]| {
        let sum = &mut sum[2 * units * features..3 * units * features];
        for (input, upstream) in record.input.chunks(features).zip(record.upstream.chunks(units)) {
            add_product(sum, 0.25 * factor, upstream, input);
        }
    };
    for kind in 0..5 {
        let off = off(&*layer, &parameters, &group(kind, [steps, features], [steps, units]), &exact);
        assert!(off < SAID, "records of kind {kind}: {off}, of {SAID}");
    }
}

/// By the gather product, and by Winograd's algorithm.
#[test]
fn convolutions_by_gram_matrices() {
    for (channels, outputs, side, kernel, stride) in
        [(257, 257, 9, 1, 1), (64, 128, 8, 3, 2), (64, 128, 8, 3, 1), (65, 130, 7, 3, 1)]
    {
        let layer = LayerConfig::Conv2d {
            channels: outputs,
            kernel: Extent::Square(kernel),
            stride: Extent::Square(stride),
            padding: Extent::Square(kernel / 2),
            groups: 1,
            bias: true,
        };
        let layer = layer.build("layer", Shape::image(channels, side, side)).unwrap();
        let parameters = vec![0.0; layer.tensors().iter().map(|tensor| tensor.len()).sum()];
        let output_side = side.div_ceil(stride);
        let exact = |record: &Record, factor: f64, sum: &mut [f64]| {
            for (place, upstream) in record.upstream.chunks(outputs).enumerate() {
                for (tap, sum) in sum.chunks_exact_mut(channels * outputs).enumerate() {
                    let row = (place / output_side * stride + tap / kernel).wrapping_sub(kernel / 2);
                    let column = (place % output_side * stride + tap % kernel).wrapping_sub(kernel / 2);
                    if row < side && column < side {
                        let pixel = &record.input[(row * side + column) * channels..][..channels];
                        add_product(sum, factor, pixel, upstream);
                    }
                }
            }
        };
        for kind in 0..5 {
            let group = group(kind, [side * side, channels], [output_side * output_side, outputs]);
            let off = off(&*layer, &parameters, &group, &exact);
            assert!(
                off < SAID,
                "{kernel}x{kernel} over {side}x{side}, records of kind {kind}: {off}, of {SAID}"
            );
        }
    }
}
