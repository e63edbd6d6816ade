//! Noise on the integers: real noise, rounded to the nearest integer without an error.

use super::key::Key;
use super::quick;
use super::stream::{Keystream, Stream};
use super::wide::Wide;
use muffle_nn::kernel::elementwise::add_double;

/// Integers made together: from two blocks of the stream, 32 bits each.
const CHUNK: usize = 32;
/// Blocks of the stream in a chunk.
const BLOCKS: usize = 2;
/// Chunks worked on at a time: enough to keep the cipher's vector units busy, little enough to stay in the first cache.
const CHUNKS_AT_A_TIME: usize = 16;
/// Integers worked on at a time.
const AT_A_TIME: usize = CHUNKS_AT_A_TIME * CHUNK;
/// Where the further digits of a chunk lie in the stream: 128 words, read only where the first 32 bits do not decide.
const FURTHER: u64 = 1 << 63;
/// Blocks of further digits of a chunk.
const FURTHER_BLOCKS: u64 = 8;
/// Words of a block.
const WORDS: usize = 16;
/// Blocks of further digits that are made together.
const AT_ONCE: usize = 8;
/// Words of further digits of one uniform number.
const DIGITS: usize = 4;
/// Relative error of logarithm, root and circle in double precision, with what surrounds them.
const DOUBLE: f64 = 1.0 / 562_949_953_421_312.0;

/// The largest scale of noise: its numbers stay below 2⁵³.
pub const LARGEST_SCALE: f64 = 281_474_976_710_656.0;

/// The distribution that is rounded, by its scale in units of the integers.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Gaussian(f64),
    Laplace(f64),
}

/// Independent noise on the integers, one number for each coordinate of a stream.
///
/// ```
/// use muffle_noise::{IntegerNoise, Key, Purpose, Stream};
///
/// let noise = IntegerNoise::gaussian(&Key::from_seed(7), Stream::new(Purpose::GradientNoise, 3), 1e6);
/// let mut whole = [0.0; 100];
/// noise.add(0, &mut whole);
/// assert!(whole.iter().all(|value| value.fract() == 0.0));
///
/// // Any split of the coordinates gives the same noise.
/// let mut parts = [0.0; 100];
/// let (left, right) = parts.split_at_mut(37);
/// noise.add(37, right);
/// noise.add(0, left);
/// assert_eq!(whole, parts);
/// ```
///
/// # Source
///
/// Box and Muller 1958 for normals, the inverse of the distribution function for Laplace numbers; digits of the uniform numbers are
/// drawn until the rounded result is certain, as in Karney 2016, "Sampling exactly from the normal distribution", but in three
/// steps: 32 digits in vectors, 160 in double precision, 160 in twice that.
///
/// # Guarantee
///
/// A number is the nearest integer to a Gaussian or Laplace variable of the given scale s: the joint distribution of d numbers is within
/// total variation distance d·s·2⁻⁹⁰ of that (docs/floating-point.md). It depends on the key, the stream and the coordinate, and on
/// nothing else: not on the slice it was asked in, the thread, or the processor.
pub struct IntegerNoise {
    key: Key,
    stream: Stream,
    kind: Kind,
}

impl IntegerNoise {
    /// Normals of this standard deviation, rounded.
    ///
    /// # Panics
    ///
    /// If the deviation is negative or beyond 2⁴⁸.
    pub fn gaussian(key: &Key, stream: Stream, deviation: f64) -> IntegerNoise {
        IntegerNoise { key: key.clone(), stream, kind: Kind::Gaussian(checked(deviation)) }
    }

    /// Laplace numbers of this scale, rounded.
    ///
    /// # Panics
    ///
    /// If the scale is negative or beyond 2⁴⁸.
    pub fn laplace(key: &Key, stream: Stream, scale: f64) -> IntegerNoise {
        IntegerNoise { key: key.clone(), stream, kind: Kind::Laplace(checked(scale)) }
    }

    /// Adds noise to integers, which are the coordinates from `first_coordinate` on.
    pub fn add(&self, first_coordinate: u64, mut values: &mut [f64]) {
        let mut keystream = Keystream::new(self.key.bytes(), self.stream);
        let mut noise = [0.0; AT_A_TIME];
        let mut coordinate = first_coordinate;
        while !values.is_empty() {
            // The noise is made in whole chunks; a slice that begins inside one skips its beginning.
            let skip = (coordinate % CHUNK as u64) as usize;
            let count = values.len().min(AT_A_TIME - skip);
            let chunks = (skip + count).div_ceil(CHUNK);
            self.read(&mut keystream, coordinate / CHUNK as u64, &mut noise[..chunks * CHUNK]);
            let (now, later) = values.split_at_mut(count);
            add_double(now, &noise[skip..skip + count]);
            values = later;
            coordinate += count as u64;
        }
    }

