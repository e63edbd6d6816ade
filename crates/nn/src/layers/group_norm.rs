//! Group normalisation: each group of channels of one example gets mean zero and variance one.

use crate::error::Result;
use crate::kernel::channels::{Lines, gradient_sums, moments, normalise, pull_back};
use crate::layer::{
    Backward, Carry, Factors, Forward, Gradients, Layer, Pass, RelevanceRule, Summation, Tensor,
};
use crate::layers::Context;
use crate::layers::affine::{self, EPSILON, Normalised};
use crate::layers::kept::Kept;
use crate::shape::Shape;

/// Group normalisation of images, or of vectors as images of one pixel. It never looks at another example.
///
/// # Source
/// Wu and He 2018, "Group Normalization", section 3; PyTorch's `GroupNorm`.
pub struct GroupNorm {
    shape: Shape,
    pixels: usize,
    channels: usize,
    groups: usize,
    affine: bool,
}

impl GroupNorm {
    /// Groups of neighbouring channels; `affine` adds a trainable scale and shift for every channel.
    pub fn new(context: &Context, groups: usize, affine: bool) -> Result<GroupNorm> {
        let (pixels, channels) = match context.input {
            Shape::Image { height, width, channels } => (height * width, channels),
            Shape::Vector(features) => (1, features),
            Shape::Sequence { .. } => {
                return context.refuse("it takes an image or a vector; for sequences use `layer-norm`");
            }
        };
        if groups == 0 || !channels.is_multiple_of(groups) {
            return context.refuse(&format!("{groups} groups must divide its {channels} channels"));
        }
        Ok(GroupNorm { shape: context.input, pixels, channels, groups, affine })
    }

    fn example_len(&self) -> usize {
        self.pixels * self.channels
    }

    /// Values of one example on the tape: gradients of scale and shift, then mean and inverse deviation of the groups.
    fn block(&self) -> usize {
        2 * self.channels + 2 * self.groups
    }

    fn group_channels(&self) -> usize {
        self.channels / self.groups
    }

    fn kept<'a>(&self, tape: &'a [f32]) -> Kept<'a> {
        let (weight_len, bias_len) = (self.channels, self.channels);
        Kept { tape, block: self.block(), first: 0, weight_len, bias_len }
    }

    /// Mean and inverse deviation of every group.
    ///
    /// Channel sums are taken around the channel's first value, so that a large mean does not swallow the variance, and
    /// then joined in double precision.
    ///
    /// # Source
    /// Chan, Golub, LeVeque 1979, "Updating formulae and a pairwise algorithm for computing sample variances".
    fn statistics(&self, input: &[f32], scratch: &mut [f32], statistics: &mut [f32]) {
        let shift = &input[..self.channels];
        let (sums, rest) = scratch.split_at_mut(self.channels);
        let squares = &mut rest[..self.channels];
        moments(input, shift, sums, squares);
        let (pixels, width) = (self.pixels as f64, self.group_channels());
        let share = 1.0 / pixels;
        let (means, inverses) = statistics.split_at_mut(self.groups);
        for group in 0..self.groups {
            let channels = group * width..(group + 1) * width;
            let channel_mean = |channel: usize| f64::from(shift[channel]) + f64::from(sums[channel]) * share;
            let mean = channels.clone().map(channel_mean).sum::<f64>() / width as f64;
            let squares = channels.map(|channel| {
                let (sum, between) = (f64::from(sums[channel]), channel_mean(channel) - mean);
                (f64::from(squares[channel]) - sum * sum * share) + pixels * between * between
            });
            let variance = squares.sum::<f64>() / (pixels * width as f64);
            // A comparison that rounding below zero fails and NaN passes.
            let variance = if variance < 0.0 { 0.0 } else { variance };
            means[group] = mean as f32;
            inverses[group] = (1.0 / (variance + EPSILON).sqrt()) as f32;
        }
    }
}

/// Gives every channel the value of its group.
fn spread(groups: &[f32], width: usize, channels: &mut [f32]) {
    for (channels, group) in channels.chunks_exact_mut(width).zip(groups) {
        channels.fill(*group);
    }
}

