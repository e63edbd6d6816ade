//! The batches of the epoch at hand.

/// Records sorted by batch, kept from step to step of one epoch.
#[derive(Default)]
pub(super) struct Partition {
    epoch: Option<u64>,
    /// Records batch after batch, in increasing order within each.
    records: Vec<usize>,
    /// End of each batch in `records`.
    ends: Vec<usize>,
}

impl Partition {
    /// The batch of a step; `batch_of_record` deals out the records of an epoch and is asked only when a new one begins.
    pub fn batch(
        &mut self,
        step: u64,
        batches: usize,
        batch_of_record: impl FnOnce(u64) -> Vec<usize>,
    ) -> Vec<usize> {
        let (epoch, batch) = (step / batches as u64, (step % batches as u64) as usize);
        if self.epoch != Some(epoch) {
            self.deal(&batch_of_record(epoch), batches);
            self.epoch = Some(epoch);
        }
        let begin = if batch == 0 { 0 } else { self.ends[batch - 1] };
        self.records[begin..self.ends[batch]].to_vec()
    }

    /// Sorts by counting.
    fn deal(&mut self, batch_of_record: &[usize], batches: usize) {
        let mut places = vec![0; batches + 1];
        batch_of_record.iter().for_each(|batch| places[batch + 1] += 1);
        for batch in 0..batches {
            places[batch + 1] += places[batch];
        }
        self.records.resize(batch_of_record.len(), 0);
        for (record, &batch) in batch_of_record.iter().enumerate() {
            self.records[places[batch]] = record;
            places[batch] += 1;
        }
        // Every place has moved to the end of its batch.
        places.truncate(batches);
        self.ends = places;
    }
}