    /// Writes whole chunks, from chunk `first` of the stream on.
    fn read(&self, keystream: &mut Keystream, first: u64, noise: &mut [f64]) {
        let chunks = noise.len() / CHUNK;
        let end = first.checked_add(chunks as u64).and_then(|end| end.checked_mul(FURTHER_BLOCKS));
        assert!(end.is_some_and(|end| end <= FURTHER), "the coordinate lies beyond the end of the stream");
        let mut blocks = [[0; 64]; CHUNKS_AT_A_TIME * BLOCKS];
        let blocks = &mut blocks[..chunks * BLOCKS];
        keystream.read(first * BLOCKS as u64, blocks);
        let mut open = [false; CHUNKS_AT_A_TIME];
        dispatch(self.kind, blocks, noise, &mut open[..chunks]);
        // As many at a time as the cipher makes blocks at once.
        let (mut draws, mut count) = ([Draw::default(); AT_ONCE], 0);
        for chunk in (0..chunks).filter(|chunk| open[*chunk]) {
            for lane in 0..self.kind.lanes() {
                if count == AT_ONCE {
                    self.decide(keystream, first, blocks, &draws, noise);
                    count = 0;
                }
                if self.kind.is_open(&noise[chunk * CHUNK..], lane) {
                    draws[count] = Draw { chunk, lane };
                    count += 1;
                }
            }
        }
        self.decide(keystream, first, blocks, &draws[..count], noise);
    }

    /// Decides numbers that 32 digits do not.
    fn decide(
        &self,
        keystream: &mut Keystream,
        first: u64,
        blocks: &[[u8; 64]],
        draws: &[Draw],
        noise: &mut [f64],
    ) {
        if draws.is_empty() {
            return;
        }
        let words = self.kind.further_words();
        let mut further = [[0; 64]; AT_ONCE];
        let further = &mut further[..draws.len()];
        let mut places = [0; AT_ONCE];
        for (place, draw) in places.iter_mut().zip(draws) {
            *place =
                FURTHER + (first + draw.chunk as u64) * FURTHER_BLOCKS + (draw.lane * words / WORDS) as u64;
        }
        keystream.read_each(&places[..draws.len()], further);
        for (draw, further) in draws.iter().zip(further) {
            let own = &blocks[draw.chunk * BLOCKS..][..BLOCKS];
            let behind = &further.as_chunks::<4>().0[draw.lane * words % WORDS..];
            let digits = |first: u32, number: usize| {
                let mut digits = [first; 1 + DIGITS];
                let words = digits[1..].iter_mut().zip(&behind[number * DIGITS..]);
                words.for_each(|(digit, word)| *digit = u32::from_le_bytes(*word));
                digits
            };
            let noise = &mut noise[draw.chunk * CHUNK..][..CHUNK];
            match self.kind {
                Kind::Gaussian(deviation) => {
                    let (radius, angle) = (word(own, draw.lane), word(own, CHUNK / 2 + draw.lane));
                    (noise[draw.lane], noise[CHUNK / 2 + draw.lane]) =
                        gaussian(digits(radius, 0), digits(angle, 1), deviation);
                }
                Kind::Laplace(scale) => {
                    noise[draw.lane] = laplace(digits(word(own, draw.lane), 0), scale);
                }
            }
        }
    }
}

/// A draw of one number, or of two normals.
#[derive(Clone, Copy, Default)]
struct Draw {
    chunk: usize,
    /// Its place among those of the chunk.
    lane: usize,
}

impl Kind {
    /// Draws of a chunk.
    fn lanes(self) -> usize {
        match self {
            Kind::Gaussian(_) => CHUNK / 2,
            Kind::Laplace(_) => CHUNK,
        }
    }

    /// Words of further digits of a draw.
    fn further_words(self) -> usize {
        FURTHER_BLOCKS as usize * WORDS / self.lanes()
    }

    /// Whether the first digits of a draw in the chunk that begins here leave something open.
    fn is_open(self, noise: &[f64], lane: usize) -> bool {
        match self {
            Kind::Gaussian(_) => noise[lane].is_nan() || noise[CHUNK / 2 + lane].is_nan(),
            Kind::Laplace(_) => noise[lane].is_nan(),
        }
    }
}

/// A word of some blocks.
fn word(blocks: &[[u8; 64]], place: usize) -> u32 {
    u32::from_le_bytes(blocks.as_flattened().as_chunks().0[place])
}

fn checked(scale: f64) -> f64 {
    assert!((0.0..=LARGEST_SCALE).contains(&scale), "noise of scale {scale} is outside 0 to 2^48");
    scale
}

