//! A subset of fixed size.

use super::Sampler;
use crate::noise::{Key, Purpose, Stream, Uniform};
use muffle_accounting::Event;
use std::collections::HashSet;

/// Takes a uniformly random subset of fixed size, anew in every step.
///
/// The number of records is public with this sampler, so there is no guarantee under add_remove.
///
/// # Source
/// Bentley and Floyd 1987, "A sample of brilliance"; accounting by Wang, Balle and Kasiviswanathan 2019.
///
/// # Guarantee
/// Every subset of `size` records is equally likely, independently of all other steps.
pub struct FixedSize {
    key: Key,
    records: usize,
    size: usize,
}

impl FixedSize {
    /// A subset of `size` among a public number of records.
    ///
    /// # Panics
    /// If the size is zero or larger than the number of records.
    pub fn new(key: &Key, records: usize, size: usize) -> FixedSize {
        assert!(0 < size && size <= records, "{size} of {records} records cannot be drawn");
        FixedSize { key: key.clone(), records, size }
    }
}

impl Sampler for FixedSize {
    fn draw(&mut self, step: u64) -> Vec<usize> {
        let mut uniform = Uniform::new(&self.key, Stream::new(Purpose::Sampling, step));
        let mut seen = HashSet::with_capacity(self.size);
        for last in self.records - self.size..self.records {
            let candidate = uniform.below(last as u64 + 1) as usize;
            if !seen.insert(candidate) {
                seen.insert(last);
            }
        }
        let mut drawn: Vec<usize> = seen.into_iter().collect();
        drawn.sort_unstable();
        drawn
    }

    fn amplify(&self, event: Event) -> Event {
        event.fixed_size_sampled(self.size as f64 / self.records as f64)
    }
}
