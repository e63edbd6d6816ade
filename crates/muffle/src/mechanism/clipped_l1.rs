//! Sums of gradients of bounded L1 norm, for Laplace noise.

use super::Unprotected;
use super::written_out::sum_bounded;
use crate::clip::MARGIN;
use muffle_nn::{Engine, Examples, Loss, Result};

/// A sum of per-example gradients, each of bounded L1 norm. It is not private yet and shows nothing of itself.
#[must_use = "a clipped sum is of use only to a release"]
pub struct ClippedL1<'a> {
    engine: &'a mut Engine,
    threshold: f64,
}

impl<'a> ClippedL1<'a> {
    pub(super) fn into_parts(self) -> (&'a mut Engine, f64) {
        (self.engine, self.threshold)
    }
}

/// Sums the gradients of all examples, each scaled to an L1 norm of at most `threshold`.
///
/// There is no short cut to an L1 norm as there is to an L2 norm, so every gradient is written out: the engine has to be
/// one for [`Purpose::Plain`](muffle_nn::Purpose::Plain), and a step takes several times as long as with [`clip`](super::clip).
///
/// # Guarantee
/// Adding or removing one example, with all its [views](Examples::views), changes the sum by at most `threshold` in L1 norm;
/// an example whose gradient is not finite contributes zero.
///
/// # Panics
/// If the threshold is not a positive finite number.
pub fn clip_l1<'a>(
    engine: &'a mut Engine,
    parameters: &[f32],
    examples: &dyn Examples,
    loss: Loss,
    seed: u64,
    threshold: f64,
) -> Result<(ClippedL1<'a>, Unprotected)> {
    assert!(
        (threshold as f32).is_normal() && threshold > 0.0,
        "a clip threshold of {threshold} is not a positive finite number"
    );
    let limit = MARGIN * threshold;
    let bound = |_: usize, gradient: &mut [f32]| {
        let norm: f64 = gradient.iter().map(|value| f64::from(value.abs())).sum();
        let factor = (limit / norm.max(limit)) as f32;
        gradient.iter_mut().for_each(|value| *value *= factor);
    };
    let unprotected = sum_bounded(engine, parameters, examples, loss, seed, &bound)?;
    Ok((ClippedL1 { engine, threshold }, unprotected))
}
