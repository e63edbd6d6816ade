//! Sums of gradients of bounded L2 norm.

use super::Unprotected;
use crate::clip::{Bounds, Clip};
use muffle_nn::{Engine, Examples, Loss, Result};

/// A sum of per-example gradients, each of bounded L2 norm. It is not private yet and shows nothing of itself.
#[must_use = "a clipped sum is of use only to a release"]
pub struct Clipped<'a> {
    engine: &'a mut Engine,
    bounds: Bounds,
}

impl<'a> Clipped<'a> {
    pub(super) fn into_parts(self) -> (&'a mut Engine, Bounds) {
        (self.engine, self.bounds)
    }
}

/// Sums the gradients of all examples, each scaled as the rule says; `seed` is for layers that draw random numbers.
///
/// Where a record comes in several [views](Examples::views), the mean of their gradients is scaled, and the views together
/// count as one example.
///
/// # Guarantee
/// Adding or removing one example changes the sum by at most the rule's [`sensitivity`](Bounds::sensitivity) in L2 norm;
/// an example whose gradient is not finite contributes zero.
///
/// # Panics
/// If the rule was made for another number of tensors, or breaks its own bounds.
pub fn clip<'a>(
    engine: &'a mut Engine,
    parameters: &[f32],
    examples: &dyn Examples,
    loss: Loss,
    seed: u64,
    rule: &dyn Clip,
) -> Result<(Clipped<'a>, Unprotected)> {
    let bounds = rule.bounds().clone();
    bounds.check_tensors(engine.network().parameters().len());
    let weigh = |squared_norms: &[f32], factors: &mut [f32]| {
        rule.factors(squared_norms, factors);
        assert!(bounds.hold(squared_norms, factors), "the clip rule broke its own bounds");
    };
    let outcome = engine.weighted_sum_apart(parameters, examples, loss, seed, &weigh)?;
    Ok((Clipped { engine, bounds }, Unprotected(outcome)))
}
