//! What normalising layers share: a scale and a shift for every channel.

use crate::kernel::elementwise::squared_norm;
use crate::kernel::shares::ratio;
use crate::layer::{Carry, Initial, Tensor};
use crate::layers::kept::Kept;
use std::ops::Range;

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

/// Some channels that were brought to mean zero and deviation one together.
pub(super) struct Normalised<'a> {
    /// Which of the channels of a row.
    pub channels: Range<usize>,
    /// Length of a row.
    pub row: usize,
    /// One over the deviation.
    pub inverse: f32,
    /// The scale of every channel; ones if absent.
    pub scale: Option<&'a [f32]>,
}

impl Normalised<'_> {
    /// Carries relevance through `scale · (x - mean) / deviation + shift`, the deviation given: a sum of the inputs less their
    /// mean.
    ///
    /// # Source
    /// Ali et al. 2022, "XAI for transformers: better explanations through conservative propagation", rule for layer norm.
    pub fn carry_relevance(&self, Carry { values, upstream, downstream, stabiliser, .. }: &mut Carry) {
        let rows = (0..upstream.len()).step_by(self.row);
        let places =
            rows.flat_map(|first| self.channels.clone().map(move |channel| (first + channel, channel)));
        let (mut sum, mut count) = (0.0, 0.0);
        for (place, channel) in places.clone() {
            let scale = self.inverse * self.scale.map_or(1.0, |scale| scale[channel]);
            downstream[place] = scale * ratio(upstream[place], values.output[place], *stabiliser);
            sum += f64::from(downstream[place]);
            count += 1.0;
        }
        let mean = (sum / count) as f32;
        for (place, _) in places {
            downstream[place] = values.input[place] * (downstream[place] - mean);
        }
    }
}