/// Rounds, if double precision is enough to tell.
fn nearest(value: f64, error: f64) -> Option<f64> {
    let nearest = value.round_ties_even();
    (0.5 - (value - nearest).abs() > error).then_some(nearest)
}

/// The top of a fraction's digits as a number, to the last place: what stands behind the last digit is half of it.
fn fraction(digits: [u32; 1 + DIGITS]) -> f64 {
    digits.iter().rev().fold(0.5, |rest, digit| (f64::from(*digit) + rest) / 4_294_967_296.0)
}

/// −ln of a fraction, to almost the last place.
fn negative_logarithm(digits: [u32; 1 + DIGITS]) -> f64 {
    if digits[0] >> 31 == 0 {
        -libm::log(fraction(digits))
    } else {
        -libm::log1p(-fraction(digits.map(|digit| !digit)))
    }
}

/// Two rounded normals from 160 digits of a radius and as many of an angle.
fn gaussian(radius: [u32; 1 + DIGITS], angle: [u32; 1 + DIGITS], deviation: f64) -> (f64, f64) {
    // The nearest quarter turn, and what is left: between −1/8 and 1/8 of a turn.
    let quarter = angle[0].wrapping_add(1 << 29) >> 30;
    let mut rest = angle;
    rest[0] = rest[0].wrapping_sub(quarter << 30);
    let negative = rest[0] >> 31 != 0;
    if negative {
        rest = rest.map(|digit| !digit);
    }
    let turned = |cosine: f64, sine: f64| match quarter {
        0 => (cosine, sine),
        1 => (-sine, cosine),
        2 => (-cosine, -sine),
        _ => (sine, -cosine),
    };
    let length = deviation * (2.0 * negative_logarithm(radius)).sqrt();
    let turn = std::f64::consts::TAU * if negative { -fraction(rest) } else { fraction(rest) };
    let (cosine, sine) = turned(length * libm::cos(turn), length * libm::sin(turn));
    if let (Some(cosine), Some(sine)) = (nearest(cosine, length * DOUBLE), nearest(sine, length * DOUBLE)) {
        return (cosine, sine);
    }
    let length = Wide::from(deviation) * (Wide::from(2.0) * wide_negative_logarithm(radius)).square_root();
    let turn = Wide::fraction(&rest);
    let (cosine, sine) = (if negative { -turn } else { turn }).circle();
    turned((length * cosine).nearest(), (length * sine).nearest())
}

/// A rounded Laplace number from a sign and 159 digits.
fn laplace(digits: [u32; 1 + DIGITS], scale: f64) -> f64 {
    let negative = digits[0] >> 31 != 0;
    // The digits without the sign: shifted by one place, with a one behind the last.
    let mut shifted = [0; 1 + DIGITS];
    for place in 0..=DIGITS {
        shifted[place] = digits[place] << 1 | digits.get(place + 1).map_or(1, |next| next >> 31);
    }
    let size = scale * negative_logarithm(shifted);
    let size = nearest(size, size * DOUBLE)
        .unwrap_or_else(|| (Wide::from(scale) * wide_negative_logarithm(shifted)).nearest());
    if negative { -size } else { size }
}

fn wide_negative_logarithm(digits: [u32; 1 + DIGITS]) -> Wide {
    -Wide::fraction(&digits).logarithm()
}

/// The numbers that 32 digits decide, and NaN in the place of the others; whether there are such in each chunk.
fn dispatch(kind: Kind, blocks: &[[u8; 64]], noise: &mut [f64], open: &mut [bool]) {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512dq") {
            // SAFETY: the processor has the instructions that the function was compiled for.
            return unsafe { quick_avx512(kind, blocks, noise, open) };
        }
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            // SAFETY: the processor has the instructions that the function was compiled for.
            return unsafe { quick_avx2(kind, blocks, noise, open) };
        }
    }
    quick_portable(kind, blocks, noise, open);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512dq")]
