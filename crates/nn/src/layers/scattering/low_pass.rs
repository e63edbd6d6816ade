//! The mean over a neighbourhood at every fourth pixel, as two small products: it is separable.

use super::bank::Filter;
use super::fourier::{LANES, Lane};
use crate::kernel::instructions::vectorised;
use std::f64::consts::TAU;

/// A separable filter, the choice of some of its outputs, and a crop.
pub(super) struct LowPass {
    rows: Weights,
    columns: Weights,
}

/// What every output along one direction takes of every input.
struct Weights {
    inputs: usize,
    outputs: usize,
    /// Output by output.
    values: Vec<f32>,
}

impl Weights {
    /// Every `stride`-th output of a filter that is given by its spectrum, without the first and the last.
    fn new(spectrum: &[f64], stride: usize) -> Weights {
        let inputs = spectrum.len();
        let kernel = |distance: usize| {
            let wave = |(frequency, value): (usize, &f64)| {
                value * (TAU * ((frequency * distance) % inputs) as f64 / inputs as f64).cos()
            };
            spectrum.iter().enumerate().map(wave).sum::<f64>() / inputs as f64
        };
        let kernel: Vec<f32> = (0..inputs).map(|distance| kernel(distance) as f32).collect();
        let outputs = inputs / stride - 2;
        let output = |output: usize| {
            let kernel = &kernel;
            (0..inputs).map(move |input| kernel[((output + 1) * stride + inputs - input) % inputs])
        };
        Weights { inputs, outputs, values: (0..outputs).flat_map(output).collect() }
    }

    fn of(&self, output: usize) -> &[f32] {
        &self.values[output * self.inputs..][..self.inputs]
    }
}

impl LowPass {
    /// A filter whose spectrum is a product of one for rows and one for columns.
    pub fn new(filter: &Filter, stride: usize) -> LowPass {
        let Filter { height, width, values } = filter;
        let down: Vec<f64> = (0..*height).map(|u| values[u * width] / values[0]).collect();
        LowPass { rows: Weights::new(&down, stride), columns: Weights::new(&values[..*width], stride) }
    }

    /// Calls `take` with every output of the planes, by its place.
    pub fn apply(&self, plane: &[Lane], work: &mut [Lane], mut take: impl FnMut(usize, &Lane)) {
        let width = self.columns.inputs;
        for y in 0..self.rows.outputs {
            let row = &mut work[..width];
            row.fill([0.0; LANES]);
            for (weight, values) in self.rows.of(y).iter().zip(plane.chunks_exact(width)) {
                add(row, *weight, values);
            }
            for x in 0..self.columns.outputs {
                take(y * self.columns.outputs + x, &dot(self.columns.of(x), row));
            }
        }
    }

    /// Adds to `plane` what the outputs, asked for by their places, carry back to it.
    pub fn carry_back(&self, plane: &mut [Lane], work: &mut [Lane], give: impl Fn(usize) -> Lane) {
        let width = self.columns.inputs;
        for y in 0..self.rows.outputs {
            let row = &mut work[..width];
            row.fill([0.0; LANES]);
            for x in 0..self.columns.outputs {
                spread(row, self.columns.of(x), &give(y * self.columns.outputs + x));
            }
            for (weight, values) in self.rows.of(y).iter().zip(plane.chunks_exact_mut(width)) {
                add(values, *weight, row);
            }
        }
    }
}

vectorised! {
    fn add(row: &mut [Lane], weight: f32, values: &[Lane]) {
        for (row, value) in row.as_flattened_mut().iter_mut().zip(values.as_flattened()) {
            *row += weight * value;
        }
    }

    fn dot(weights: &[f32], row: &[Lane]) -> Lane {
        let mut sum = [0.0; LANES];
        for (weight, value) in weights.iter().zip(row) {
            for lane in 0..LANES {
                sum[lane] += weight * value[lane];
            }
        }
        sum
    }

    fn spread(row: &mut [Lane], weights: &[f32], value: &Lane) {
        for (weight, row) in weights.iter().zip(row) {
            for lane in 0..LANES {
                row[lane] += weight * value[lane];
            }
        }
    }
}
