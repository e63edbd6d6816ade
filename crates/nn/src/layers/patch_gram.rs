//! The norm of a convolution's gradient without the gradient.

use crate::kernel::elementwise::dot_double;
use crate::kernel::instructions::vectorised;
use crate::kernel::matrix::Matrix;
use crate::layers::gram::{Size, gram, roundings};
use crate::layers::window::Window;
use std::ops::Range;

/// Whether Gram matrices cost less than keeping a gradient of `depth` by `width` for every example.
///
/// Keeping reads and writes memory: about as long as 64 multiply-adds a value once it has left the second-level cache,
/// 8 while it has not.
pub fn is_cheaper(positions: usize, depth: usize, width: usize) -> bool {
    let values = depth.saturating_mul(width);
    let price = if values > 1 << 16 { 64 } else { 8 };
    positions.saturating_mul(positions).saturating_mul(depth.saturating_add(width))
        < values.saturating_mul(price)
}

/// Values of scratch memory that [`squared_norm`] needs.
pub fn scratch_len(window: &Window, groups: usize) -> usize {
    let (positions, pixels) = (window.positions(), window.height * window.width);
    let patches = if by_pixels(window) {
        pixels * pixels
    } else {
        positions * window.taps() * window.channels / groups
    };
    patches + 2 * positions * positions
}

/// Whether the Gram matrix of patches is made from that of pixels: an inner product of two patches is the sum of those of their
/// pixels, and of these there are fewer.
fn by_pixels(window: &Window) -> bool {
    let pixels = (window.height * window.width).saturating_mul(window.height * window.width);
    window.stride == (1, 1)
        && pixels.saturating_mul(2) <= window.positions().saturating_mul(window.positions() * window.taps())
}

/// Squared norm of one example's weight gradient: the inner product of the Gram matrices of its patches and of its
/// upstream gradients. A value of the gradient that is then summed alone meets `gradient_roundings`, a term in the sum of a group
/// `term_roundings`.
///
/// # Source
/// Bu et al. 2022, "Scalable and efficient training of large convolutional neural networks with differential privacy",
/// equation (3).
#[allow(clippy::too_many_arguments)]
pub fn squared_norm(
    window: &Window,
    groups: usize,
    image: &[f32],
    upstream: &[f32],
    scratch: &mut [f32],
    gradient_roundings: usize,
    term_roundings: usize,
) -> f64 {
    let positions = window.positions();
    let outputs = upstream.len() / positions;
    let (inputs, width) = (window.channels / groups, outputs / groups);
    let (patch_gram, scratch) = scratch.split_at_mut(positions * positions);
    let (upstream_gram, scratch) = scratch.split_at_mut(positions * positions);
    let (mut sum, mut size, mut of_patches) = (0.0, Size::default(), 0);
    for group in 0..groups {
        of_patches =
            gram_of_patches(window, image, group * inputs..(group + 1) * inputs, patch_gram, scratch);
        let rows = Matrix::strided(&upstream[group * width..], positions, width, outputs);
        gram(rows, upstream_gram, positions);
        sum += dot_double(patch_gram, upstream_gram);
        for position in (0..positions * positions).step_by(positions + 1) {
            size.add(patch_gram[position], upstream_gram[position]);
        }
    }
    size.guard(sum, of_patches + roundings(width), gradient_roundings, term_roundings)
}

/// Overwrites the Gram matrix of the patches of some channels, and returns the roundings of an entry.
///
/// An inner product of pixels with r roundings is off by at most `r·2^-24` times their lengths. The sum over the pixels of two patches
/// is off by no more than that of the products of lengths, which is at most the product of the lengths of the patches; and each is
/// rounded once more for every pixel that is added.
fn gram_of_patches(
    window: &Window,
    image: &[f32],
    channels: Range<usize>,
    patch_gram: &mut [f32],
    scratch: &mut [f32],
) -> usize {
    let (positions, inputs) = (window.positions(), channels.len());
    if by_pixels(window) {
        let pixels = window.height * window.width;
        let pixel_gram = &mut scratch[..pixels * pixels];
        gram(Matrix::strided(&image[channels.start..], pixels, inputs, window.channels), pixel_gram, pixels);
        sum_over_taps(window, pixel_gram, patch_gram);
        return roundings(inputs) + window.taps();
    }
    let depth = window.taps() * inputs;
    let patches = &mut scratch[..positions * depth];
    for (position, patch) in patches.chunks_exact_mut(depth).enumerate() {
        copy_patch(window, position, image, channels.clone(), patch);
    }
    gram(Matrix::rows(patches, positions, depth), patch_gram, positions);
    roundings(depth)
}

