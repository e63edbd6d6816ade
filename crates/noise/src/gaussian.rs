//! Gaussian noise.

use super::elementary::{circle, negative_logarithm};
use super::key::Key;
use super::stream::{Keystream, Stream};

/// Normals made together: sixteen Box–Muller pairs, from two blocks of the stream.
const CHUNK: usize = 32;
/// Blocks of the stream in a chunk: radii and angles.
const BLOCKS: usize = 2;
/// Where the low halves of the radii lie in the stream: one block for each chunk, read only if a radius needs it.
const LOW_HALVES: u64 = 1 << 63;
/// Radii within this distance of either end of their range have a low half: about one in two thousand. Between, the high
/// half alone is finer than a floating-point number.
const COARSE: u32 = 1 << 20;
/// The low half of all other radii: the middle of the range.
const MIDDLE: [u8; 64] = *[[0, 0, 0, 128]; 16].as_flattened().as_array().expect("sixteen words");
/// Chunks worked on at a time: enough to keep the cipher's vector units busy, little enough to stay in the first cache.
const CHUNKS_AT_A_TIME: usize = 8;
/// Normals worked on at a time.
const AT_A_TIME: usize = CHUNKS_AT_A_TIME * CHUNK;

/// Independent Gaussian numbers in single precision, one for each coordinate of a stream: for first weights, random inputs and
/// noise that nobody vouches for. Private releases take [`IntegerNoise`](super::IntegerNoise).
///
/// ```
/// use muffle_noise::{GaussianNoise, Key, Purpose, Stream};
///
/// let noise = GaussianNoise::new(&Key::from_seed(7), Stream::new(Purpose::GradientNoise, 3));
/// let mut whole = [0.0; 100];
/// noise.add(0, 2.0, &mut whole);
///
/// // Any split of the coordinates gives the same noise.
/// let mut parts = [0.0; 100];
/// let (left, right) = parts.split_at_mut(37);
/// noise.add(37, 2.0, right);
/// noise.add(0, 2.0, left);
/// assert_eq!(whole, parts);
/// ```
///
/// # Source
///
/// Box and Muller 1958, "A note on the generation of random normal deviates", with a 64-bit radius (where 32
/// bits would show) and a 32-bit angle from ChaCha20.
///
/// # Guarantee
///
/// The noise of a coordinate depends on the key, the stream and the coordinate, and on nothing else: not on the slice it was asked in, the thread, or the processor. A normal reaches 9.49 standard deviations; the
/// probability beyond is missing, which puts d coordinates within total variation distance d·2.3·10⁻²¹ of true normals.
pub struct GaussianNoise {
    key: Key,
    stream: Stream,
}

impl GaussianNoise {
    /// Noise from one stream.
    pub fn new(key: &Key, stream: Stream) -> Self {
        Self { key: key.clone(), stream }
    }

    /// Adds noise to `values`, which are the coordinates from `first_coordinate` on.
    ///
    /// # Panics
    ///
    /// If the standard deviation is negative or not finite.
    pub fn add(&self, first_coordinate: u64, standard_deviation: f32, values: &mut [f32]) {
        self.visit(first_coordinate, standard_deviation, values, |values, normals| {
            for (value, normal) in values.iter_mut().zip(normals) {
                *value += standard_deviation * normal;
            }
        });
    }

    /// Overwrites `values` with noise: what [`add`](Self::add) makes of zeros.
    ///
    /// # Panics
    ///
    /// If the standard deviation is negative or not finite.
    pub fn fill(&self, first_coordinate: u64, standard_deviation: f32, values: &mut [f32]) {
        self.visit(first_coordinate, standard_deviation, values, |values, normals| {
            for (value, normal) in values.iter_mut().zip(normals) {
                *value = standard_deviation * normal;
            }
        });
    }

