//! Shuffled records, cut into batches.

use super::Sampler;
use super::partition::Partition;
use crate::noise::{Key, Purpose, Stream, Uniform};
use muffle_accounting::{Assignment, Event};

/// Shuffles the records in every epoch and cuts them into batches of equal size, or of sizes that differ by one.
///
/// The number of records is public with this sampler, so there is no guarantee under add_remove: without one record all
/// later ones would move into other batches.
///
/// # Source
/// Yu et al. 2019, reshuffling; methods M02(d).
///
/// # Guarantee
/// Every record is in exactly one batch of an epoch. The epoch costs what one step costs, and no amplification is
/// claimed (R3).
pub struct Reshuffled {
    key: Key,
    records: usize,
    batches: usize,
    partition: Partition,
}

impl Reshuffled {
    /// A public number of records in `batches` batches.
    ///
    /// # Panics
    /// If there are no batches.
    pub fn new(key: &Key, records: usize, batches: usize) -> Reshuffled {
        assert!(batches > 0, "an epoch needs at least one batch");
        Reshuffled { key: key.clone(), records, batches, partition: Partition::default() }
    }
}

impl Sampler for Reshuffled {
    fn draw(&mut self, step: u64) -> Vec<usize> {
        let (key, records, batches) = (&self.key, self.records, self.batches);
        self.partition.batch(step, batches, |epoch| {
            let mut batch_of_record: Vec<usize> =
                (0..records).map(|place| place * batches / records).collect();
            Uniform::new(key, Stream::new(Purpose::Sampling, epoch)).shuffle(&mut batch_of_record);
            batch_of_record
        })
    }

    fn amplify(&self, event: Event) -> Event {
        event.partitioned_epoch(Assignment::Reshuffled)
    }

    fn period(&self) -> u64 {
        self.batches as u64
    }
}
