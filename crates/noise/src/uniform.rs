//! Uniform numbers, one after the other.

use super::key::Key;
use super::stream::{Keystream, Stream};

/// Blocks fetched at a time: what the cipher makes at once.
const BLOCKS: usize = 4;

/// Reads a stream from its beginning as uniform numbers: for drawing records, coins and first weights.
///
/// ```
/// use muffle_noise::{Key, Purpose, Stream, Uniform};
///
/// let mut uniform = Uniform::new(&Key::from_seed(7), Stream::new(Purpose::Sampling, 0));
/// let sampled: Vec<usize> = (0..1000).filter(|_| uniform.chance(0.01)).collect();
/// assert!(sampled.len() < 40);
/// ```
///
/// # Guarantee
///
/// Number k of a stream depends on the key, the stream and k only.
pub struct Uniform {
    keystream: Keystream,
    blocks: [[u8; 64]; BLOCKS],
    next_block: u64,
    position: usize,
}

impl Uniform {
    /// The numbers of one stream.
    pub fn new(key: &Key, stream: Stream) -> Self {
        let keystream = Keystream::new(key.bytes(), stream);
        Self { keystream, blocks: [[0; 64]; BLOCKS], next_block: 0, position: BLOCKS * 64 }
    }

    /// 64 uniform bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        if self.position == BLOCKS * 64 {
            self.keystream.read(self.next_block, &mut self.blocks);
            self.next_block += BLOCKS as u64;
            self.position = 0;
        }
        let words = self.blocks.as_flattened().as_chunks::<8>().0;
        let bits = u64::from_le_bytes(words[self.position / 8]);
        self.position += 8;
        bits
    }

    /// A number in [0, 1), a multiple of 2⁻⁵³.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// True with the given probability, to the nearest 2⁻⁵³.
    #[inline]
    pub fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// A whole number in 0..bound, without bias.
    ///
    /// # Source
    ///
    /// Lemire 2019, "Fast random integer generation in an interval", with rejection.
    ///
    /// # Panics
    ///
    /// If `bound` is zero.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        assert!(bound > 0, "there is no whole number below zero");
        loop {
            let product = u128::from(self.bits()) * u128::from(bound);
            // Of the 2⁶⁴ words, the first 2⁶⁴ mod bound are one too many.
            if product as u64 >= bound.wrapping_neg() % bound {
                return (product >> 64) as u64;
            }
        }
    }

    /// A class among `classes` other than the given one: a wrong label.
    ///
    /// # Panics
    /// If there is no other class.
    pub fn wrong_class(&mut self, right: u32, classes: usize) -> u32 {
        let step = 1 + self.below(classes as u64 - 1);
        ((u64::from(right) + step) % classes as u64) as u32
    }

    /// Puts the items into a uniformly random order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last as u64 + 1) as usize);
        }
    }
}
