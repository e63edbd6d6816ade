//! Counts that are taken beside a clipped sum and released jointly with it.

use super::{Clipped, Unprotected, clip};
use crate::clip::{Bounds, Clip};
use muffle_nn::{Engine, Examples, Loss, Result};
use std::sync::atomic::{AtomicI64, Ordering};

/// What is counted of one record: a few whole numbers, computed from the norms of its gradient.
pub struct Count<'a> {
    /// How many numbers.
    pub width: usize,
    /// The worth of one, so that the numbers can be whole and their sum does not depend on its order.
    pub unit: f64,
    /// The largest L2 norm of one record's numbers, in terms of their worth.
    pub bound: f64,
    /// Writes a record's numbers from the squared norms of its gradient's tensors.
    pub of: &'a (dyn Fn(&[f32], &mut [i64]) + Sync),
}

/// Sums of counts over the records of a step. Not private yet.
pub struct Counted {
    pub(super) sums: Vec<f64>,
    pub(super) bound: f64,
}

/// A clip rule that counts on the way.
struct Counting<'a> {
    rule: &'a dyn Clip,
    count: &'a Count<'a>,
    sums: Vec<AtomicI64>,
}

impl Clip for Counting<'_> {
    fn bounds(&self) -> &Bounds {
        self.rule.bounds()
    }

    fn factors(&self, squared_norms: &[f32], factors: &mut [f32]) {
        self.rule.factors(squared_norms, factors);
        let mut numbers = vec![0; self.count.width];
        (self.count.of)(squared_norms, &mut numbers);
        let worth: f64 = numbers.iter().map(|&number| (self.count.unit * number as f64).powi(2)).sum();
        assert!(worth.sqrt() <= self.count.bound * (1.0 + 1e-9), "a count broke its own bound");
        for (sum, number) in self.sums.iter().zip(numbers) {
            sum.fetch_add(number, Ordering::Relaxed);
        }
    }
}

/// [`clip`](super::clip), with counts of the same records.
///
/// # Guarantee
/// Adding or removing one example changes the sum by at most the rule's sensitivity and the counts by at most their bound,
/// both in L2 norm; an example whose gradient is not finite adds to neither.
pub fn clip_and_count<'a>(
    engine: &'a mut Engine,
    parameters: &[f32],
    examples: &dyn Examples,
    loss: Loss,
    seed: u64,
    rule: &dyn Clip,
    count: &Count,
) -> Result<(Clipped<'a>, Counted, Unprotected)> {
    let sums = (0..count.width).map(|_| AtomicI64::new(0)).collect();
    let counting = Counting { rule, count, sums };
    let (clipped, unprotected) = clip(engine, parameters, examples, loss, seed, &counting)?;
    let sums = counting.sums.into_iter().map(|sum| count.unit * sum.into_inner() as f64).collect();
    Ok((clipped, Counted { sums, bound: count.bound }, unprotected))
}
