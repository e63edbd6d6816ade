//! Loops over images whose channels lie side by side: sums for every channel, and maps with one line per channel.
//!
//! Sums run over a few channels at a time down all pixels, so that they stay in registers; short partial sums keep
//! single precision accurate.

use crate::kernel::instructions::vectorised;

/// Pixels in one partial sum.
const BLOCK: usize = 64;

/// Runs `$run::<LANES>(…, first)` over all channels, in strips as wide as fit.
macro_rules! strips {
    ($channels:expr, $run:ident($($argument:expr),*)) => {{
        let mut first = 0;
        while first + 32 <= $channels {
            $run::<32>($($argument,)* first);
            first += 32;
        }
        while first + 8 <= $channels {
            $run::<8>($($argument,)* first);
            first += 8;
        }
        while first < $channels {
            $run::<1>($($argument,)* first);
            first += 1;
        }
    }};
}
pub(crate) use strips;

/// The values of one strip.
#[inline(always)]
pub(crate) fn strip<const LANES: usize>(values: &[f32], first: usize) -> [f32; LANES] {
    let mut strip = [0.0; LANES];
    strip.copy_from_slice(&values[first..first + LANES]);
    strip
}

vectorised! {
    /// `sums[c] = Σ (x - shift[c])` and `squares[c] = Σ (x - shift[c])²` over all pixels.
    pub fn moments(values: &[f32], shift: &[f32], sums: &mut [f32], squares: &mut [f32]) {
        let channels = shift.len();
        strips!(channels, moments_of(values, shift, sums, squares));
    }
}

#[inline(always)]
fn moments_of<const LANES: usize>(
    values: &[f32],
    shift: &[f32],
    sums: &mut [f32],
    squares: &mut [f32],
    first: usize,
) {
    let channels = shift.len();
    let shift = strip::<LANES>(shift, first);
    let (mut total, mut total_squares) = ([0.0f32; LANES], [0.0f32; LANES]);
    for block in values.chunks(BLOCK * channels) {
        let (mut sum, mut square) = ([0.0f32; LANES], [0.0f32; LANES]);
        for pixel in block.chunks_exact(channels) {
            let pixel = strip::<LANES>(pixel, first);
            for lane in 0..LANES {
                let value = pixel[lane] - shift[lane];
                sum[lane] += value;
                square[lane] += value * value;
            }
        }
        for lane in 0..LANES {
            total[lane] += sum[lane];
            total_squares[lane] += square[lane];
        }
    }
    sums[first..first + LANES].copy_from_slice(&total);
    squares[first..first + LANES].copy_from_slice(&total_squares);
}

vectorised! {
    /// `sums[c] = Σ x` over all pixels.
    pub fn pixel_sums(values: &[f32], sums: &mut [f32]) {
        let channels = sums.len();
        strips!(channels, pixel_sums_of(values, sums));
    }
}

#[inline(always)]
fn pixel_sums_of<const LANES: usize>(values: &[f32], sums: &mut [f32], first: usize) {
    let channels = sums.len();
    // In double precision, or an image of many pixels would have as many roundings as blocks.
    let mut total = [0.0f64; LANES];
    for block in values.chunks(BLOCK * channels) {
        let mut sum = [0.0f32; LANES];
        for pixel in block.chunks_exact(channels) {
            let pixel = strip::<LANES>(pixel, first);
            for lane in 0..LANES {
                sum[lane] += pixel[lane];
            }
        }
        for lane in 0..LANES {
            total[lane] += f64::from(sum[lane]);
        }
    }
    for (sum, total) in sums[first..first + LANES].iter_mut().zip(total) {
        *sum = total as f32;
    }
}

vectorised! {
    /// `sums[c] = Σ g` and `products[c] = Σ g · (x - center[c])` over all pixels, `g` being the upstream gradient.
    pub fn gradient_sums(
        input: &[f32],
        upstream: &[f32],
        center: &[f32],
        sums: &mut [f32],
        products: &mut [f32],
    ) {
        assert_eq!(input.len(), upstream.len());
        let channels = center.len();
        strips!(channels, gradient_sums_of(input, upstream, center, sums, products));
    }
}