vectorised! {
    /// Adds up the inner products of the pixels of every two patches, tap by tap; for windows that move by single pixels.
    fn sum_over_taps(window: &Window, pixel_gram: &[f32], patch_gram: &mut [f32]) {
        let (pixels, positions) = (window.height * window.width, window.positions());
        // Where positions begin and end whose pixel under a tap lies on the image, along one side.
        let on_image = |tap: usize, padding: usize, size: usize, places: usize| {
            padding.saturating_sub(tap)..places.min((size + padding).saturating_sub(tap))
        };
        patch_gram.fill(0.0);
        for tap in 0..window.taps() {
            let (tap_row, tap_column) = (tap / window.kernel_width, tap % window.kernel_width);
            let rows = on_image(tap_row, window.padding.0, window.height, window.output_height);
            let columns = on_image(tap_column, window.padding.1, window.width, window.output_width);
            let pixel = |row: usize, column: usize| {
                (row + tap_row - window.padding.0) * window.width + column + tap_column - window.padding.1
            };
            for (row, column) in rows.clone().flat_map(|row| columns.clone().map(move |column| (row, column))) {
                let sums = &mut patch_gram[(row * window.output_width + column) * positions..][..positions];
                let products = &pixel_gram[pixel(row, column) * pixels..][..pixels];
                for other in rows.clone() {
                    let sums = &mut sums[other * window.output_width..][columns.clone()];
                    let products = &products[pixel(other, columns.start)..][..columns.len()];
                    sums.iter_mut().zip(products).for_each(|(sum, product)| *sum += product);
                }
            }
        }
    }
}

/// Copies what lies under the window at one position, with zeros where it hangs over the border.
fn copy_patch(window: &Window, position: usize, image: &[f32], channels: Range<usize>, patch: &mut [f32]) {
    let (row, column) = (position / window.output_width, position % window.output_width);
    let (rows, columns) = (window.rows(row), window.columns(column));
    // Tap that meets the first row and column on the image.
    let first_row = rows.start + window.padding.0 - row * window.stride.0;
    let first_column = columns.start + window.padding.1 - column * window.stride.1;
    if rows.len() * columns.len() < window.taps() {
        patch.fill(0.0);
    }
    for (tap_row, y) in (first_row..).zip(rows) {
        for (tap_column, x) in (first_column..).zip(columns.clone()) {
            let tap = tap_row * window.kernel_width + tap_column;
            let pixel = (y * window.width + x) * window.channels;
            patch[tap * channels.len()..][..channels.len()]
                .copy_from_slice(&image[pixel + channels.start..pixel + channels.end]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ends::Ends;
    use crate::initialise::SplitMix;
    use crate::layers::Context;
    use crate::layers::window::Extent;
    use crate::shape::Shape;

    /// Windows of several sizes, on images of several channels, in groups or not.
    #[test]
    fn the_gram_matrix_of_patches_is_that_of_their_inner_products() {
        let mut generator = SplitMix::new(7);
        for (height, width, kernel, stride, padding) in [
            (5, 4, 3, 1, 1),
            (6, 7, 3, 1, 0),
            (4, 4, 5, 1, 2),
            (6, 6, 3, 2, 1),
            (3, 5, 1, 1, 0),
            (3, 3, 3, 1, 2),
        ] {
            let context = Context {
                name: "layer".to_string(),
                kind: "conv2d",
                input: Shape::image(6, height, width),
                ends: Ends::default(),
            };
            let [kernel, stride, padding] = [kernel, stride, padding].map(Extent::Square);
            let window = Window::new(&context, kernel, stride, padding).unwrap();
            let image: Vec<f32> = (0..6 * height * width).map(|_| generator.normal()).collect();
            let positions = window.positions();
            for (groups, channels) in [(1, 0..6), (3, 2..4)] {
                let mut found = vec![f32::NAN; positions * positions];
                let mut scratch = vec![f32::NAN; scratch_len(&window, groups)];
                gram_of_patches(&window, &image, channels.clone(), &mut found, &mut scratch);
                let mut patches = vec![vec![0.0; window.taps() * channels.len()]; positions];
                for (position, patch) in patches.iter_mut().enumerate() {
                    copy_patch(&window, position, &image, channels.clone(), patch);
                }
                for (entry, found) in found.iter().enumerate() {
                    let (one, other) = (&patches[entry / positions], &patches[entry % positions]);
                    assert!((f64::from(*found) - dot_double(one, other)).abs() < 1e-4, "{window:?}");
                }
            }
        }
    }
}