    /// Hands over `values` part by part, each with its standard normals.
    #[inline(always)]
    fn visit(
        &self,
        first_coordinate: u64,
        standard_deviation: f32,
        mut values: &mut [f32],
        combine: impl Fn(&mut [f32], &[f32]),
    ) {
        assert!(
            standard_deviation >= 0.0 && standard_deviation.is_finite(),
            "standard deviation {standard_deviation} is not a finite number of at least zero"
        );
        let mut source = Normals::new(&self.key, self.stream);
        let mut normals = [0.0; AT_A_TIME];
        let mut coordinate = first_coordinate;
        while !values.is_empty() {
            // The noise is made in whole chunks; a slice that begins inside one skips its beginning.
            let skip = (coordinate % CHUNK as u64) as usize;
            let count = values.len().min(normals.len() - skip);
            let chunks = (skip + count).div_ceil(CHUNK);
            source.read(coordinate / CHUNK as u64, &mut normals[..chunks * CHUNK]);
            let (now, later) = values.split_at_mut(count);
            combine(now, &normals[skip..skip + count]);
            values = later;
            coordinate += count as u64;
        }
    }
}

/// The standard normals of a stream, one chunk after the other.
struct Normals(Keystream);

impl Normals {
    fn new(key: &Key, stream: Stream) -> Self {
        Self(Keystream::new(key.bytes(), stream))
    }

    /// Writes whole chunks, from chunk `first` of the stream on.
    fn read(&mut self, first: u64, normals: &mut [f32]) {
        let chunks = normals.len() / CHUNK;
        let end = first.checked_add(chunks as u64).and_then(|end| end.checked_mul(BLOCKS as u64));
        assert!(end.is_some_and(|end| end <= LOW_HALVES), "{BEYOND_THE_END}");
        let mut blocks = [[0; 64]; CHUNKS_AT_A_TIME * BLOCKS];
        let mut low_halves = [MIDDLE; CHUNKS_AT_A_TIME];
        let (blocks, low_halves) = (&mut blocks[..chunks * BLOCKS], &mut low_halves[..chunks]);
        self.0.read(first * BLOCKS as u64, blocks);
        for (chunk, ([high, _], low)) in blocks.as_chunks().0.iter().zip(&mut *low_halves).enumerate() {
            if has_coarse(high) {
                self.refine(first + chunk as u64, high, low);
            }
        }
        box_muller(blocks, low_halves, normals);
    }

    /// Gives the coarse radii of a chunk their low halves.
    #[cold]
    fn refine(&mut self, chunk: u64, high: &[u8; 64], low: &mut [u8; 64]) {
        let mut block = [[0; 64]];
        self.0.read(LOW_HALVES + chunk, &mut block);
        let words = high.as_chunks::<4>().0.iter().zip(block[0].as_chunks::<4>().0);
        for ((&high, &drawn), low) in words.zip(low.as_chunks_mut::<4>().0) {
            if is_coarse(u32::from_le_bytes(high)) {
                *low = drawn;
            }
        }
    }
}

const BEYOND_THE_END: &str = "the coordinate lies beyond the end of the stream";

/// Whether a radius lies so near an end of its range that 32 bits would show.
#[inline(always)]
fn is_coarse(high: u32) -> bool {
    high.wrapping_add(COARSE) < 2 * COARSE
}

/// Whether any radius of a chunk does.
fn has_coarse(high: &[u8; 64]) -> bool {
    high.as_chunks::<4>().0.iter().fold(false, |any, &word| any | is_coarse(u32::from_le_bytes(word)))
}

