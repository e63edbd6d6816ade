//! Gaussian noise.

use super::elementary::{circle, negative_logarithm};
use super::key::Key;
use super::stream::{Keystream, Stream};

/// Normals made together: sixteen Box–Muller pairs, from three blocks of the stream.
pub(super) const CHUNK: usize = 32;
/// Blocks of the stream in a chunk: high halves of the radius, low halves, angles.
const BLOCKS: usize = 3;
/// Chunks worked on at a time: enough to keep the cipher's vector units busy, little enough to stay in the first cache.
const CHUNKS_AT_A_TIME: usize = 8;
/// Normals worked on at a time.
pub(super) const AT_A_TIME: usize = CHUNKS_AT_A_TIME * CHUNK;

/// Independent Gaussian noise, one normal for each coordinate of a stream.
///
/// ```
/// use muffle::noise::{GaussianNoise, Key, Purpose, Stream};
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
/// Box and Muller 1958, "A note on the generation of random normal deviates", with a 64-bit radius and a 32-bit angle
/// from ChaCha20.
///
/// # Guarantee
///
/// The noise of a coordinate depends on the key, the stream, the coordinate and the number of draws, and on nothing
/// else: not on the slice it was asked in, the thread, or the processor. A normal reaches 9.49 standard deviations; the
/// probability beyond is missing, which puts d coordinates within total variation distance d·2.3·10⁻²¹ of true normals.
pub struct GaussianNoise {
    key: Key,
    stream: Stream,
    draws: u32,
}

impl GaussianNoise {
    /// Noise from one stream, with one draw for each coordinate.
    pub fn new(key: &Key, stream: Stream) -> Self {
        Self { key: key.clone(), stream, draws: 1 }
    }

    /// Makes each normal the sum of several, divided by the square root of their number.
    ///
    /// The distribution stays the same, and the time grows in proportion. One draw can be guessed from the low bits
    /// of a release, since few pairs of floating-point numbers give exactly that value; with four draws the guess has
    /// too many answers to search.
    ///
    /// # Source
    ///
    /// Holohan and Braghin 2021, "Secure random sampling in differential privacy"; four draws, as in the secure mode of
    /// Opacus.
    ///
    /// # Panics
    ///
    /// If `draws` is zero.
    pub fn draws(mut self, draws: u32) -> Self {
        assert!(draws > 0, "noise needs at least one draw");
        self.draws = draws;
        self
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
            source.read_sums(coordinate / CHUNK as u64, self.draws, &mut normals[..chunks * CHUNK]);
            let (now, later) = values.split_at_mut(count);
            combine(now, &normals[skip..skip + count]);
            values = later;
            coordinate += count as u64;
        }
    }
}

/// The standard normals of a stream, one chunk after the other.
pub(super) struct Normals(Keystream);

impl Normals {
    pub(super) fn new(key: &Key, stream: Stream) -> Self {
        Self(Keystream::new(key.bytes(), stream))
    }

    /// Writes whole chunks, from chunk `first` of the stream on.
    pub(super) fn read(&mut self, first: u64, normals: &mut [f32]) {
        let mut blocks = [[0; 64]; CHUNKS_AT_A_TIME * BLOCKS];
        let blocks = &mut blocks[..normals.len() / CHUNK * BLOCKS];
        self.0.read(first.checked_mul(BLOCKS as u64).expect(BEYOND_THE_END), blocks);
        box_muller(blocks, normals);
    }

    /// Writes whole chunks, each the scaled sum of several; the draws of a chunk are neighbours in the stream.
    fn read_sums(&mut self, first: u64, draws: u32, sums: &mut [f32]) {
        let first = first.checked_mul(u64::from(draws)).expect(BEYOND_THE_END);
        if draws == 1 {
            return self.read(first, sums);
        }
        let (sums, _) = sums.as_chunks_mut::<CHUNK>();
        sums.fill([0.0; CHUNK]);
        let mut normals = [0.0; AT_A_TIME];
        let count = sums.len() * draws as usize;
        for begin in (0..count).step_by(CHUNKS_AT_A_TIME) {
            let end = count.min(begin + CHUNKS_AT_A_TIME);
            let normals = &mut normals[..(end - begin) * CHUNK];
            self.read(first + begin as u64, normals);
            for (chunk, normals) in (begin..end).zip(normals.as_chunks::<CHUNK>().0) {
                for (sum, normal) in sums[chunk / draws as usize].iter_mut().zip(normals) {
                    *sum += normal;
                }
            }
        }
        let scale = 1.0 / (draws as f32).sqrt();
        sums.as_flattened_mut().iter_mut().for_each(|sum| *sum *= scale);
    }
}

const BEYOND_THE_END: &str = "the coordinate lies beyond the end of the stream";

/// Turns three blocks of random bits into a chunk of standard normals, for each chunk.
fn box_muller(blocks: &[[u8; 64]], normals: &mut [f32]) {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f") {
            // SAFETY: the processor has the instructions that the function was compiled for.
            return unsafe { box_muller_avx512(blocks, normals) };
        }
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has the instructions that the function was compiled for.
            return unsafe { box_muller_avx2(blocks, normals) };
        }
    }
    box_muller_portable(blocks, normals);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn box_muller_avx512(blocks: &[[u8; 64]], normals: &mut [f32]) {
    box_muller_portable(blocks, normals);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn box_muller_avx2(blocks: &[[u8; 64]], normals: &mut [f32]) {
    box_muller_portable(blocks, normals);
}

#[inline(always)]
fn box_muller_portable(blocks: &[[u8; 64]], normals: &mut [f32]) {
    let chunks = blocks.as_chunks::<BLOCKS>().0.iter().zip(normals.as_chunks_mut::<CHUNK>().0);
    for ([high, low, angle], normals) in chunks {
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
    use crate::noise::Purpose;

    #[test]
    fn every_processor_gets_the_same_bits() {
        let mut blocks = [[0; 64]; 3 * 1000];
        Keystream::new(&[3; 32], Stream::new(Purpose::GradientNoise, 1)).read(0, &mut blocks);
        let (mut dispatched, mut portable) = ([0.0; 32 * 1000], [0.0; 32 * 1000]);
        box_muller(&blocks, &mut dispatched);
        box_muller_portable(&blocks, &mut portable);
        assert_eq!(dispatched.map(f32::to_bits), portable.map(f32::to_bits));
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has the instructions that the function was compiled for.
            unsafe { box_muller_avx2(&blocks, &mut dispatched) };
            assert_eq!(dispatched.map(f32::to_bits), portable.map(f32::to_bits));
        }
    }

    #[test]
    fn the_tail_reaches_beyond_nine() {
        let blocks = [[0; 64]; 3];
        let mut normals = [0.0; 32];
        box_muller(&blocks, &mut normals);
        assert!((normals[0] - 9.4926).abs() < 1e-4, "{}", normals[0]);
        // At the other end, no radius is zero.
        box_muller(&[[255; 64]; 3], &mut normals);
        assert!(normals.iter().all(|normal| *normal != 0.0 && normal.abs() < 1e-9));
    }

    #[test]
    #[should_panic(expected = "standard deviation NaN")]
    fn a_standard_deviation_that_is_no_number_is_refused() {
        let noise = GaussianNoise::new(&Key::from_seed(1), Stream::new(Purpose::GradientNoise, 0));
        noise.add(0, f32::NAN, &mut [0.0]);
    }
}
