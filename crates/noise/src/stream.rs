//! Independent streams of random bits under one key.

#[cfg(target_arch = "x86_64")]
use super::{eight_blocks, sixteen_blocks};
use chacha20::cipher::{StreamCipherCore, array::Array};
use chacha20::{ChaCha20LegacyCore, KeyIvInit};

/// What random numbers are for. Each purpose has streams of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Purpose {
    /// The first weights of a network.
    Initialisation = 1,
    /// Which records take part in a step.
    Sampling = 2,
    /// The noise on a sum of gradients.
    GradientNoise = 3,
    /// The noise on any other answer in the same step: counts, quantiles, votes.
    StatisticNoise = 4,
    /// Random changes of the inputs, and random inputs.
    Data = 5,
    /// Canaries, and the coin flips of an audit.
    Audit = 6,
    /// The noise on the relevance of neurons or inputs, before training.
    RelevanceNoise = 7,
    /// The noise on counts of validation records between two steps.
    ValidationNoise = 8,
    /// The noise on whatever else is released, by name and number.
    Release = 9,
}

/// One of 2⁶⁴ streams under a key: a purpose and a step.
///
/// # Guarantee
///
/// Different (purpose, step) pairs are different nonces of the cipher, so their streams are unrelated to anyone
/// without the key. The converse is the caller's duty, one stream for one release: noise drawn twice from a stream, even
/// of two kinds, is made of the same bits, and two releases under it can be subtracted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Stream(u64);

impl Stream {
    /// Bits of the nonce that hold the step; the rest hold the purpose.
    const STEP_BITS: u32 = 56;

    /// The stream that turns a seed into a key: purpose 0, which no [`Purpose`] has.
    pub(super) const KEY_EXPANSION: Self = Self(0);

    /// The stream for this purpose at this step.
    ///
    /// # Panics
    ///
    /// If `step` is 2⁵⁶ or more.
    pub fn new(purpose: Purpose, step: u64) -> Self {
        assert!(step < 1 << Self::STEP_BITS, "step {step} does not fit into {} bits", Self::STEP_BITS);
        Self((purpose as u64) << Self::STEP_BITS | step)
    }
}

/// The bits of one stream, 64 bytes at a time, readable at any place.
///
/// # Source
///
/// Bernstein 2008, "ChaCha, a variant of Salsa20": ChaCha20 with a 64-bit nonce and a 64-bit block counter, from the
/// `chacha20` crate, which picks its vector instructions at run time. Where the processor has AVX2 or AVX-512, faster kernels make
/// the same blocks, eight or sixteen at a time.
pub(super) struct Keystream {
    core: ChaCha20LegacyCore,
    #[cfg(target_arch = "x86_64")]
    initial: Option<[u32; 16]>,
    #[cfg(target_arch = "x86_64")]
    has_avx512: bool,
}

impl Keystream {
    pub(super) fn new(key: &[u8; 32], stream: Stream) -> Self {
        let nonce = stream.0.to_le_bytes();
        Self {
            core: ChaCha20LegacyCore::new(key.into(), &nonce.into()),
            #[cfg(target_arch = "x86_64")]
            initial: is_x86_feature_detected!("avx2").then(|| eight_blocks::initial(key, nonce)),
            #[cfg(target_arch = "x86_64")]
            has_avx512: is_x86_feature_detected!("avx512f"),
        }
    }

    /// Writes blocks `first`, `first + 1`, ... of the stream.
    pub(super) fn read(&mut self, first: u64, blocks: &mut [[u8; 64]]) {
        #[cfg(target_arch = "x86_64")]
        if let Some(initial) = &self.initial {
            let (mut next, mut blocks) = (first, blocks);
            if self.has_avx512 {
                let (groups, rest) = blocks.as_chunks_mut::<{ sixteen_blocks::BLOCKS }>();
                for group in groups {
                    // SAFETY: the processor has AVX-512.
                    unsafe { sixteen_blocks::write(initial, next, group) };
                    next = next.wrapping_add(sixteen_blocks::BLOCKS as u64);
                }
                blocks = rest;
            }
            let (groups, rest) = blocks.as_chunks_mut::<{ eight_blocks::BLOCKS }>();
            for group in groups {
                let counters = std::array::from_fn(|block| next.wrapping_add(block as u64));
                // SAFETY: there are initial words only where the processor has AVX2.
                unsafe { eight_blocks::write(initial, counters, group) };
                next = next.wrapping_add(eight_blocks::BLOCKS as u64);
            }
            return self.read_with_crate(next, rest);
        }
        self.read_with_crate(first, blocks);
    }

