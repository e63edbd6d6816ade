//! Sums of gradients of bounded L2 norm.

use super::Unprotected;
use crate::clip::{Bounds, Clip};
use muffle_nn::hooks::Hooks;
use muffle_nn::{Engine, Examples, Loss, Result};

/// A sum of per-example gradients, each of bounded L2 norm. It is not private yet and shows nothing of itself.
#[must_use = "a clipped sum is of use only to a release"]
pub struct Clipped<'a> {
    engine: &'a mut Engine,
    bounds: Bounds,
}

impl<'a> Clipped<'a> {
    pub(super) fn new(engine: &'a mut Engine, bounds: Bounds) -> Clipped<'a> {
        Clipped { engine, bounds }
    }

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
    let weigh = checked(engine, rule);
    let outcome = engine.weighted_sum_apart(parameters, examples, loss, seed, &weigh)?;
    Ok((Clipped::new(engine, rule.bounds().clone()), Unprotected(outcome)))
}

/// [`clip`] of gradients that hooks have changed on their way; the engine has to be built for them.
///
/// # Guarantee
/// That of [`clip`], whatever the hooks do.
///
/// # Panics
/// As [`clip`].
pub fn clip_hooked<'a>(
    engine: &'a mut Engine,
    parameters: &[f32],
    examples: &dyn Examples,
    loss: Loss,
    seed: u64,
    hooks: &dyn Hooks,
    rule: &dyn Clip,
) -> Result<(Clipped<'a>, Unprotected)> {
    let weigh = checked(engine, rule);
    let outcome = engine.hooked_sum(parameters, examples, loss, seed, hooks, &weigh)?;
    Ok((Clipped::new(engine, rule.bounds().clone()), Unprotected(outcome)))
}

/// The rule's factors, held to the rule's bounds.
fn checked<'r>(engine: &Engine, rule: &'r dyn Clip) -> impl Fn(&[f32], &mut [f32]) + Sync + use<'r> {
    let bounds = rule.bounds();
    bounds.check_tensors(engine.network().parameters().len());
    move |squared_norms, factors| {
        rule.factors(squared_norms, factors);
        assert!(bounds.hold(squared_norms, factors), "the clip rule broke its own bounds");
    }
}
