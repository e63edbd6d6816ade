//! Decoded images: resized by a triangle filter, and made grey or coloured in eight bits.
//!
//! # Source
//! The filter, the order of its sums and the weights of the colours are those of version 0.25.10 of the `image` crate as it
//! is built for x86-64, so that records are the same, to the last bit, as when that crate prepared them. Where a build
//! allows it, that crate fuses the multiplications of the luma; here no build does, and all give the same pixels.

/// Weights of red, green and blue in the luma of Rec. 709, from its primaries and a white point of D65.
const LUMA: [f32; 3] = [0.212_647_84, 0.715_179_2, 0.072_173_04];

/// Stored samples, in the order of an image's rows.
#[derive(Clone, Debug, PartialEq)]
pub enum Samples {
    /// Of eight bits.
    Bytes(Vec<u8>),
    /// Of sixteen bits.
    Words(Vec<u16>),
}

/// A decoded image; the samples of a pixel lie side by side.
#[derive(Clone, Debug, PartialEq)]
pub struct Picture {
    /// Rows of pixels.
    pub height: usize,
    /// Pixels in a row.
    pub width: usize,
    /// Samples of a pixel: grey, grey and opacity, colour, or colour and opacity.
    pub channels: usize,
    /// All samples.
    pub samples: Samples,
}

impl Picture {
    /// The same picture in another size.
    pub fn resized(&self, [height, width]: [usize; 2]) -> Picture {
        let samples = match &self.samples {
            Samples::Bytes(stored) => {
                let sums = self.sums(stored, [height, width]);
                Samples::Bytes(sums.into_iter().map(|sum| sum.clamp(0.0, 255.0).round() as u8).collect())
            }
            Samples::Words(stored) => {
                let sums = self.sums(stored, [height, width]);
                Samples::Words(sums.into_iter().map(|sum| sum.clamp(0.0, 65535.0).round() as u16).collect())
            }
        };
        Picture { height, width, channels: self.channels, samples }
    }

    /// The luma of each pixel; opacity is left out.
    pub fn into_grey(self) -> Vec<u8> {
        match (self.samples, self.channels) {
            (Samples::Bytes(samples), 1) => samples,
            (Samples::Bytes(samples), 2) => samples.into_iter().step_by(2).collect(),
            (Samples::Words(samples), 1 | 2) => {
                samples.into_iter().step_by(self.channels).map(narrow).collect()
            }
            (Samples::Bytes(samples), channels) => {
                samples.chunks_exact(channels).map(|pixel| luma(pixel, 255.0)).collect()
            }
            (Samples::Words(samples), channels) => {
                samples.chunks_exact(channels).map(|pixel| luma(pixel, 65535.0)).collect()
            }
        }
    }

    /// Red, green and blue of each pixel; opacity is left out.
    pub fn into_colour(self) -> Vec<u8> {
        let samples = match self.samples {
            Samples::Bytes(samples) => samples,
            Samples::Words(samples) => samples.into_iter().map(narrow).collect(),
        };
        match self.channels {
            3 => samples,
            4 => samples.chunks_exact(4).flat_map(|pixel| [pixel[0], pixel[1], pixel[2]]).collect(),
            channels => samples.into_iter().step_by(channels).flat_map(|grey| [grey; 3]).collect(),
        }
    }

    /// Weighted sums of columns, then of rows.
    fn sums<T: Copy + Into<f32>>(&self, stored: &[T], [height, width]: [usize; 2]) -> Vec<f32> {
        let row = self.width * self.channels;
        let mut tall = vec![0.0f32; height * row];
        for (sums, (first, weights)) in tall.chunks_exact_mut(row).zip(weights(self.height, height)) {
            for (tap, weight) in weights.iter().enumerate() {
                for (sum, value) in sums.iter_mut().zip(&stored[(first + tap) * row..]) {
                    *sum += (*value).into() * weight;
                }
            }
        }
        let columns: Vec<(usize, Vec<f32>)> = weights(self.width, width).collect();
        let mut sums = Vec::with_capacity(height * width * self.channels);
        for row in tall.chunks_exact(row) {
            for (first, weights) in &columns {
                for channel in 0..self.channels {
                    let values = row[first * self.channels + channel..].iter().step_by(self.channels);
                    sums.push(
                        weights.iter().zip(values).fold(0.0, |sum, (weight, value)| sum + value * weight),
                    );
                }
            }
        }
        sums
    }
}

/// For each of the new places: the first of the old ones that contribute, and the weights of it and those after it.
fn weights(old: usize, new: usize) -> impl Iterator<Item = (usize, Vec<f32>)> {
    let ratio = old as f32 / new as f32;
    // A triangle spans two pixels of the coarser of both grids.
    let support = ratio.max(1.0);
    (0..new).map(move |place| {
        let centre = (place as f32 + 0.5) * ratio;
        let first = ((centre - support).floor() as i64).clamp(0, old as i64 - 1);
        let end = ((centre + support).ceil() as i64).clamp(first + 1, old as i64);
        let centre = centre - 0.5;
        let triangle = |at: i64| (1.0 - ((at as f32 - centre) / support).abs()).max(0.0);
        let mut weights: Vec<f32> = (first..end).map(triangle).collect();
        let sum = weights.iter().fold(0.0, |sum, weight| sum + weight);
        weights.iter_mut().for_each(|weight| *weight /= sum);
        (first as usize, weights)
    })
}

/// The nearest of 256 levels.
fn narrow(sample: u16) -> u8 {
    ((u32::from(sample) + 128) / 257) as u8
}

/// The luma of a pixel whose samples go up to `largest`.
fn luma<T: Copy + Into<f32>>(pixel: &[T], largest: f32) -> u8 {
    let share = 1.0 / largest;
    let sum =
        pixel.iter().zip(LUMA).fold(0.0, |sum, (sample, weight)| sum + (*sample).into() * share * weight);
    (sum * 255.0).round() as u8
}
