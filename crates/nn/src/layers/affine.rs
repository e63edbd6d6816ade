//! What normalising layers share: a scale and a shift for every channel, and their gradients kept for every example.

use crate::kernel::elementwise::{add_scaled, squared_norm};
use crate::layer::{Factors, Initial, Tensor};

/// Added to variances, PyTorch's default.
pub(super) const EPSILON: f64 = 1e-5;

/// The scale, which starts at one, and the shift, which starts at zero.
pub(super) fn tensors(channels: usize) -> Vec<Tensor> {
    vec![
        Tensor::new("weight", vec![channels], Initial::Constant(1.0)),
        Tensor::new("bias", vec![channels], Initial::Constant(0.0)),
    ]
}

/// Gradients of scale and shift that `backward` left at the start of every example's part of the tape.
pub(super) struct Kept<'a> {
    pub tape: &'a [f32],
    /// Values on the tape for each example.
    pub block: usize,
    pub channels: usize,
}

impl Kept<'_> {
    fn of(&self, example: usize) -> (&[f32], &[f32]) {
        self.tape[example * self.block..][..2 * self.channels].split_at(self.channels)
    }

    /// Squared norms, as [`Layer::squared_norms`](crate::layer::Layer::squared_norms) wants them.
    pub fn squared_norms(&self, batch: usize, norms: &mut [f32]) {
        let (scales, shifts) = norms.split_at_mut(batch);
        for example in 0..batch {
            let (scale, shift) = self.of(example);
            scales[example] = squared_norm(scale);
            shifts[example] = squared_norm(shift);
        }
    }

    /// Adds the gradients, each times its factor.
    pub fn accumulate(&self, factors: Factors, gradient: &mut [f32]) {
        let (scales, shifts) = gradient.split_at_mut(self.channels);
        for example in factors.examples() {
            let (scale, shift) = self.of(example);
            add_scaled(scales, factors.at(0, example), scale);
            add_scaled(shifts, factors.at(1, example), shift);
        }
    }
}
