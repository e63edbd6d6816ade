//! Groups of records such that one record more changes one group.

use crate::examples::{Examples, Target};
use crate::split_mix::SplitMix;
use std::ops::Range;

/// Most parts that a group is dealt out in, so that rounding each to [its grid](crate::quanta::FINE) does not show.
const MOST_PARTS: usize = 64;

/// The records of a batch in groups: their order, and where each group lies in it.
pub(crate) struct Groups {
    /// Positions in the batch, group by group; `None` if there is one group and the order is that of the batch.
    order: Option<Vec<usize>>,
    /// Places in the order.
    pub ranges: Vec<Range<usize>>,
}

impl Groups {
    /// All records in one group.
    pub fn one(records: usize) -> Groups {
        Groups { order: None, ranges: std::iter::once(0..records).collect() }
    }

    /// Groups of at most `most` records, by a hash of each record's identity: a group with more is split in two by the next
    /// binary digit of the hash.
    ///
    /// # Guarantee
    /// With one record more, every group stays as it is but one, which has this record too, perhaps split into several.
    pub fn by_identity(examples: &dyn Examples, records: usize, most: usize) -> Groups {
        if records <= most {
            return Groups::one(records);
        }
        let mut hashed: Vec<(u64, usize)> =
            (0..records).map(|record| (SplitMix::new(examples.identity(record)).bits(), record)).collect();
        hashed.sort_unstable();
        let mut ranges = Vec::new();
        split(&hashed, most, 0, 0, &mut ranges);
        Groups { order: Some(hashed.into_iter().map(|(_, record)| record).collect()), ranges }
    }

    /// Deals the records out to threads, such that those of a thread follow each other. Of several groups, every thread gets a part.
    ///
    /// # Guarantee
    /// Which records of a group are a part of it together depends on that group and the number of threads alone.
    pub fn deal(&mut self, threads: usize) -> Vec<Share> {
        let records: usize = self.ranges.iter().map(Range::len).sum();
        let Some(order) = self.order.take() else {
            return (0..threads).map(|thread| Share::whole(share(records, threads, thread))).collect();
        };
        let (mut dealt, parts) = (Vec::with_capacity(records), threads.min(MOST_PARTS));
        let mut deal = |thread: usize| {
            let (begin, mut own) = (dealt.len(), Vec::new());
            for (number, group) in self.ranges.iter().enumerate() {
                // In turn, so that no thread has all the larger parts.
                let place = (thread + number) % threads;
                if place < parts {
                    let first = dealt.len();
                    dealt.extend_from_slice(&order[group.clone()][share(group.len(), parts, place)]);
                    own.push(first..dealt.len());
                }
            }
            Share { records: begin..dealt.len(), parts: own }
        };
        let shares = (0..threads).map(&mut deal).collect();
        self.order = Some(dealt);
        shares
    }

    /// Whether there are several groups.
    pub fn several(&self) -> bool {
        self.ranges.len() > 1
    }

    /// The position in the batch of the record at a place in the order.
    pub fn position(&self, place: usize) -> usize {
        self.order.as_ref().map_or(place, |order| order[place])
    }
}

/// What one thread has of a batch.
#[derive(Clone, Debug)]
pub(crate) struct Share {
    /// Its records.
    pub records: Range<usize>,
    /// The groups that they belong to, or its parts of them: stretches of these records.
    pub parts: Vec<Range<usize>>,
}

impl Share {
    /// Records of one group.
    pub fn whole(records: Range<usize>) -> Share {
        Share { parts: vec![records.clone()], records }
    }
}

/// One of several nearly equal stretches of so many places.
pub(crate) fn share(count: usize, of: usize, index: usize) -> Range<usize> {
    count * index / of..count * (index + 1) / of
}

/// Splits sorted hashes that agree in their first digits into groups of at most `most`; `first` is the place of the first of them.
fn split(hashed: &[(u64, usize)], most: usize, first: usize, digits: u32, ranges: &mut Vec<Range<usize>>) {
    if hashed.is_empty() {
        return;
    }
    // Records of the same identity, in batches that are not drawn from a data set, stay together.
    if hashed.len() <= most || digits == u64::BITS {
        return ranges.push(first..first + hashed.len());
    }
    let middle = hashed.partition_point(|(hash, _)| hash << digits >> 63 == 0);
    split(&hashed[..middle], most, first, digits + 1, ranges);
    split(&hashed[middle..], most, first + middle, digits + 1, ranges);
}

/// A batch whose records come in the order of the groups.
pub(crate) struct Ordered<'a> {
    pub examples: &'a dyn Examples,
    pub groups: &'a Groups,
}

