//! Depthwise convolution: every channel has a filter of its own, so channels are what runs in parallel.

use crate::kernel::channels::{strip, strips};
use crate::kernel::elementwise::squared_norm;
use crate::kernel::instructions::vectorised;
use crate::layer::RelevanceRule;
use crate::layer::{Backward, Factors, Forward, Gradients, Layer, Pass, Purpose, Summation, Tensor};
use crate::layers::filters::Filters;
use crate::layers::kept::Kept;
use crate::layers::pixel_bias;
use crate::layers::window::{Window, meets};
use crate::shape::Shape;

/// A convolution with as many groups as channels. Weights are stored height, width, channel.
pub struct DepthwiseConv2d {
    filters: Filters,
}

impl DepthwiseConv2d {
    /// One output channel for each input channel.
    pub fn new(window: Window, bias: bool) -> DepthwiseConv2d {
        let channels = window.channels;
        DepthwiseConv2d { filters: Filters { window, groups: channels, outputs: channels, bias } }
    }

    /// Values on the tape for each example: the gradients of weight and bias, small enough to keep.
    fn block(&self, pass: &Pass) -> usize {
        let kept = self.filters.weight_len() + self.filters.bias_len();
        if pass.purpose == Purpose::PerExample { kept } else { 0 }
    }
}

vectorised! {
    fn forward(window: &Window, weight: &[f32], bias: Option<&[f32]>, input: &[f32], output: &mut [f32]) {
        strips!(window.channels, forward_of(window, weight, bias, input, output));
    }
}

#[inline(always)]
fn forward_of<const LANES: usize>(
    window: &Window,
    weight: &[f32],
    bias: Option<&[f32]>,
    input: &[f32],
    output: &mut [f32],
    first: usize,
) {
    let channels = window.channels;
    let start = bias.map_or([0.0; LANES], |bias| strip::<LANES>(bias, first));
    for row in 0..window.output_height {
        let rows = window.rows(row);
        for column in 0..window.output_width {
            let columns = window.columns(column);
            let mut sum = start;
            for y in rows.clone() {
                let tap_row = (y + window.padding.0 - row * window.stride.0) * window.kernel_width;
                for x in columns.clone() {
                    let tap = tap_row + x + window.padding.1 - column * window.stride.1;
                    let pixel = strip::<LANES>(input, (y * window.width + x) * channels + first);
                    let weight = strip::<LANES>(weight, tap * channels + first);
                    for lane in 0..LANES {
                        sum[lane] += pixel[lane] * weight[lane];
                    }
                }
            }
            let at = (row * window.output_width + column) * channels + first;
            output[at..at + LANES].copy_from_slice(&sum);
        }
    }
}

vectorised! {
    /// Adds `weight · upstream` to every pixel under each window.
    fn backward(window: &Window, weight: &[f32], upstream: &[f32], downstream: &mut [f32]) {
        strips!(window.channels, backward_of(window, weight, upstream, downstream));
    }
}

#[inline(always)]
fn backward_of<const LANES: usize>(
    window: &Window,
    weight: &[f32],
    upstream: &[f32],
    downstream: &mut [f32],
    first: usize,
) {
    let channels = window.channels;
    for row in 0..window.output_height {
        for column in 0..window.output_width {
            let at = (row * window.output_width + column) * channels + first;
            let gradient = strip::<LANES>(upstream, at);
            for y in window.rows(row) {
                let tap_row = (y + window.padding.0 - row * window.stride.0) * window.kernel_width;
                for x in window.columns(column) {
                    let tap = tap_row + x + window.padding.1 - column * window.stride.1;
                    let weight = strip::<LANES>(weight, tap * channels + first);
                    let at = (y * window.width + x) * channels + first;
                    let mut pixel = strip::<LANES>(downstream, at);
                    for lane in 0..LANES {
                        pixel[lane] += gradient[lane] * weight[lane];
                    }
                    downstream[at..at + LANES].copy_from_slice(&pixel);
                }
            }
        }
    }
}

vectorised! {
    /// Adds `factor` times one example's weight gradient.
    fn weight_gradient(window: &Window, input: &[f32], upstream: &[f32], factor: f32, gradient: &mut [f32]) {
        strips!(window.channels, weight_gradient_of(window, input, upstream, factor, gradient));
    }
}

