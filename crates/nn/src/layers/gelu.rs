//! The Gaussian error linear unit.

use crate::kernel::instructions::vectorised;
use crate::kernel::math::{erf, exp};
use crate::layer::RelevanceRule;
use crate::layer::{Backward, Forward, Layer};
use crate::layers::Context;
use crate::shape::Shape;
use std::f32::consts::FRAC_1_SQRT_2;

/// `x Φ(x)`, with the distribution function Φ of the standard normal distribution: no approximation by a tangent.
///
/// A layer and no [activation](crate::layers::activation::Activation), since it falls before it rises: the slope does not
/// follow from the output.
///
/// # Source
/// Hendrycks, Gimpel 2016, "Gaussian error linear units"; PyTorch's `GELU` by default.
pub struct Gelu {
    shape: Shape,
}

impl Gelu {
    /// A function of every value of any shape.
    pub fn new(context: &Context) -> Gelu {
        Gelu { shape: context.input }
    }
}

/// `1 / √(2π)`, the density of the standard normal distribution at zero.
const DENSITY_AT_ZERO: f32 = 0.398_942_3;

/// The distribution function of the standard normal distribution.
#[inline(always)]
fn below(x: f32) -> f32 {
    0.5 + 0.5 * erf(x * FRAC_1_SQRT_2)
}

vectorised! {
    fn apply(input: &[f32], output: &mut [f32]) {
        for (output, &x) in output.iter_mut().zip(input) {
            *output = x * below(x);
        }
    }

    fn pull_back(input: &[f32], upstream: &[f32], downstream: &mut [f32]) {
        for ((downstream, &upstream), &x) in downstream.iter_mut().zip(upstream).zip(input) {
            let density = DENSITY_AT_ZERO * exp(-0.5 * x * x);
            *downstream = upstream * x.mul_add(density, below(x));
        }
    }
}

impl Layer for Gelu {
    fn kind(&self) -> &'static str {
        "gelu"
    }

    fn output(&self) -> Shape {
        self.shape
    }

    fn forward(&self, Forward { input, output, .. }: Forward) {
        apply(input, output);
    }

    fn backward(&self, Backward { values, upstream, downstream, .. }: Backward) {
        if let Some(downstream) = downstream {
            pull_back(values.input, upstream, downstream);
        }
    }

    fn relevance(&self) -> Option<RelevanceRule> {
        Some(RelevanceRule::Through)
    }
}
