//! Products with one panel of sixteen columns, for matrices whose number of rows is known only at run time.
//!
//! The [gather product](super::gather) reads its left matrix through tables of addresses. Where the addresses are
//! evenly spaced, or follow from the size of a micro-batch, the tables are short and live on the stack.

use super::gather::Start;
use super::gather_tiles;
use std::ops::Range;

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

/// Addresses relative to a base, none above the largest.
#[derive(Clone, Copy)]
pub struct Table<'a> {
    values: &'a [u32],
    largest: usize,
}

impl<'a> Table<'a> {
    /// Takes a table of addresses.
    pub fn new(values: &'a [u32]) -> Table<'a> {
        let largest = values.iter().max().map_or(0, |&largest| largest as usize);
        Table { values, largest }
    }

    /// The addresses from one place on, under the same bound.
    pub fn from(self, first: usize) -> Table<'a> {
        let values = &self.values[first..];
        Table { values, ..self }
    }
}

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

/// Where the products of several panels go.
#[derive(Clone, Copy)]
pub struct Output {
    /// Distance between two rows.
    pub row_stride: usize,
    /// Distance between the first values of two panels.
    pub panel_stride: usize,
    /// Columns of all panels together; those of the last panel beyond it are left out.
    pub columns: usize,
}

/// `output[r · row_stride + p · panel_stride + n] = Σ_k left[r][k] · panels[p][k][n]`, plus `bias[p][n]` if there is one.
///
/// The panels lie one after the other; the sum runs from row `skip` of each panel on, which meets the first value of the
/// left rows.
///
/// # Panics
/// If the matrices reach beyond their slices.
pub fn products(
    left: Left,
    panels: &[f32],
    skip: usize,
    bias: Option<&[f32]>,
    output: &mut [f32],
    place: Output,
) {
    let count = place.columns.div_ceil(COLUMNS);
    let panel_len = panels.len() / count;
    for first in (0..left.rows).step_by(ROW_BLOCK) {
        let block = ROW_BLOCK.min(left.rows - first);
        let values = &left.values[first * left.stride..];
        let output = &mut output[first * place.row_stride..];
        let mut rows = [0; ROW_BLOCK];
        let mut output_rows = [0; ROW_BLOCK];
        for row in 0..block {
            rows[row] = (row * left.stride) as u32;
            output_rows[row] = (row * place.row_stride) as u32;
        }
        let (rows, output_rows) = (Table::new(&rows[..block]), &output_rows[..block]);
        for (index, panel) in panels.chunks_exact(panel_len).enumerate() {
            let width = COLUMNS.min(place.columns - index * COLUMNS);
            let output = &mut output[index * place.panel_stride..];
            let panel = &panel.as_chunks::<COLUMNS>().0[skip..];
            for (block, panel) in panel.chunks(DEPTH_BLOCK).enumerate() {
                let start = match bias {
                    _ if block > 0 => Start::Output,
                    Some(bias) => Start::Row(&bias[index * COLUMNS..][..width]),
                    None => Start::Zero,
                };
                let reductions = Table { values: &CONTIGUOUS[..panel.len()], largest: panel.len() - 1 };
                let values = &values[block * DEPTH_BLOCK..];
                let panel = panel.as_flattened();
                gather_product(values, rows, reductions, panel, start, output, output_rows, 0..width);
            }
        }
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
    rows: Table,
    reductions: Table,
    panel: &[f32],
    start: Start,
    output: &mut [f32],
    output_rows: &[u32],
    columns: Range<usize>,
) {
    assert_eq!(rows.values.len(), output_rows.len(), "one output row for every row");
    assert!(columns.len() <= COLUMNS, "a panel has {COLUMNS} columns");
    assert!(rows.largest + reductions.largest < values.len(), "tables reach beyond the values");
    gather_tiles::panels(
        values,
        rows.values,
        reductions.values,
        [panel.as_chunks().0],
        start,
        output,
        output_rows,
        columns,
    );
}

/// Writes rows of a matrix as the columns of a panel.
pub fn transpose(matrix: &[f32], width: usize, rows: Range<usize>, panel: &mut [f32]) {
    for (column, row) in rows.enumerate() {
        let values = &matrix[row * width..][..width];
        for (target, value) in panel.chunks_exact_mut(COLUMNS).zip(values) {
            target[column] = *value;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_naive_products() {
        let value = |index: usize| ((index * 7919) % 101) as f32 / 50.0 - 1.0;
        for (rows, depth, columns, skip) in
            [(1, 1, 1usize, 0), (5, 17, 48, 3), (97, 30, 25, 0), (200, 600, 16, 1)]
        {
            let (stride, panels) = (depth + 3, columns.div_ceil(COLUMNS));
            let values: Vec<f32> = (0..rows * stride).map(value).collect();
            let packed: Vec<f32> = (0..panels * (skip + depth) * COLUMNS).map(value).collect();
            let bias: Vec<f32> = (0..panels * COLUMNS).map(value).collect();
            let left = Left { values: &values, rows, stride };
            let place = Output { row_stride: COLUMNS + 1, panel_stride: rows * (COLUMNS + 1), columns };
            for bias in [None, Some(&bias[..])] {
                let mut output = vec![f32::NAN; panels * place.panel_stride];
                products(left, &packed, skip, bias, &mut output, place);
                for (index, computed) in output.iter().enumerate() {
                    let (panel, place) = (index / place.panel_stride, index % place.panel_stride);
                    let (row, column) = (place / (COLUMNS + 1), place % (COLUMNS + 1));
                    if column == COLUMNS || panel * COLUMNS + column >= columns {
                        assert!(computed.is_nan(), "nothing is written beside the products");
                        continue;
                    }
                    let term = |k: usize| {
                        let packed = packed[((panel * (skip + depth)) + skip + k) * COLUMNS + column];
                        f64::from(values[row * stride + k]) * f64::from(packed)
                    };
                    let bias = bias.map_or(0.0, |bias| f64::from(bias[panel * COLUMNS + column]));
                    let expected = bias + (0..depth).map(term).sum::<f64>();
                    let error = (f64::from(*computed) - expected).abs();
                    assert!(error < 1e-3, "panel {panel}, row {row}, column {column}");
                }
            }
        }
    }
}