#[inline(always)]
fn weight_gradient_of<const LANES: usize>(
    window: &Window,
    input: &[f32],
    upstream: &[f32],
    factor: f32,
    gradient: &mut [f32],
    first: usize,
) {
    let (channels, stride, padding) = (window.channels, window.stride, window.padding);
    for tap in 0..window.taps() {
        let (down, right) = (tap / window.kernel_width, tap % window.kernel_width);
        let mut sum = [0.0f32; LANES];
        let columns = meets(right, stride.1, padding.1, window.width, window.output_width);
        for row in meets(down, stride.0, padding.0, window.height, window.output_height) {
            let y = row * stride.0 + down - padding.0;
            for column in columns.clone() {
                let x = column * stride.1 + right - padding.1;
                let pixel = strip::<LANES>(input, (y * window.width + x) * channels + first);
                let at = (row * window.output_width + column) * channels + first;
                let upstream = strip::<LANES>(upstream, at);
                for lane in 0..LANES {
                    sum[lane] += pixel[lane] * upstream[lane];
                }
            }
        }
        let target = &mut gradient[tap * channels + first..][..LANES];
        for (target, sum) in target.iter_mut().zip(sum) {
            *target += factor * sum;
        }
    }
}

impl Layer for DepthwiseConv2d {
    fn kind(&self) -> &'static str {
        "conv2d"
    }

    fn output(&self) -> Shape {
        self.filters.output()
    }

    fn tensors(&self) -> Vec<Tensor> {
        self.filters.tensors()
    }

    fn multiply_adds(&self) -> u64 {
        self.filters.multiply_adds()
    }

    fn tape_len(&self, pass: &Pass) -> usize {
        pass.batch * self.block(pass)
    }

    fn scratch_len(&self, _pass: &Pass) -> usize {
        self.filters.bias_len()
    }

    fn forward(&self, Forward { weights, input, output, .. }: Forward) {
        let (weight, bias) = weights.parameters.split_at(self.filters.weight_len());
        let examples = input
            .chunks_exact(self.filters.window.input_len())
            .zip(output.chunks_exact_mut(self.filters.output_len()));
        for (input, output) in examples {
            forward(&self.filters.window, weight, self.filters.bias.then_some(bias), input, output);
        }
    }

    fn backward(&self, Backward { weights, upstream, downstream, .. }: Backward) {
        let Some(downstream) = downstream else { return };
        downstream.fill(0.0);
        let weight = &weights.parameters[..self.filters.weight_len()];
        let examples = upstream
            .chunks_exact(self.filters.output_len())
            .zip(downstream.chunks_exact_mut(self.filters.window.input_len()));
        for (upstream, downstream) in examples {
            backward(&self.filters.window, weight, upstream, downstream);
        }
    }

    fn squared_norms(&self, Gradients { pass, input, upstream, memory }: Gradients, norms: &mut [f64]) {
        let (weight_norms, bias_norms) = norms.split_at_mut(pass.batch);
        let examples = input
            .chunks_exact(self.filters.window.input_len())
            .zip(upstream.chunks_exact(self.filters.output_len()));
        let blocks = memory.tape.chunks_exact_mut(self.block(pass));
        for (example, ((input, upstream), block)) in examples.zip(blocks).enumerate() {
            let (weight, bias) = block.split_at_mut(self.filters.weight_len());
            weight.fill(0.0);
            weight_gradient(&self.filters.window, input, upstream, 1.0, weight);
            weight_norms[example] = squared_norm(weight);
            if self.filters.bias {
                bias_norms[example] = pixel_bias::example_gradient(upstream, bias);
            }
        }
    }

    fn summation(&self) -> Summation {
        Summation::Vectors
    }

    fn accumulate(
        &self,
        Gradients { pass, input, upstream, memory }: Gradients,
        factors: Factors,
        gradient: &mut [f32],
    ) {
        if pass.purpose == Purpose::PerExample {
            let block = self.block(pass);
            let (weight_len, bias_len) = (self.filters.weight_len(), self.filters.bias_len());
            Kept { tape: memory.tape, block, first: 0, weight_len, bias_len }.accumulate(factors, gradient);
            return;
        }
        let (weight, bias) = gradient.split_at_mut(self.filters.weight_len());
        for example in factors.examples() {
            let input =
                &input[example * self.filters.window.input_len()..][..self.filters.window.input_len()];
            let upstream = &upstream[example * self.filters.output_len()..][..self.filters.output_len()];
            weight_gradient(&self.filters.window, input, upstream, factors.at(0, example), weight);
        }
        if self.filters.bias {
            pixel_bias::accumulate(upstream, self.filters.output_len(), factors, bias, memory.scratch);
        }
    }

    fn relevance(&self) -> Option<RelevanceRule> {
        Some(RelevanceRule::Proportional)
    }
}
