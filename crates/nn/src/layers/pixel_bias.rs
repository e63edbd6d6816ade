//! The gradient of a bias that is added to every pixel, or at every step: the sum over them.

use crate::kernel::channels::pixel_sums;
use crate::kernel::elementwise::{add_scaled, squared_norm};
use crate::layer::Factors;

/// Overwrites `gradient` with one example's gradient and returns its squared norm.
pub(super) fn example_gradient(pixels: &[f32], gradient: &mut [f32]) -> f64 {
    pixel_sums(pixels, gradient);
    squared_norm(gradient)
}

/// Adds the gradients of a layer's second tensor, each times its factor.
///
/// The sum of an example comes first, as in [`example_gradient`]: what is added has the norm that was told, however the sum is
/// rounded.
pub(super) fn accumulate(
    upstream: &[f32],
    example_len: usize,
    factors: Factors,
    bias: &mut [f32],
    scratch: &mut [f32],
) {
    let gradient = &mut scratch[..bias.len()];
    for example in factors.examples() {
        pixel_sums(&upstream[example * example_len..][..example_len], gradient);
        add_scaled(bias, factors.at(1, example), gradient);
    }
}