impl Ordered<'_> {
    fn place(&self, index: usize) -> usize {
        let views = self.examples.views();
        self.groups.position(index / views) * views + index % views
    }
}

impl Examples for Ordered<'_> {
    fn len(&self) -> usize {
        self.examples.len()
    }

    fn read(&self, index: usize, input: &mut [f32]) {
        self.examples.read(self.place(index), input);
    }

    fn target(&self, index: usize) -> Target<'_> {
        self.examples.target(self.place(index))
    }

    fn weight(&self, index: usize) -> f32 {
        self.examples.weight(self.place(index))
    }

    fn views(&self) -> usize {
        self.examples.views()
    }

    fn identity(&self, record: usize) -> u64 {
        self.examples.identity(self.groups.position(record))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Records that are known by numbers.
    struct Numbers(Vec<u64>);

    impl Examples for Numbers {
        fn len(&self) -> usize {
            self.0.len()
        }

        fn read(&self, _: usize, _: &mut [f32]) {}

        fn target(&self, _: usize) -> Target<'_> {
            Target::None
        }

        fn identity(&self, record: usize) -> u64 {
            self.0[record]
        }
    }

    fn groups(numbers: &[u64], most: usize) -> BTreeSet<BTreeSet<u64>> {
        let groups = Groups::by_identity(&Numbers(numbers.to_vec()), numbers.len(), most);
        let of = |range: &Range<usize>| range.clone().map(|place| numbers[groups.position(place)]).collect();
        groups.ranges.iter().map(of).collect()
    }

    /// Parts of records that are dealt to threads, without those that are empty.
    fn parts(numbers: &[u64], most: usize, threads: usize) -> BTreeSet<Vec<u64>> {
        let mut groups = Groups::by_identity(&Numbers(numbers.to_vec()), numbers.len(), most);
        let shares = groups.deal(threads);
        let lens = || shares.iter().map(|share| share.records.len());
        assert!(lens().max().unwrap() - lens().min().unwrap() <= groups.ranges.len(), "{threads} threads");
        let parts = shares.iter().flat_map(|share| &share.parts).filter(|part| !part.is_empty());
        let all: Vec<Vec<u64>> =
            parts.map(|part| part.clone().map(|place| numbers[groups.position(place)]).collect()).collect();
        assert_eq!(all.iter().map(Vec::len).sum::<usize>(), numbers.len());
        all.into_iter().collect()
    }

    /// Groups that stay are dealt out in the same parts, in the same order.
    #[test]
    fn one_record_more_changes_the_parts_of_one_group() {
        for (count, threads) in [(100, 1), (100, 2), (333, 3), (1000, 7), (300, 70)] {
            let numbers: Vec<u64> = (0..count).map(|number| number * 7919).collect();
            let before = parts(&numbers, 32, threads);
            for more in (0..40).map(|place| place * 7919 * 16 + 1) {
                let mut numbers = numbers.clone();
                numbers.insert((more % count) as usize, more);
                let after = parts(&numbers, 32, threads);
                let of = |parts: Vec<&Vec<u64>>| -> BTreeSet<u64> {
                    parts.into_iter().flatten().copied().collect()
                };
                let (lost, new) =
                    (of(before.difference(&after).collect()), of(after.difference(&before).collect()));
                assert!(
                    lost.len() <= 32 && new.difference(&lost).eq([&more]),
                    "{count} records, {threads} threads"
                );
            }
        }
    }

    #[test]
    fn one_record_more_changes_one_group() {
        for (count, most) in
            [255, 256, 257, 300, 511, 1024, 3000].into_iter().flat_map(|count| [(count, 256), (count, 32)])
        {
            let numbers: Vec<u64> = (0..count).map(|number| number * 7919).collect();
            let before = groups(&numbers, most);
            assert_eq!(before.iter().map(BTreeSet::len).sum::<usize>(), numbers.len());
            assert!(before.iter().all(|group| group.len() <= most));
            for more in (0..200).map(|place| place * 7919 * 16 + 1) {
                let mut numbers = numbers.clone();
                numbers.insert((more % count) as usize, more);
                let after = groups(&numbers, most);
                let lost: Vec<_> = before.difference(&after).collect();
                assert!(lost.len() <= 1, "{count}: {} groups changed", lost.len());
                let new: BTreeSet<u64> = after.difference(&before).flatten().copied().collect();
                let mut expected = lost.first().map_or(BTreeSet::new(), |group| (*group).clone());
                expected.insert(more);
                assert_eq!(new, expected);
            }
        }
    }
}
