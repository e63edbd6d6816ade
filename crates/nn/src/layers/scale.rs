//! A number for every value, which training does not move.

use crate::layer::{
    Backward, Factors, Forward, Gradients, Initial, Layer, RelevanceRule, Role, Summation, Tensor,
};
use crate::layers::Context;
use crate::shape::Shape;

/// Every value times a number of its own: ones, until somebody who knows better sets them, say a method that has learned which
/// inputs matter.
pub struct Scale {
    shape: Shape,
}

impl Scale {
    /// For any shape.
    pub fn new(context: &Context) -> Scale {
        Scale { shape: context.input }
    }

    fn multiply(&self, weight: &[f32], input: &[f32], output: &mut [f32]) {
        let examples = input.chunks_exact(weight.len()).zip(output.chunks_exact_mut(weight.len()));
        for (input, output) in examples {
            for ((output, input), weight) in output.iter_mut().zip(input).zip(weight) {
                *output = input * weight;
            }
        }
    }
}

impl Layer for Scale {
    fn kind(&self) -> &'static str {
        "scale"
    }

    fn output(&self) -> Shape {
        self.shape
    }

    /// As PyTorch has images: channels first.
    fn tensors(&self) -> Vec<Tensor> {
        let stored_axes: Option<&[usize]> = match self.shape {
            Shape::Image { .. } => Some(&[1, 2, 0]),
            _ => None,
        };
        let tensor = Tensor::new("weight", self.shape.sizes(), Initial::Constant(1.0));
        vec![Tensor { stored_axes, role: Role::Fixed, ..tensor }]
    }

    fn forward(&self, Forward { weights, input, output, .. }: Forward) {
        self.multiply(weights.parameters, input, output);
    }

    fn backward(&self, Backward { weights, upstream, downstream, .. }: Backward) {
        if let Some(downstream) = downstream {
            self.multiply(weights.parameters, upstream, downstream);
        }
    }

    /// The numbers stand still.
    fn squared_norms(&self, _call: Gradients, norms: &mut [f64]) {
        norms.fill(0.0);
    }

    fn accumulate(&self, _call: Gradients, _factors: Factors, _gradient: &mut [f32]) {}

    fn summation(&self) -> Summation {
        Summation::Vectors
    }

    fn relevance(&self) -> Option<RelevanceRule> {
        Some(RelevanceRule::Proportional)
    }
}
