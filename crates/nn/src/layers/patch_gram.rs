//! The norm of a convolution's gradient without the gradient.

use crate::kernel::elementwise::dot_double;
use crate::kernel::matrix::Matrix;
use crate::layers::gram::{Size, gram, roundings};
use crate::layers::window::Window;

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
    let positions = window.positions();
    positions * (window.taps() * window.channels / groups + 2 * positions)
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
    let depth = window.taps() * inputs;
    let (patches, scratch) = scratch.split_at_mut(positions * depth);
    let (patch_gram, scratch) = scratch.split_at_mut(positions * positions);
    let upstream_gram = &mut scratch[..positions * positions];
    let (mut sum, mut size) = (0.0, Size::default());
    for group in 0..groups {
        for (position, patch) in patches.chunks_exact_mut(depth).enumerate() {
            let channels = group * inputs..(group + 1) * inputs;
            copy_patch(window, position, image, channels, patch);
        }
        let patches = Matrix::rows(patches, positions, depth);
        gram(patches, patch_gram, positions);
        let rows = Matrix::strided(&upstream[group * width..], positions, width, outputs);
        gram(rows, upstream_gram, positions);
        sum += dot_double(patch_gram, upstream_gram);
        for position in (0..positions * positions).step_by(positions + 1) {
            size.add(patch_gram[position], upstream_gram[position]);
        }
    }
    size.guard(sum, roundings(depth) + roundings(width), gradient_roundings, term_roundings)
}

/// Copies what lies under the window at one position, with zeros where it hangs over the border.
fn copy_patch(
    window: &Window,
    position: usize,
    image: &[f32],
    channels: std::ops::Range<usize>,
    patch: &mut [f32],
) {
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
