//! Layer normalisation: every feature vector gets mean zero and variance one.

use crate::error::Result;
use crate::kernel::elementwise::{dot, squared_norm, sum};
use crate::kernel::instructions::vectorised;
use crate::layer::{
    Backward, Carry, Factors, Forward, Gradients, Layer, Pass, RelevanceRule, Summation, Tensor, Values,
    Weights,
};
use crate::layers::Context;
use crate::layers::affine::{self, EPSILON, Normalised};
use crate::layers::kept::Kept;
use crate::shape::Shape;

/// Normalises over the features of a vector, or of every step of a sequence.
///
/// # Source
/// Ba, Kiros, Hinton 2016, "Layer Normalization", section 3; PyTorch's `LayerNorm` over the last axis.
pub struct LayerNorm {
    shape: Shape,
    features: usize,
    steps: usize,
    affine: bool,
}

impl LayerNorm {
    /// `affine` adds a trainable scale and shift for every feature.
    pub fn new(context: &Context, affine: bool) -> Result<LayerNorm> {
        let (steps, features) = match context.input {
            Shape::Vector(features) => (1, features),
            Shape::Sequence { steps, features } => (steps, features),
            Shape::Image { .. } => {
                return context
                    .refuse("it takes a vector or a sequence; for images use `group-norm` with one group");
            }
        };
        Ok(LayerNorm { shape: context.input, features, steps, affine })
    }

    /// Values of one example on the tape: gradients of scale and shift, then mean and inverse deviation of each step.
    fn block(&self) -> usize {
        2 * self.features + 2 * self.steps
    }

    fn kept<'a>(&self, tape: &'a [f32]) -> Kept<'a> {
        let (weight_len, bias_len) = (self.features, self.features);
        Kept { tape, block: self.block(), first: 0, weight_len, bias_len }
    }

    fn scale<'a>(&self, weights: &Weights<'a>) -> Option<&'a [f32]> {
        self.affine.then(|| &weights.parameters[..self.features])
    }
}

vectorised! {
    /// Adds one row's part to the gradients of scale and shift, and leaves the normalised row and the scaled gradient.
    fn gradients(
        row: &[f32],
        upstream: &[f32],
        statistics: (f32, f32),
        scale: Option<&[f32]>,
        kept: &mut [f32],
        scratch: &mut [f32],
    ) {
        let features = row.len();
        let upstream = &upstream[..features];
        let (scales, shifts) = kept.split_at_mut(features);
        let (normal, scaled) = scratch.split_at_mut(features);
        let (shifts, scaled) = (&mut shifts[..features], &mut scaled[..features]);
        for index in 0..features {
            normal[index] = (row[index] - statistics.0) * statistics.1;
            scales[index] += upstream[index] * normal[index];
            shifts[index] += upstream[index];
            scaled[index] = upstream[index];
        }
        if let Some(scale) = scale {
            for (scaled, scale) in scaled.iter_mut().zip(scale) {
                *scaled *= scale;
            }
        }
    }
}

impl Layer for LayerNorm {
    fn kind(&self) -> &'static str {
        "layer-norm"
    }

    fn output(&self) -> Shape {
        self.shape
    }

    fn tensors(&self) -> Vec<Tensor> {
        if self.affine { affine::tensors(self.features) } else { Vec::new() }
    }

    fn tape_len(&self, pass: &Pass) -> usize {
        pass.batch * self.block()
    }

    fn scratch_len(&self, _pass: &Pass) -> usize {
        2 * self.features
    }

    fn forward(&self, Forward { weights, input, output, memory, .. }: Forward) {
        let features = self.features;
        let rows = input.chunks_exact(features).zip(output.chunks_exact_mut(features));
        for (index, (input, output)) in rows.enumerate() {
            let mean = sum(input) / features as f32;
            for (output, value) in output.iter_mut().zip(input) {
                *output = value - mean;
            }
            let variance = squared_norm(output) as f32 / features as f32;
            let inverse = 1.0 / (variance + EPSILON as f32).sqrt();
            let (example, step) = (index / self.steps, index % self.steps);
            let at = example * self.block() + 2 * features + 2 * step;
            memory.tape[at..at + 2].copy_from_slice(&[mean, inverse]);
            output.iter_mut().for_each(|output| *output *= inverse);
            if self.affine {
                let (scale, shift) = weights.parameters.split_at(features);
                for ((output, scale), shift) in output.iter_mut().zip(scale).zip(shift) {
                    *output = *output * scale + shift;
                }
            }
        }
    }

    /// With `x̂ = (x - mean) / deviation` and `h = scale · g`: `(h - mean(h) - x̂ · mean(h · x̂)) / deviation`.
    fn backward(&self, Backward { weights, values, upstream, downstream, memory, .. }: Backward) {
        let features = self.features;
        let mut downstream = downstream.map(|downstream| downstream.chunks_exact_mut(features));
        let examples = values
            .input
            .chunks_exact(self.steps * features)
            .zip(upstream.chunks_exact(self.steps * features));
        for ((input, upstream), block) in examples.zip(memory.tape.chunks_exact_mut(self.block())) {
            let (kept, noted) = block.split_at_mut(2 * features);
            kept.fill(0.0);
            let rows = input.chunks_exact(features).zip(upstream.chunks_exact(features));
            for ((input, upstream), noted) in rows.zip(noted.chunks_exact(2)) {
                let noted = (noted[0], noted[1]);
                gradients(input, upstream, noted, self.scale(&weights), kept, memory.scratch);
                let Some(downstream) = downstream.as_mut().and_then(|rows| rows.next()) else {
                    continue;
                };
                let (normal, scaled) = memory.scratch[..2 * features].split_at(features);
                let mean = sum(scaled) / features as f32;
                let slope = dot(normal, scaled) / features as f32;
                for ((downstream, normal), scaled) in downstream.iter_mut().zip(normal).zip(scaled) {
                    *downstream = (scaled - mean - normal * slope) * noted.1;
                }
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

    fn carry_relevance(
        &self,
        Carry { weights, pass, values, upstream, downstream, stabiliser, tape }: Carry,
    ) {
        let features = self.features;
        let statistics = tape[2 * features..].chunks_exact(2);
        for (step, statistics) in statistics.take(self.steps).enumerate() {
            let range = step * features..(step + 1) * features;
            let (input, output) = (&values.input[range.clone()], &values.output[range.clone()]);
            let (upstream, downstream) = (&upstream[range.clone()], &mut downstream[range]);
            let values = Values { input, output };
            let scale = self.scale(&weights);
            let row = Normalised { channels: 0..features, row: features, inverse: statistics[1], scale };
            row.carry_relevance(&mut Carry { weights, pass, values, upstream, downstream, stabiliser, tape });
        }
    }
}
