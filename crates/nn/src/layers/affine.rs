//! What normalising layers share: a scale and a shift for every channel.

use crate::kernel::elementwise::squared_norm;
use crate::layer::{Initial, Tensor};
use crate::layers::kept::Kept;

/// Added to variances, PyTorch's default.
pub(super) const EPSILON: f64 = 1e-5;

/// The scale, which starts at one, and the shift, which starts at zero.
pub(super) fn tensors(channels: usize) -> Vec<Tensor> {
    vec![
        Tensor::new("weight", vec![channels], Initial::Constant(1.0)),
        Tensor::new("bias", vec![channels], Initial::Constant(0.0)),
    ]
}

/// Squared norms of the kept gradients, as [`Layer::squared_norms`](crate::layer::Layer::squared_norms) wants them.
pub(super) fn squared_norms(kept: &Kept, batch: usize, norms: &mut [f64]) {
    let (scales, shifts) = norms.split_at_mut(batch);
    for example in 0..batch {
        let (scale, shift) = kept.of(example);
        scales[example] = squared_norm(scale);
        shifts[example] = squared_norm(shift);
    }
}