impl Layer for GroupNorm {
    fn kind(&self) -> &'static str {
        "group-norm"
    }

    fn output(&self) -> Shape {
        self.shape
    }

    fn tensors(&self) -> Vec<Tensor> {
        if self.affine { affine::tensors(self.channels) } else { Vec::new() }
    }

    fn tape_len(&self, pass: &Pass) -> usize {
        pass.batch * self.block()
    }

    fn scratch_len(&self, _pass: &Pass) -> usize {
        4 * self.channels
    }

    fn forward(&self, Forward { weights, input, output, memory, .. }: Forward) {
        let (channels, width) = (self.channels, self.group_channels());
        let examples =
            input.chunks_exact(self.example_len()).zip(output.chunks_exact_mut(self.example_len()));
        for ((input, output), block) in examples.zip(memory.tape.chunks_exact_mut(self.block())) {
            let statistics = &mut block[2 * channels..];
            self.statistics(input, memory.scratch, statistics);
            let (means, inverses) = statistics.split_at(self.groups);
            let (center, rest) = memory.scratch.split_at_mut(channels);
            let (scale, rest) = rest.split_at_mut(channels);
            let offset = &mut rest[..channels];
            spread(means, width, center);
            spread(inverses, width, scale);
            offset.fill(0.0);
            if self.affine {
                let (weight, bias) = weights.parameters.split_at(channels);
                scale.iter_mut().zip(weight).for_each(|(scale, weight)| *scale *= weight);
                offset.copy_from_slice(bias);
            }
            normalise(input, center, scale, offset, output);
        }
    }

    /// With `x̂ = (x - mean) / deviation`, `h = scale · g` and means over the group:
    /// `(h - mean(h) - x̂ · mean(h · x̂)) / deviation`.
    fn backward(&self, Backward { weights, values, upstream, downstream, memory, .. }: Backward) {
        let (channels, width) = (self.channels, self.group_channels());
        let count = (self.pixels * width) as f64;
        let mut downstream = downstream.map(|downstream| downstream.chunks_exact_mut(self.example_len()));
        let examples =
            values.input.chunks_exact(self.example_len()).zip(upstream.chunks_exact(self.example_len()));
        for ((input, upstream), block) in examples.zip(memory.tape.chunks_exact_mut(self.block())) {
            let (gradients, statistics) = block.split_at_mut(2 * channels);
            let (means, inverses) = statistics.split_at(self.groups);
            let (products, sums) = gradients.split_at_mut(channels);
            let (center, rest) = memory.scratch.split_at_mut(channels);
            spread(means, width, center);
            gradient_sums(input, upstream, center, sums, products);
            if let Some(downstream) = downstream.as_mut().and_then(|examples| examples.next()) {
                let (by_gradient, rest) = rest.split_at_mut(channels);
                let (by_input, rest) = rest.split_at_mut(channels);
                let offset = &mut rest[..channels];
                let scale = |channel: usize| {
                    if self.affine { weights.parameters[channel] } else { 1.0 }
                };
                for (group, &inverse_deviation) in inverses.iter().enumerate() {
                    let range = group * width..(group + 1) * width;
                    let inverse = f64::from(inverse_deviation);
                    let weighted = |values: &[f32]| {
                        let term = |channel: usize| f64::from(scale(channel)) * f64::from(values[channel]);
                        range.clone().map(term).sum::<f64>()
                    };
                    let mean = inverse * weighted(sums) / count;
                    let slope = inverse * inverse * inverse * weighted(products) / count;
                    for channel in range.clone() {
                        by_gradient[channel] = scale(channel) * inverse_deviation;
                        by_input[channel] = -slope as f32;
                        offset[channel] = -mean as f32;
                    }
                }
                let lines = Lines { center, upstream: by_gradient, input: by_input, offset };
                pull_back(input, upstream, lines, downstream);
            }
            // From sums around the mean to the gradient of the scale.
            for (products, inverse) in products.chunks_exact_mut(width).zip(inverses) {
                products.iter_mut().for_each(|product| *product *= inverse);
            }
        }
    }

    fn squared_norms(&self, Gradients { pass, memory, .. }: Gradients, norms: &mut [f64]) {
        affine::squared_norms(&self.kept(memory.tape), pass.batch, norms);
    }

    fn summation(&self) -> Summation {
        Summation::Vectors
    }

    fn accumulate(&self, Gradients { memory, .. }: Gradients, factors: Factors, gradient: &mut [f32]) {
        self.kept(memory.tape).accumulate(factors, gradient);
    }

    fn relevance(&self) -> Option<RelevanceRule> {
        Some(RelevanceRule::Own)
    }

    fn carry_relevance(&self, mut call: Carry) {
        let width = self.group_channels();
        let inverses = &call.tape[2 * self.channels + self.groups..][..self.groups];
        for (group, &inverse) in inverses.iter().enumerate() {
            let channels = group * width..(group + 1) * width;
            let scale = self.affine.then(|| &call.weights.parameters[..self.channels]);
            Normalised { channels, row: self.channels, inverse, scale }.carry_relevance(&mut call);
        }
    }
}