/// Turns the blocks of random bits of each chunk into standard normals.
fn box_muller(blocks: &[[u8; 64]], low_halves: &[[u8; 64]], normals: &mut [f32]) {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f") {
            // SAFETY: the processor has the instructions that the function was compiled for.
            return unsafe { box_muller_avx512(blocks, low_halves, normals) };
        }
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            // SAFETY: the processor has the instructions that the function was compiled for.
            return unsafe { box_muller_avx2(blocks, low_halves, normals) };
        }
    }
    box_muller_portable(blocks, low_halves, normals);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn box_muller_avx512(blocks: &[[u8; 64]], low_halves: &[[u8; 64]], normals: &mut [f32]) {
    box_muller_portable(blocks, low_halves, normals);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn box_muller_avx2(blocks: &[[u8; 64]], low_halves: &[[u8; 64]], normals: &mut [f32]) {
    box_muller_portable(blocks, low_halves, normals);
}

#[inline(always)]
fn box_muller_portable(blocks: &[[u8; 64]], low_halves: &[[u8; 64]], normals: &mut [f32]) {
    let chunks = blocks.as_chunks::<BLOCKS>().0.iter().zip(low_halves);
    for (([high, angle], low), normals) in chunks.zip(normals.as_chunks_mut::<CHUNK>().0) {
        let (cosines, sines) = normals.split_at_mut(CHUNK / 2);
        for lane in 0..CHUNK / 2 {
            let word = |block: &[u8; 64]| u32::from_le_bytes(block.as_chunks::<4>().0[lane]);
            let radius = (2.0 * negative_logarithm(word(high), word(low))).sqrt();
            let (cosine, sine) = circle(word(angle));
            cosines[lane] = radius * cosine;
            sines[lane] = radius * sine;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Purpose;

    #[test]
    fn every_processor_gets_the_same_bits() {
        let mut blocks = [[0; 64]; 3 * 1000];
        Keystream::new(&[3; 32], Stream::new(Purpose::GradientNoise, 1)).read(0, &mut blocks);
        let (blocks, low_halves) = blocks.split_at(2 * 1000);
        let (mut dispatched, mut portable) = ([0.0; 32 * 1000], [0.0; 32 * 1000]);
        box_muller(blocks, low_halves, &mut dispatched);
        box_muller_portable(blocks, low_halves, &mut portable);
        assert_eq!(dispatched.map(f32::to_bits), portable.map(f32::to_bits));
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            // SAFETY: the processor has the instructions that the function was compiled for.
            unsafe { box_muller_avx2(blocks, low_halves, &mut dispatched) };
            assert_eq!(dispatched.map(f32::to_bits), portable.map(f32::to_bits));
        }
    }

    #[test]
    fn the_tail_reaches_beyond_nine() {
        let mut normals = [0.0; 32];
        box_muller(&[[0; 64]; 2], &[[0; 64]], &mut normals);
        assert!((normals[0] - 9.4926).abs() < 1e-4, "{}", normals[0]);
        // At the other end, no radius is zero.
        box_muller(&[[255; 64]; 2], &[[255; 64]], &mut normals);
        assert!(normals.iter().all(|normal| *normal != 0.0 && normal.abs() < 1e-9));
    }

    #[test]
    fn coarse_radii_are_refined_and_no_others() {
        let mut normals = Normals::new(&Key::from_seed(2), Stream::new(Purpose::GradientNoise, 0));
        let mut high = [MIDDLE; 1];
        high[0][..8].copy_from_slice(&[[255, 255, 15, 0], [0, 0, 16, 0]].concat());
        assert!(has_coarse(&high[0]) && !has_coarse(&MIDDLE));
        let mut low = MIDDLE;
        normals.refine(3, &high[0], &mut low);
        let mut drawn = [[0; 64]];
        Keystream::new(Key::from_seed(2).bytes(), Stream::new(Purpose::GradientNoise, 0))
            .read(LOW_HALVES + 3, &mut drawn);
        assert_eq!(low[..4], drawn[0][..4]);
        assert_eq!(low[4..], MIDDLE[4..]);
    }

    #[test]
    #[should_panic(expected = "standard deviation NaN")]
    fn a_standard_deviation_that_is_no_number_is_refused() {
        let noise = GaussianNoise::new(&Key::from_seed(1), Stream::new(Purpose::GradientNoise, 0));
        noise.add(0, f32::NAN, &mut [0.0]);
    }
}
