//! Batch normalisation, for training without privacy: every channel of the batch gets mean zero and variance one.

use crate::error::Result;
use crate::kernel::channels::{Lines, gradient_sums, moments, normalise, pull_back};
use crate::kernel::elementwise::add;
use crate::layer::{
    Backward, Factors, Forward, Gradients, Initial, Layer, Pass, Purpose, RelevanceRule, Role, Tensor,
};
use crate::layers::Context;
use crate::layers::affine::{self, EPSILON};
use crate::shape::Shape;

/// Normalises with the statistics of the batch in training, and with running ones in use.
///
/// An example's output depends on all others, so no example has a gradient of its own. The statistics of a batch
/// travel in the gradient's places for the running ones; [`update_statistics`](crate::running_statistics::update_statistics) takes them from there. An example left
/// out because it is not finite still counts in the statistics, with zeros in place of its input.
///
/// # Source
/// Ioffe and Szegedy 2015, "Batch Normalization", algorithms 1 and 2; PyTorch's `BatchNorm2d` and `BatchNorm1d`.
pub struct BatchNorm {
    shape: Shape,
    channels: usize,
}

impl BatchNorm {
    /// A layer for images, or for vectors as images of one pixel.
    pub fn new(context: &Context) -> Result<BatchNorm> {
        let channels = match context.input {
            Shape::Image { channels, .. } => channels,
            Shape::Vector(features) => features,
            Shape::Sequence { .. } => {
                return context.refuse("it takes an image or a vector; for sequences use `layer-norm`");
            }
        };
        Ok(BatchNorm { shape: context.input, channels })
    }

    /// Mean, inverse deviation and unbiased variance of every channel of the batch.
    fn statistics(&self, input: &[f32], scratch: &mut [f32], statistics: &mut [f32]) {
        let channels = self.channels;
        let count = (input.len() / channels) as f64;
        let shift = &input[..channels];
        let (sums, squares) = scratch[..2 * channels].split_at_mut(channels);
        moments(input, shift, sums, squares);
        for channel in 0..channels {
            let (sum, square) = (f64::from(sums[channel]), f64::from(squares[channel]));
            let squares = square - sum * sum / count;
            let squares = if squares < 0.0 { 0.0 } else { squares };
            statistics[channel] = (f64::from(shift[channel]) + sum / count) as f32;
            statistics[channels + channel] = (1.0 / (squares / count + EPSILON).sqrt()) as f32;
            // A single value has no unbiased variance; its biased one, zero, stands in.
            statistics[2 * channels + channel] = (squares / (count - 1.0).max(1.0)) as f32;
        }
    }
}

impl Layer for BatchNorm {
    fn kind(&self) -> &'static str {
        "batch-norm"
    }

    fn output(&self) -> Shape {
        self.shape
    }

    fn tensors(&self) -> Vec<Tensor> {
        let statistic = |name: &'static str, start: f32| Tensor {
            role: Role::Statistic,
            ..Tensor::new(name, vec![self.channels], Initial::Constant(start))
        };
        let mut tensors = affine::tensors(self.channels);
        tensors.extend([statistic("running_mean", 0.0), statistic("running_var", 1.0)]);
        tensors
    }

    fn mixes_examples(&self) -> bool {
        true
    }

    /// Gradients of scale and shift; mean, inverse deviation and unbiased variance: once for the whole batch.
    fn tape_len(&self, _pass: &Pass) -> usize {
        5 * self.channels
    }

    fn scratch_len(&self, _pass: &Pass) -> usize {
        3 * self.channels
    }

    fn forward(&self, Forward { weights, pass, input, output, memory }: Forward) {
        let channels = self.channels;
        let (weight, rest) = weights.parameters.split_at(channels);
        let (bias, running) = rest.split_at(channels);
        let statistics = &mut memory.tape[2 * channels..];
        if pass.purpose == Purpose::Evaluate {
            let (running_mean, running_variance) = running.split_at(channels);
            let (mean, inverse) = statistics.split_at_mut(channels);
            mean.copy_from_slice(running_mean);
            for (inverse, variance) in inverse.iter_mut().zip(running_variance) {
                *inverse = (1.0 / (f64::from(*variance) + EPSILON).sqrt()) as f32;
            }
        } else {
            self.statistics(input, memory.scratch, statistics);
        }
        let (mean, inverse) = statistics[..2 * channels].split_at(channels);
        let scale = &mut memory.scratch[..channels];
        for ((scale, inverse), weight) in scale.iter_mut().zip(inverse).zip(weight) {
            *scale = inverse * weight;
        }
        normalise(input, mean, scale, bias, output);
    }

    /// With `x̂ = (x - mean) / deviation` and means over the batch:
    /// `scale · (g - mean(g) - x̂ · mean(g · x̂)) / deviation`; where mean and deviation do not follow the batch, the means of
    /// gradients are those over infinitely many examples, zero.
    fn backward(&self, Backward { weights, pass, values, upstream, downstream, memory }: Backward) {
        let channels = self.channels;
        let count = match pass.purpose {
            Purpose::Evaluate => f32::INFINITY,
            _ => (upstream.len() / channels) as f32,
        };
        let (gradients, statistics) = memory.tape.split_at_mut(2 * channels);
        let (mean, inverse) = statistics[..2 * channels].split_at(channels);
        let (products, sums) = gradients.split_at_mut(channels);
        gradient_sums(values.input, upstream, mean, sums, products);
        for (product, inverse) in products.iter_mut().zip(inverse) {
            *product *= inverse;
        }
        let Some(downstream) = downstream else { return };
        let (by_gradient, rest) = memory.scratch.split_at_mut(channels);
        let (by_input, rest) = rest.split_at_mut(channels);
        let offset = &mut rest[..channels];
        for channel in 0..channels {
            by_gradient[channel] = weights.parameters[channel] * inverse[channel];
            by_input[channel] = -by_gradient[channel] * inverse[channel] * products[channel] / count;
            offset[channel] = -by_gradient[channel] * sums[channel] / count;
        }
        let lines = Lines { center: mean, upstream: by_gradient, input: by_input, offset };
        pull_back(values.input, upstream, lines, downstream);
    }

    /// In use it is a scale and a shift.
    fn relevance(&self) -> Option<RelevanceRule> {
        Some(RelevanceRule::Proportional)
    }

    fn accumulate(&self, Gradients { memory, .. }: Gradients, _factors: Factors, gradient: &mut [f32]) {
        let channels = self.channels;
        let (gradients, statistics) = memory.tape.split_at(2 * channels);
        add(&mut gradient[..2 * channels], gradients);
        gradient[2 * channels..3 * channels].copy_from_slice(&statistics[..channels]);
        gradient[3 * channels..].copy_from_slice(&statistics[2 * channels..]);
    }
}
