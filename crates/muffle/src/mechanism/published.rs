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

    /// L2 norms of the sum's tensors, for papers that scale their noise by them. **Not private.**
    pub fn norms(&self) -> Vec<f64> {
        let sum = self.engine.gradient();
        let norm = |values: &[f32]| values.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>().sqrt();
        self.engine.network().parameters().iter().map(|tensor| norm(&sum[tensor.range.clone()])).collect()
    }

    /// Moves every coordinate of the sum into ± its tensor's limit.
    pub fn clamp(&mut self, limits: &[f32]) {
        let ends: Vec<usize> =
            self.engine.network().parameters().iter().map(|tensor| tensor.range.end).collect();
        self.engine.for_each_chunk(&|first, chunk: &mut [f32]| {
            for (place, value) in chunk.iter_mut().enumerate() {
                let limit = limits[ends.partition_point(|end| *end <= first + place)];
                *value = value.clamp(-limit, limit);
            }
        });
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