    /// Writes the blocks at these places of the stream, at most eight of them.
    pub(super) fn read_each(&mut self, places: &[u64], blocks: &mut [[u8; 64]]) {
        #[cfg(target_arch = "x86_64")]
        if let Some(initial) = &self.initial {
            let mut counters = [0; eight_blocks::BLOCKS];
            counters[..places.len()].copy_from_slice(places);
            let mut made = [[0; 64]; eight_blocks::BLOCKS];
            // SAFETY: there are initial words only where the processor has AVX2.
            unsafe { eight_blocks::write(initial, counters, &mut made) };
            return blocks.copy_from_slice(&made[..places.len()]);
        }
        for (place, block) in places.iter().zip(blocks) {
            self.read_with_crate(*place, std::slice::from_mut(block));
        }
    }

    fn read_with_crate(&mut self, first: u64, blocks: &mut [[u8; 64]]) {
        if !blocks.is_empty() {
            self.core.set_block_pos(first);
            self.core.write_keystream_blocks(Array::cast_slice_from_core_mut(blocks));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first bytes of ChaCha20 under a zero key and a zero nonce, from draft-strombergson-chacha-test-vectors-01,
    /// TC1, 256-bit key, blocks 0 and 1.
    #[test]
    fn known_answer() {
        let mut blocks = [[0; 64]; 2];
        Keystream::new(&[0; 32], Stream(0)).read(0, &mut blocks);
        assert_eq!(blocks[0][..8], [0x76, 0xb8, 0xe0, 0xad, 0xa0, 0xf1, 0x3d, 0x90]);
        assert_eq!(blocks[1][..8], [0x9f, 0x07, 0xe7, 0xbe, 0x55, 0x51, 0x38, 0x7a]);
    }

    #[test]
    fn any_place_can_be_read_alone() {
        // Around the 32-bit border of the counter, where an IETF counter would wrap.
        let first = u64::from(u32::MAX) - 5;
        let mut together = [[0; 64]; 13];
        let mut keystream = Keystream::new(&[1; 32], Stream::new(Purpose::Sampling, 7));
        keystream.read(first, &mut together);
        for index in (0..13).rev() {
            let mut alone = [[0; 64]];
            keystream.read(first + index, &mut alone);
            assert_eq!(alone[0], together[index as usize]);
        }
        let mut each = [[0; 64]; 3];
        keystream.read_each(&[first + 12, first, first + 7], &mut each);
        assert_eq!(each, [together[12], together[0], together[7]]);
    }

    #[test]
    fn blocks_made_together_are_those_of_the_crate() {
        // Around the borders of both halves of the counter, and with a rest that is no whole group.
        for first in [0, 1, u64::from(u32::MAX) - 9, (1 << 63) - 3, u64::MAX - 46] {
            for seed in 0..20u8 {
                let key =
                    std::array::from_fn(|index| seed.wrapping_mul(37) ^ (index as u8).wrapping_mul(101));
                let mut keystream = Keystream::new(&key, Stream(u64::from(seed) << 51 | 0x0102_0304_0506));
                let (mut own, mut expected) = ([[0; 64]; 45], [[0; 64]; 45]);
                keystream.read(first, &mut own);
                keystream.read_with_crate(first, &mut expected);
                assert_eq!(own, expected);
            }
        }
    }

    #[test]
    #[should_panic(expected = "does not fit")]
    fn a_step_cannot_spill_into_the_purpose() {
        Stream::new(Purpose::Sampling, 1 << 56);
    }
}
