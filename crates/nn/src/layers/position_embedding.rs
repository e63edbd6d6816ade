//! Where a step stands, as a trainable vector added to it.

use crate::error::Result;
use crate::kernel::elementwise::{add, add_scaled, squared_norm};
use crate::layer::RelevanceRule;
use crate::layer::{Backward, Factors, Forward, Gradients, Initial, Layer, Summation, Tensor};
use crate::layers::Context;
use crate::shape::Shape;

/// One row for each place of a sequence, added to the features there: what looks at all steps at once, as attention does, would
/// not know their order otherwise.
///
/// # Source
/// Gehring et al. 2017, "Convolutional sequence to sequence learning", section 3.1; in PyTorch an `Embedding` of the places.
pub struct PositionEmbedding {
    steps: usize,
    features: usize,
}

impl PositionEmbedding {
    /// A table for sequences of the length that flows in.
    pub fn new(context: &Context) -> Result<PositionEmbedding> {
        match context.input {
            Shape::Sequence { steps, features } => Ok(PositionEmbedding { steps, features }),
            _ => context.refuse("it takes a sequence [steps, features]"),
        }
    }

    fn len(&self) -> usize {
        self.steps * self.features
    }
}

impl Layer for PositionEmbedding {
    fn kind(&self) -> &'static str {
        "position-embedding"
    }

    fn output(&self) -> Shape {
        Shape::Sequence { steps: self.steps, features: self.features }
    }

    fn tensors(&self) -> Vec<Tensor> {
        vec![Tensor::new("weight", vec![self.steps, self.features], Initial::Normal)]
    }

    fn forward(&self, Forward { weights, input, output, .. }: Forward) {
        output.copy_from_slice(input);
        output.chunks_exact_mut(self.len()).for_each(|output| add(output, weights.parameters));
    }

    fn backward(&self, Backward { upstream, downstream, .. }: Backward) {
        if let Some(downstream) = downstream {
            downstream.copy_from_slice(upstream);
        }
    }

    fn squared_norms(&self, Gradients { upstream, .. }: Gradients, norms: &mut [f64]) {
        for (norm, upstream) in norms.iter_mut().zip(upstream.chunks_exact(self.len())) {
            *norm = squared_norm(upstream);
        }
    }

    fn summation(&self) -> Summation {
        Summation::Vectors
    }

    fn accumulate(&self, Gradients { upstream, .. }: Gradients, factors: Factors, gradient: &mut [f32]) {
        for example in factors.examples() {
            let upstream = &upstream[example * self.len()..][..self.len()];
            add_scaled(gradient, factors.at(0, example), upstream);
        }
    }

    fn relevance(&self) -> Option<RelevanceRule> {
        Some(RelevanceRule::Proportional)
    }

    fn output_axis(&self, _tensor: &Tensor) -> usize {
        1
    }
}