fn quick_avx512(kind: Kind, blocks: &[[u8; 64]], noise: &mut [f64], open: &mut [bool]) {
    quick_portable(kind, blocks, noise, open);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn quick_avx2(kind: Kind, blocks: &[[u8; 64]], noise: &mut [f64], open: &mut [bool]) {
    quick_portable(kind, blocks, noise, open);
}

#[inline(always)]
fn quick_portable(kind: Kind, blocks: &[[u8; 64]], noise: &mut [f64], open: &mut [bool]) {
    let (blocks, noise) = (blocks.as_chunks::<BLOCKS>().0, noise.as_chunks_mut::<CHUNK>().0);
    let word = |block: &[u8; 64], lane: usize| u32::from_le_bytes(block.as_chunks::<4>().0[lane]);
    for ((blocks, noise), open) in blocks.iter().zip(noise).zip(open) {
        match kind {
            Kind::Gaussian(deviation) => {
                let [radius, angle] = blocks;
                let (cosines, sines) = noise.split_at_mut(CHUNK / 2);
                for lane in 0..CHUNK / 2 {
                    (cosines[lane], sines[lane]) =
                        quick::gaussian(word(radius, lane), word(angle, lane), deviation);
                }
            }
            Kind::Laplace(scale) => {
                for (block, noise) in blocks.iter().zip(noise.chunks_exact_mut(CHUNK / 2)) {
                    for (lane, noise) in noise.iter_mut().enumerate() {
                        *noise = quick::laplace(word(block, lane), scale);
                    }
                }
            }
        }
        // Without a branch for each, so that it is one sweep.
        *open = noise.iter().fold(false, |any, value| any | value.is_nan());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Purpose;

    fn wide_gaussian(radius: [u32; 5], angle: [u32; 5], deviation: f64) -> (f64, f64) {
        let length =
            Wide::from(deviation) * (Wide::from(2.0) * wide_negative_logarithm(radius)).square_root();
        let turn = Wide::fraction(&angle);
        let quarter = (turn.high * 4.0).round();
        let (cosine, sine) = (turn - Wide::from(quarter / 4.0)).circle();
        let (x, y) = ((length * cosine).nearest(), (length * sine).nearest());
        match quarter as u32 % 4 {
            0 => (x, y),
            1 => (-y, x),
            2 => (-x, -y),
            _ => (y, -x),
        }
    }

    /// Digits with long runs of zeros and ones as often as random ones.
    fn digits(state: &mut u64) -> [u32; 5] {
        std::array::from_fn(|_| {
            *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let (random, shift) = ((*state >> 32) as u32, (*state >> 24) as u32 % 32);
            match *state >> 61 {
                0 => random >> shift,
                1 => !(random >> shift),
                _ => random,
            }
        })
    }

    /// What 32 digits decide, and what 160 decide in double precision, is what twice the precision says.
    #[test]
    fn all_ways_agree() {
        let mut state = 1;
        let (mut quickly, mut all) = (0, 0);
        for round in 0..150_000 {
            let scale = [1.0, 1000.0, 2f64.powi(18), 2f64.powi(22)][round % 4];
            let (radius, angle) = (digits(&mut state), digits(&mut state));
            let expected = wide_gaussian(radius, angle, scale);
            assert_eq!(gaussian(radius, angle, scale), expected, "{radius:?} {angle:?} {scale}");
            let quick = quick::gaussian(radius[0], angle[0], scale);
            let sign = if radius[0] >> 31 == 0 { 1.0 } else { -1.0 };
            let wide = |digits: [u32; 5]| {
                let fraction = Wide::fraction(&digits) - Wide::from(0.5 * f64::from(digits[0] >> 31));
                let size = -(fraction * Wide::from(2.0)).logarithm();
                sign * (Wide::from(scale) * size).nearest()
            };
            assert_eq!(laplace(radius, scale), wide(radius), "{radius:?} {scale}");
            for (quick, expected) in [
                (quick.0, expected.0),
                (quick.1, expected.1),
                (quick::laplace(radius[0], scale), wide(radius)),
            ] {
                assert!(
                    quick.is_nan() || quick == expected,
                    "{radius:?} {angle:?} {scale}: {quick} {expected}"
                );
                (quickly, all) = (quickly + usize::from(!quick.is_nan()), all + 1);
            }
        }
        assert!(quickly > all / 2, "{quickly} of {all}");
    }

    #[test]
    fn every_processor_decides_the_same() {
        let mut blocks = [[0; 64]; 2 * 500];
        Keystream::new(&[3; 32], Stream::new(Purpose::GradientNoise, 1)).read(0, &mut blocks);
        for kind in [Kind::Gaussian(1e5), Kind::Laplace(1e5)] {
            let (mut dispatched, mut portable) = ([0.0; 32 * 500], [0.0; 32 * 500]);
            let (mut open, mut open_portable) = ([false; 500], [false; 500]);
            dispatch(kind, &blocks, &mut dispatched, &mut open);
            quick_portable(kind, &blocks, &mut portable, &mut open_portable);
            assert_eq!(dispatched.map(f64::to_bits), portable.map(f64::to_bits));
            assert_eq!(open, open_portable);
            for (chunk, open) in dispatched.chunks_exact(CHUNK).zip(open) {
                assert_eq!(open, chunk.iter().any(|value| value.is_nan()));
            }
        }
    }

    #[test]
    #[should_panic(expected = "outside 0 to 2^48")]
    fn a_scale_that_is_no_number_is_refused() {
        let _ = IntegerNoise::gaussian(&Key::from_seed(1), Stream::new(Purpose::GradientNoise, 0), f64::NAN);
    }
}
