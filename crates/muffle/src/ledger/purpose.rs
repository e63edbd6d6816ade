//! What an access to the records is for.

use crate::noise::{self, Stream};

/// What an access to the records is for: a name in the ledger, and streams of noise of its own.
///
/// A trainer declares its purposes as constants beside the code that uses them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Purpose {
    name: &'static str,
    /// A hash of the name, for streams that are a part of those of all other releases.
    hash: u32,
    /// A stream purpose that belongs to nothing else, for the main part of what is released.
    own: Option<noise::Purpose>,
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
        Purpose { name, hash: (hash >> 24) ^ (hash & 0x00ff_ffff), own: None }
    }

    /// A purpose whose noise has a stream purpose to itself.
    pub(crate) const fn with_noise(name: &'static str, noise: noise::Purpose) -> Purpose {
        Purpose { own: Some(noise), ..Purpose::new(name) }
    }

    /// As it stands in the ledger.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The noise of the access of this number.
    pub(super) fn stream(&self, number: u64) -> Stream {
        match self.own {
            Some(purpose) => Stream::new(purpose, number),
            None => self.named(number, 0),
        }
    }

    /// The noise on what the same access releases beside its main part.
    pub(super) fn beside(&self, number: u64) -> Stream {
        match self.own {
            // The first stream of statistics belongs to what comes before training.
            Some(noise::Purpose::GradientNoise) => Stream::new(noise::Purpose::StatisticNoise, number + 1),
            _ => self.named(number, 1),
        }
    }

    fn named(&self, number: u64, part: u64) -> Stream {
        assert!(number < 1 << NUMBER_BITS, "access {number} does not fit into {NUMBER_BITS} bits");
        Stream::new(noise::Purpose::Release, (u64::from(self.hash) << 1 | part) << NUMBER_BITS | number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_number_and_part_has_a_stream_of_its_own() {
        let named = ["votes", "coefficients", "count", "steps of the critic", "a", "b"].map(Purpose::new);
        let own = [
            Purpose::with_noise("method", noise::Purpose::RelevanceNoise),
            Purpose::with_noise("steps", noise::Purpose::GradientNoise),
            Purpose::with_noise("validation", noise::Purpose::ValidationNoise),
            Purpose::with_noise("principal_components", noise::Purpose::StatisticNoise),
        ];
        let mut seen = std::collections::HashSet::new();
        for purpose in named.into_iter().chain(own) {
            // Principal components are released once.
            let numbers =
                if purpose.name() == "principal_components" { &[0][..] } else { &[0, 1, 2, (1 << 31) - 1] };
            for &number in numbers {
                assert!(seen.insert(purpose.stream(number)), "{} {number}", purpose.name());
                assert!(seen.insert(purpose.beside(number)), "beside {} {number}", purpose.name());
            }
        }
    }
}
