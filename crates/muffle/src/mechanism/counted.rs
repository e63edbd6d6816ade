//! Counts that are taken beside a sum of gradients and released jointly with it.

use crate::clip::{Bounds, Clip};
use std::sync::atomic::{AtomicI64, Ordering};

/// What is counted of one record: a few whole numbers, computed from the norms of its gradient.
pub struct Count<'a> {
    /// How many numbers.
    pub width: usize,
    /// The worth of one, so that the numbers can be whole and their sum does not depend on its order.
    pub unit: f64,
    /// The largest L2 norm of one record's numbers, in terms of their worth.
    pub bound: f64,
    /// Standard deviation of the noise they get.
    pub deviation: f64,
    /// Writes a record's numbers from the squared norms of its gradient's tensors.
    pub of: &'a (dyn Fn(&[f64], &mut [i64]) + Sync),
}

/// Sums of counts over the records of a step. Not private yet.
pub(super) struct Counted {
    pub sums: Vec<f64>,
    pub bound: f64,
    pub deviation: f64,
}

/// A clip rule that counts on the way.
pub(super) struct Counting<'a> {
    rule: &'a dyn Clip,
    count: &'a Count<'a>,
    sums: Vec<AtomicI64>,
}

impl<'a> Counting<'a> {
    pub fn new(rule: &'a dyn Clip, count: &'a Count<'a>) -> Counting<'a> {
        Counting { rule, count, sums: (0..count.width).map(|_| AtomicI64::new(0)).collect() }
    }

    pub fn into_counted(self) -> Counted {
        let Count { unit, bound, deviation, .. } = *self.count;
        let sums = self.sums.into_iter().map(|sum| unit * sum.into_inner() as f64).collect();
        Counted { sums, bound, deviation }
    }
}

impl Clip for Counting<'_> {
    fn bounds(&self) -> &Bounds {
        self.rule.bounds()
    }

    fn factors(&self, squared_norms: &[f64], factors: &mut [f32]) {
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