#[inline(always)]
fn gradient_sums_of<const LANES: usize>(
    input: &[f32],
    upstream: &[f32],
    center: &[f32],
    sums: &mut [f32],
    products: &mut [f32],
    first: usize,
) {
    let channels = center.len();
    let center = strip::<LANES>(center, first);
    let (mut total, mut total_products) = ([0.0f32; LANES], [0.0f32; LANES]);
    let blocks = input.chunks(BLOCK * channels);
    for (input, upstream) in blocks.zip(upstream.chunks(BLOCK * channels)) {
        let (mut sum, mut product) = ([0.0f32; LANES], [0.0f32; LANES]);
        for (pixel, gradient) in input.chunks_exact(channels).zip(upstream.chunks_exact(channels)) {
            let (pixel, gradient) = (strip::<LANES>(pixel, first), strip::<LANES>(gradient, first));
            for lane in 0..LANES {
                sum[lane] += gradient[lane];
                product[lane] += gradient[lane] * (pixel[lane] - center[lane]);
            }
        }
        for lane in 0..LANES {
            total[lane] += sum[lane];
            total_products[lane] += product[lane];
        }
    }
    sums[first..first + LANES].copy_from_slice(&total);
    products[first..first + LANES].copy_from_slice(&total_products);
}

vectorised! {
    /// `output = (x - center[c]) · scale[c] + offset[c]`.
    pub fn normalise(input: &[f32], center: &[f32], scale: &[f32], offset: &[f32], output: &mut [f32]) {
        let channels = center.len();
        let (scale, offset) = (&scale[..channels], &offset[..channels]);
        for (input, output) in input.chunks_exact(channels).zip(output.chunks_exact_mut(channels)) {
            for channel in 0..channels {
                output[channel] = (input[channel] - center[channel]) * scale[channel] + offset[channel];
            }
        }
    }
}

/// The lines of [`pull_back`], one value of each for every channel.
#[derive(Clone, Copy)]
pub struct Lines<'a> {
    /// Subtracted from the input.
    pub center: &'a [f32],
    /// Times the upstream gradient.
    pub upstream: &'a [f32],
    /// Times the centred input.
    pub input: &'a [f32],
    /// Added.
    pub offset: &'a [f32],
}

vectorised! {
    /// `downstream = upstream · g + input · (x - center) + offset`, with the lines of each channel.
    pub fn pull_back(input: &[f32], upstream: &[f32], lines: Lines, downstream: &mut [f32]) {
        let channels = lines.center.len();
        let (center, offset) = (lines.center, &lines.offset[..channels]);
        let (by_gradient, by_input) = (&lines.upstream[..channels], &lines.input[..channels]);
        let pixels = input.chunks_exact(channels).zip(upstream.chunks_exact(channels));
        for ((input, gradient), output) in pixels.zip(downstream.chunks_exact_mut(channels)) {
            for channel in 0..channels {
                let centred = input[channel] - center[channel];
                output[channel] =
                    by_gradient[channel] * gradient[channel] + (by_input[channel] * centred + offset[channel]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn sums_equal_those_of_a_plain_loop(channels in 1usize..80, pixels in 0usize..200, start in -9i32..9) {
            let value = |index: usize| ((index * 37 + start.unsigned_abs() as usize) % 23) as f32 - 11.0;
            let input: Vec<f32> = (0..channels * pixels).map(value).collect();
            let upstream: Vec<f32> = input.iter().map(|value| (value * 0.7).sin()).collect();
            let shift: Vec<f32> = (0..channels).map(|channel| channel as f32 / 8.0).collect();
            let mut found = vec![vec![1.0; channels]; 5];
            let [sums, squares, gradients, products, plain] = &mut found[..] else { unreachable!() };
            pixel_sums(&input, plain);
            moments(&input, &shift, sums, squares);
            gradient_sums(&input, &upstream, &shift, gradients, products);
            for channel in 0..channels {
                let mut expected = [0.0f64; 5];
                for pixel in 0..pixels {
                    let value = f64::from(input[pixel * channels + channel] - shift[channel]);
                    let gradient = f64::from(upstream[pixel * channels + channel]);
                    let plain = f64::from(input[pixel * channels + channel]);
                    let terms = [value, value * value, gradient, gradient * value, plain];
                    expected.iter_mut().zip(terms).for_each(|(sum, term)| *sum += term);
                }
                for (found, expected) in found.iter().zip(expected) {
                    let error = (f64::from(found[channel]) - expected).abs();
                    assert!(error <= 1e-5 * (1.0 + expected.abs() + pixels as f64), "{error}");
                }
            }
        }
    }
}
