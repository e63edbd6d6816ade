//! Each record picks its batch.

use super::Sampler;
use super::partition::Partition;
use crate::noise::{Key, Purpose, Stream, Uniform};
use muffle_accounting::{Assignment, Event};

/// Lets each record pick one batch of every epoch, independently and uniformly.
///
/// # Source
/// Chua et al. 2025, "Balls-and-bins sampling for DP-SGD"; the price is that of methods M02(d), without amplification.
///
/// # Guarantee
/// Every record is in exactly one batch of an epoch, independently of all others, so that adding a record at the end does
/// not move any other; the epoch costs what one step costs.
pub struct BallsAndBins {
    key: Key,
    records: usize,
    batches: usize,
    partition: Partition,
}

impl BallsAndBins {
    /// Records that pick among `batches` batches.
    ///
    /// # Panics
    /// If there are no batches.
    pub fn new(key: &Key, records: usize, batches: usize) -> BallsAndBins {
        assert!(batches > 0, "an epoch needs at least one batch");
        BallsAndBins { key: key.clone(), records, batches, partition: Partition::default() }
    }
}

impl Sampler for BallsAndBins {
    fn draw(&mut self, step: u64) -> Vec<usize> {
        let (key, records, batches) = (&self.key, self.records, self.batches);
        self.partition.batch(step, batches, |epoch| {
            let mut uniform = Uniform::new(key, Stream::new(Purpose::Sampling, epoch));
            (0..records).map(|_| uniform.below(batches as u64) as usize).collect()
        })
    }

    fn amplify(&self, event: Event) -> Event {
        event.partitioned_epoch(Assignment::BallsAndBins)
    }

    fn period(&self) -> u64 {
        self.batches as u64
    }
}
