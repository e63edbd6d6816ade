//! Independent streams of random bits under one key.

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
/// `chacha20` crate, which picks its vector instructions at run time.
pub(super) struct Keystream(ChaCha20LegacyCore);

impl Keystream {
    pub(super) fn new(key: &[u8; 32], stream: Stream) -> Self {
        Self(ChaCha20LegacyCore::new(key.into(), &stream.0.to_le_bytes().into()))
    }

    /// Writes blocks `first`, `first + 1`, ... of the stream.
    pub(super) fn read(&mut self, first: u64, blocks: &mut [[u8; 64]]) {
        self.0.set_block_pos(first);
        self.0.write_keystream_blocks(Array::cast_slice_from_core_mut(blocks));
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
    }

    #[test]
    #[should_panic(expected = "does not fit")]
    fn a_step_cannot_spill_into_the_purpose() {
        Stream::new(Purpose::Sampling, 1 << 56);
    }
}
