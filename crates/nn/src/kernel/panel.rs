//! Products with one panel of sixteen columns, for matrices whose number of rows is known only at run time.
//!
//! The [gather product](super::gather) reads its left matrix through tables of addresses. Where the addresses are
//! evenly spaced, or follow from the size of a micro-batch, the tables are short and live on the stack.

use super::gather::Start;
use super::gather_tiles;

pub use super::gather_tiles::COLUMNS;

/// Longest sum in one go: a panel of this depth and the rows it meets stay in the first-level cache.
const DEPTH_BLOCK: usize = 256;

/// Rows in one go: whole tiles of every instruction set.
const ROW_BLOCK: usize = 96;

/// Addresses one after the other.
static CONTIGUOUS: [u32; DEPTH_BLOCK] = {
    let mut table = [0; DEPTH_BLOCK];
    let mut index = 0;
    while index < DEPTH_BLOCK {
        table[index] = index as u32;
        index += 1;
    }
    table
};

/// Rows of values that lie side by side, the rows a fixed distance apart.
#[derive(Clone, Copy)]
pub struct Left<'a> {
    /// The slice that holds them, from the first value on.
    pub values: &'a [f32],
    /// Number of rows.
    pub rows: usize,
    /// Distance between the starts of two rows.
    pub stride: usize,
}

/// `output[r · output_stride + n] = start + Σ_k left[r][k] · panel[k][n]` for `n < width`, with `k` over the whole depth
/// of the panel.
///
/// # Panics
/// If the matrices reach beyond their slices.
pub fn product(
    left: Left,
    panel: &[f32],
    start: Start,
    output: &mut [f32],
    output_stride: usize,
    width: usize,
) {
    let panel = panel.as_chunks::<COLUMNS>().0;
    let mut first = 0;
    while first < left.rows {
        let count = ROW_BLOCK.min(left.rows - first);
        let values = &left.values[first * left.stride..];
        let output = &mut output[first * output_stride..];
        let rows: [u32; ROW_BLOCK] = std::array::from_fn(|row| (row * left.stride) as u32);
        let output_rows: [u32; ROW_BLOCK] = std::array::from_fn(|row| (row * output_stride) as u32);
        for (block, panel) in panel.chunks(DEPTH_BLOCK).enumerate() {
            gather_product(
                &values[block * DEPTH_BLOCK..],
                &rows[..count],
                &CONTIGUOUS[..panel.len()],
                panel.as_flattened(),
                if block == 0 { start } else { Start::Output },
                output,
                &output_rows[..count],
                0..width,
            );
        }
        first += count;
    }
}

/// `output[output_rows[r] + n] = start + Σ_k values[rows[r] + reductions[k]] · panel[k][n - columns.start]` for `n` in
/// `columns`.
///
/// # Panics
/// If a table reaches beyond its slice.
#[allow(clippy::too_many_arguments)]
pub fn gather_product(
    values: &[f32],
    rows: &[u32],
    reductions: &[u32],
    panel: &[f32],
    start: Start,
    output: &mut [f32],
    output_rows: &[u32],
    columns: std::ops::Range<usize>,
) {
    let largest = |table: &[u32]| table.iter().max().map_or(0, |&largest| largest as usize);
    if rows.is_empty() || columns.is_empty() {
        return;
    }
    assert_eq!(rows.len(), output_rows.len(), "one output row for every row");
    assert!(columns.len() <= COLUMNS, "a panel has {COLUMNS} columns");
    assert!(
        reductions.is_empty() || largest(rows) + largest(reductions) < values.len(),
        "tables reach beyond the values"
    );
    gather_tiles::panel(
        values,
        rows,
        reductions,
        panel.as_chunks().0,
        start,
        output,
        output_rows,
        columns,
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equals_a_naive_product() {
        let value = |index: usize| ((index * 7919) % 101) as f32 / 50.0 - 1.0;
        for (rows, depth, width) in [(1, 1, 1), (5, 17, 16), (97, 30, 9), (200, 600, 16)] {
            let (stride, output_stride) = (depth + 3, width + 2);
            let values: Vec<f32> = (0..rows * stride).map(value).collect();
            let panel: Vec<f32> = (0..depth * COLUMNS).map(|index| value(index + 13)).collect();
            let mut output: Vec<f32> = (0..rows * output_stride).map(value).collect();
            let before = output.clone();
            let left = Left {
                values: &values,
                rows,
                stride,
            };
            product(left, &panel, Start::Output, &mut output, output_stride, width);
            for (index, (computed, before)) in output.iter().zip(before).enumerate() {
                let (row, column) = (index / output_stride, index % output_stride);
                let term =
                    |k: usize| f64::from(values[row * stride + k]) * f64::from(panel[k * COLUMNS + column]);
                let expected = if column < width {
                    f64::from(before) + (0..depth).map(term).sum::<f64>()
                } else {
                    f64::from(before)
                };
                assert!(
                    (f64::from(*computed) - expected).abs() < 1e-3,
                    "row {row}, column {column}"
                );
            }
        }
    }
}
