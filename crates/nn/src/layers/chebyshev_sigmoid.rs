//! A sigmoid that is a polynomial.

use crate::error::Result;
use crate::layer::RelevanceRule;
use crate::layer::{Backward, Forward, Layer};
use crate::layers::Context;
use crate::shape::Shape;

/// An odd polynomial of degree seven around a constant: (c₀ + c₁x + c₂x³ + c₃x⁵ + c₄x⁷)/32 for x cut to −1 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SigmoidPolynomial {
    /// c₀ to c₄.
    pub coefficients: [f32; 5],
    /// What inputs are divided by.
    pub scale: f32,
}

impl SigmoidPolynomial {
    /// The one that rises from 0 to 1 and is flat at both ends: its slope is 35/32·(1 − x²)³.
    ///
    /// # Source
    /// Phan, Wu, Dou 2017, "Preserving differential privacy in convolutional deep belief networks": the Chebyshev expansion of the
    /// energy function's sigmoid up to degree seven.
    pub const CHEBYSHEV: [f32; 5] = [16.0, 35.0, -35.0, 21.0, -5.0];

    /// That one, for inputs of this scale.
    pub fn chebyshev(scale: f32) -> SigmoidPolynomial {
        SigmoidPolynomial { coefficients: SigmoidPolynomial::CHEBYSHEV, scale }
    }

    /// Its value.
    pub fn value(&self, input: f32) -> f32 {
        let x = (input / self.scale).clamp(-1.0, 1.0);
        let (square, [c0, c1, c2, c3, c4]) = (x * x, self.coefficients);
        (c0 + x * (c1 + square * (c2 + square * (c3 + square * c4)))) / 32.0
    }

    /// Its slope: none where inputs are cut.
    fn slope(&self, input: f32) -> f32 {
        let x = input / self.scale;
        if !(-1.0..=1.0).contains(&x) {
            return 0.0;
        }
        let (square, [_, c1, c2, c3, c4]) = (x * x, self.coefficients);
        (c1 + square * (3.0 * c2 + square * (5.0 * c3 + square * 7.0 * c4))) / (32.0 * self.scale)
    }
}

/// [`SigmoidPolynomial::chebyshev`] of every value.
///
/// A layer and no [activation](crate::layers::activation::Activation): its slope follows from the input, not from the output.
pub struct ChebyshevSigmoid {
    shape: Shape,
    polynomial: SigmoidPolynomial,
}

impl ChebyshevSigmoid {
    /// For inputs of this scale.
    pub fn new(context: &Context, scale: f32) -> Result<ChebyshevSigmoid> {
        if !(scale > 0.0 && scale.is_normal()) {
            return context.refuse(&format!("scale = {scale} is outside (0, infinity)"));
        }
        Ok(ChebyshevSigmoid { shape: context.input, polynomial: SigmoidPolynomial::chebyshev(scale) })
    }
}

impl Layer for ChebyshevSigmoid {
    fn kind(&self) -> &'static str {
        "chebyshev-sigmoid"
    }

    fn output(&self) -> Shape {
        self.shape
    }

    fn forward(&self, Forward { input, output, .. }: Forward) {
        output.iter_mut().zip(input).for_each(|(output, input)| *output = self.polynomial.value(*input));
    }

    fn backward(&self, Backward { values, upstream, downstream, .. }: Backward) {
        let Some(downstream) = downstream else { return };
        for ((downstream, upstream), input) in downstream.iter_mut().zip(upstream).zip(values.input) {
            *downstream = upstream * self.polynomial.slope(*input);
        }
    }

    fn relevance(&self) -> Option<RelevanceRule> {
        Some(RelevanceRule::Through)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// At ½: 16 + 17.5 − 4.375 + 0.65625 − 0.0390625 = 29.7421875, over 32.
    #[test]
    fn values_by_hand() {
        let polynomial = SigmoidPolynomial::chebyshev(2.0);
        assert_eq!([-9.0, -2.0, 0.0, 2.0, 9.0].map(|x| polynomial.value(x)), [0.0, 0.0, 0.5, 1.0, 1.0]);
        assert!((polynomial.value(1.0) - 29.742_188 / 32.0).abs() < 1e-6);
        assert!((polynomial.value(1.0) + polynomial.value(-1.0) - 1.0).abs() < 1e-6);
        // 35/32·(1 − ¼)³, over the scale.
        assert!((polynomial.slope(1.0) - 35.0 / 32.0 * 0.421_875 / 2.0).abs() < 1e-6);
        assert_eq!([polynomial.slope(2.5), polynomial.slope(-2.0)], [0.0, 0.0]);
    }
}
