//! Laplace noise.

use super::gaussian::{AT_A_TIME, CHUNK, Normals};
use super::key::Key;
use super::stream::Stream;

/// Normals that make one Laplace number.
const DRAWS: usize = 4;

/// Independent Laplace noise, one number for each coordinate of a stream.
///
/// # Source
///
/// The determinant of a 2×2 matrix of standard normals, a·b − c·d, has the Laplace distribution of scale one (Nyquist,
/// Rice and Riordan 1954; Kotz, Kozubowski and Podgórski 2001, "The Laplace distribution and generalizations", section
/// 2.2). The usual formula, the logarithm of one uniform number, is the one that Mironov 2012 breaks by its low bits;
/// Holohan and Braghin 2021 ask for several random numbers in each, which this has.
///
/// # Guarantee
///
/// The noise of a coordinate depends on the key, the stream and the coordinate, and on nothing else.
pub struct LaplaceNoise {
    key: Key,
    stream: Stream,
}

impl LaplaceNoise {
    /// Noise from one stream.
    pub fn new(key: &Key, stream: Stream) -> Self {
        Self { key: key.clone(), stream }
    }

    /// Adds noise to `values`, which are the coordinates from `first_coordinate` on.
    ///
    /// The noise has mean zero and variance 2·scale².
    ///
    /// # Panics
    ///
    /// If the scale is negative or not finite.
    pub fn add(&self, first_coordinate: u64, scale: f32, mut values: &mut [f32]) {
        assert!(scale >= 0.0 && scale.is_finite(), "scale {scale} is not a finite number of at least zero");
        let mut source = Normals::new(&self.key, self.stream);
        let mut normals = [0.0; AT_A_TIME];
        let mut coordinate = first_coordinate;
        while !values.is_empty() {
            let skip = (coordinate % CHUNK as u64) as usize;
            let count = values.len().min(AT_A_TIME / DRAWS - skip);
            let chunks = (skip + count).div_ceil(CHUNK);
            let normals = &mut normals[..chunks * DRAWS * CHUNK];
            source.read(coordinate / CHUNK as u64 * DRAWS as u64, normals);
            let (now, later) = values.split_at_mut(count);
            let quadruples = normals.as_chunks::<CHUNK>().0.as_chunks::<DRAWS>().0;
            for (place, value) in (skip..).zip(now) {
                let ([a, b, c, d], lane) = (&quadruples[place / CHUNK], place % CHUNK);
                *value += scale * (a[lane] * b[lane] - c[lane] * d[lane]);
            }
            values = later;
            coordinate += count as u64;
        }
    }
}
