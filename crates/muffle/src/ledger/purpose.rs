//! What an access to the records is for.

use crate::noise::{self, Stream};

/// What an access to the records is for: a name in the ledger, and streams of noise of its own.
///
/// A trainer declares its purposes as constants beside the code that uses them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Purpose {
    name: &'static str,
    noise: Noise,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Noise {
    /// A stream purpose that belongs to nothing else.
    Own(noise::Purpose),
    /// A part of the streams of other releases, by a hash of the name.
    Named(u32),
}

/// Bits of a step that number the accesses of a named purpose; one more says which of their two streams.
const NUMBER_BITS: u32 = 31;

impl Purpose {
    /// A purpose by this name.
    ///
    /// # Panics
    /// If the name is empty.
    pub const fn new(name: &'static str) -> Purpose {
        assert!(!name.is_empty(), "a purpose needs a name");
        // FNV-1a, folded to 24 bits: all that matters is that different names differ.
        let (bytes, mut hash, mut place) = (name.as_bytes(), 0x811c_9dc5u32, 0);
        while place < bytes.len() {
            hash = (hash ^ bytes[place] as u32).wrapping_mul(0x0100_0193);
            place += 1;
        }
        Purpose { name, noise: Noise::Named((hash >> 24) ^ (hash & 0x00ff_ffff)) }
    }

    /// A purpose whose noise has a stream purpose to itself.
    pub(crate) const fn with_noise(name: &'static str, noise: noise::Purpose) -> Purpose {
        Purpose { name, noise: Noise::Own(noise) }
    }

    /// As it stands in the ledger.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The noise of the access of this number.
    pub(super) fn stream(&self, number: u64) -> Stream {
        match self.noise {
            Noise::Own(purpose) => Stream::new(purpose, number),
            Noise::Named(hash) => named(hash, number, 0),
        }
    }

    /// The noise on what the same access releases beside its main part.
    pub(super) fn beside(&self, number: u64) -> Stream {
        match self.noise {
            // The first stream of statistics belongs to what comes before training.
            Noise::Own(_) => Stream::new(noise::Purpose::StatisticNoise, number + 1),
            Noise::Named(hash) => named(hash, number, 1),
        }
    }
}

fn named(hash: u32, number: u64, part: u64) -> Stream {
    assert!(number < 1 << NUMBER_BITS, "access {number} does not fit into {NUMBER_BITS} bits");
    Stream::new(noise::Purpose::Release, (u64::from(hash) << 1 | part) << NUMBER_BITS | number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_number_and_part_has_a_stream_of_its_own() {
        let mut seen = std::collections::HashSet::new();
        for name in ["votes", "coefficients", "count", "steps of the critic", "a", "b"] {
            for number in [0, 1, 2, (1 << 31) - 1] {
                let purpose = Purpose::new(name);
                assert!(seen.insert(purpose.stream(number)) && seen.insert(purpose.beside(number)));
            }
        }
    }
}
