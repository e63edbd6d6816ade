//! The gradient of a bias that is added to every pixel: the sum over the pixels.

use crate::kernel::elementwise::{add, add_scaled, squared_norm};
use crate::layer::Factors;

/// Overwrites `gradient` with one example's gradient and returns its squared norm.
pub(super) fn example_gradient(pixels: &[f32], gradient: &mut [f32]) -> f32 {
    gradient.fill(0.0);
    pixels.chunks_exact(gradient.len()).for_each(|pixel| add(gradient, pixel));
    squared_norm(gradient)
}

/// Adds the gradients of a layer's second tensor, each times its factor.
pub(super) fn accumulate(upstream: &[f32], example_len: usize, factors: Factors, bias: &mut [f32]) {
    for example in factors.examples() {
        let factor = factors.at(1, example);
        let pixels = &upstream[example * example_len..][..example_len];
        pixels.chunks_exact(bias.len()).for_each(|pixel| add_scaled(bias, factor, pixel));
    }
}
