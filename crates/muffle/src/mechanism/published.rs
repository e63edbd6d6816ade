//! Sums as papers print them, without a bound that holds. Their events are claims.

use super::Unprotected;
use muffle_nn::{Engine, Examples, Loss, Result, Visit, Weigh};

/// A sum of per-example gradients of which nothing is proved.
#[must_use = "a sum is of use only to a release"]
pub struct Unbounded<'a> {
    pub(super) engine: &'a mut Engine,
}

impl Unbounded<'_> {
    /// Number of tensors, for their noise.
    pub fn tensors(&self) -> usize {
        self.engine.network().parameters().len()
    }
}

/// Sums gradients with factors of any kind.
pub fn weigh_unbounded<'a>(
    engine: &'a mut Engine,
    parameters: &[f32],
    examples: &dyn Examples,
    loss: Loss,
    seed: u64,
    weigh: &Weigh,
) -> Result<(Unbounded<'a>, Unprotected)> {
    let outcome = engine.weighted_sum(parameters, examples, loss, seed, weigh)?;
    Ok((Unbounded { engine }, Unprotected(outcome)))
}

/// Sums whatever `visit` makes of each gradient.
pub fn visit_unbounded<'a>(
    engine: &'a mut Engine,
    parameters: &[f32],
    examples: &dyn Examples,
    loss: Loss,
    seed: u64,
    visit: &Visit,
) -> Result<(Unbounded<'a>, Unprotected)> {
    let outcome = engine.visit(parameters, examples, loss, seed, visit)?;
    Ok((Unbounded { engine }, Unprotected(outcome)))
}
