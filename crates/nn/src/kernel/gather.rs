//! A matrix product whose left matrix is read straight out of an image.
//!
//! A convolution is a product of image patches with weights. The value of output position `p` at tap `k` sits at
//! address `p's corner + k's offset`, a sum of two small tables, so the patches need not be copied out first
//! (no im2col). The same sum serves the weight gradient with the tables swapped, and the input gradient with the
//! image of upstream gradients.

use super::gather_tiles;
use std::ops::Range;

pub use super::gather_tiles::COLUMNS;

/// Addresses relative to a base, with their largest value for one bounds check per call.
#[derive(Clone, Debug, Default)]
pub struct Offsets {
    values: Vec<u32>,
    largest: usize,
}

impl Offsets {
    /// Takes a table of offsets.
    pub fn new(values: Vec<u32>) -> Offsets {
        let largest = values.iter().max().map_or(0, |&value| value as usize);
        Offsets { values, largest }
    }

    /// `count` offsets, `stride` apart.
    pub fn strided(count: usize, stride: usize) -> Offsets {
        Offsets::new((0..count).map(|index| (index * stride) as u32).collect())
    }

    /// Number of offsets.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The table.
    pub fn values(&self) -> &[u32] {
        &self.values
    }
}

/// What the product is added to.
#[derive(Clone, Copy)]
pub enum Start<'a> {
    /// Nothing: the output is overwritten.
    Zero,
    /// One row of `columns` values for every output row: a bias.
    Row(&'a [f32]),
    /// What the output holds, term by term.
    Output,
    /// What the output holds, to which the sum of every so many terms is added, with fewer roundings. For several blocks in a
    /// [`REDUCTION_BLOCK`], and one in no more than that, `block` divides it.
    Added {
        /// Terms in a sum.
        block: usize,
    },
}

/// Values a matrix of `rows` by `columns` takes in panels: columns are padded to whole panels.
pub fn panels_len(rows: usize, columns: usize) -> usize {
    columns.div_ceil(COLUMNS) * COLUMNS * rows
}

/// Where rows go when they are packed: into panels `depth` rows deep, from row `first` on.
#[derive(Clone, Copy)]
pub struct Place {
    /// Rows of the whole panel.
    pub depth: usize,
    /// First row to write.
    pub first: usize,
}

/// Packs a row-major matrix, scaled by `factor`, into panels of sixteen columns.
pub fn pack(matrix: Rows, factor: f32, panels: &mut [f32]) {
    pack_at(matrix, factor, Place { depth: matrix.rows, first: 0 }, panels);
}

/// Rows of a matrix inside a longer slice.
#[derive(Clone, Copy)]
pub struct Rows<'a> {
    /// The slice.
    pub values: &'a [f32],
    /// Number of rows.
    pub rows: usize,
    /// Values in a row.
    pub columns: usize,
    /// Distance between the starts of two rows.
    pub stride: usize,
}

impl<'a> Rows<'a> {
    /// Rows without gaps.
    pub fn new(values: &'a [f32], rows: usize, columns: usize) -> Self {
        Rows { values, rows, columns, stride: columns }
    }
}

/// Packs rows into a part of deeper panels.
pub fn pack_at(matrix: Rows, factor: f32, place: Place, panels: &mut [f32]) {
    assert_eq!(panels.len(), panels_len(place.depth, matrix.columns), "panels of {} columns", matrix.columns);
    for (index, panel) in panels.chunks_exact_mut(place.depth * COLUMNS).enumerate() {
        let first = index * COLUMNS;
        let width = COLUMNS.min(matrix.columns - first);
        let targets = &mut panel.as_chunks_mut::<COLUMNS>().0[place.first..place.first + matrix.rows];
        for (row, target) in targets.iter_mut().enumerate() {
            let source = &matrix.values[row * matrix.stride + first..][..width];
            if let Some(source) = source.as_array::<COLUMNS>() {
                *target = source.map(|value| value * factor);
            } else {
                target.fill(0.0);
                for (target, source) in target.iter_mut().zip(source) {
                    *target = source * factor;
                }
            }
        }
    }
}

/// Reductions of this length keep one panel in the first-level cache.
pub const REDUCTION_BLOCK: usize = 384;

/// `output[output_rows[r] + n] = start + Σ_s image[rows[r] + reductions[s]] · panels[s][n]` for `n < columns`.
///
/// # Panics
/// If a table reaches beyond its slice.
#[allow(clippy::too_many_arguments)]
pub fn product(
    image: &[f32],
    rows: &Offsets,
    reductions: &Offsets,
    panels: &[f32],
    columns: usize,
    start: Start,
    output: &mut [f32],
    output_rows: &Offsets,
) {
    if rows.is_empty() || columns == 0 {
        return;
    }
    let depth = reductions.len();
    assert!(depth > 0, "a sum over nothing");
    assert_eq!(rows.len(), output_rows.len(), "one output row for every row");
    assert!(rows.largest + reductions.largest < image.len(), "tables reach beyond the image");
    assert!(output_rows.largest + columns <= output.len(), "tables reach beyond the output");
    assert_eq!(panels.len(), panels_len(depth, columns), "panels of {depth} x {columns}");
    let at_once = gather_tiles::panels_at_once();
    let mut begin = 0;
    while begin < depth {
        let end = depth.min(begin + REDUCTION_BLOCK);
        let terms = |panel: usize| {
            panels[(panel * depth + begin) * COLUMNS..(panel * depth + end) * COLUMNS].as_chunks().0
        };
        for (index, columns) in in_turn(columns, at_once * COLUMNS).enumerate() {
            let start = match start {
                Start::Added { block } => Start::Added { block },
                _ if begin > 0 => Start::Output,
                Start::Row(row) => Start::Row(&row[columns.clone()]),
                other => other,
            };
            let (reductions, panel) = (&reductions.values[begin..end], index * at_once);
            let (rows, output_rows) = (rows.values(), output_rows.values());
            if columns.len() > COLUMNS {
                let panels = [terms(panel), terms(panel + 1)];
                gather_tiles::panels(image, rows, reductions, panels, start, output, output_rows, columns);
            } else {
                let panels = [terms(panel)];
                gather_tiles::panels(image, rows, reductions, panels, start, output, output_rows, columns);
            }
        }
        begin = end;
    }
}

/// Ranges of at most `most` of `count`, one after the other.
fn in_turn(count: usize, most: usize) -> impl Iterator<Item = Range<usize>> {
    (0..count).step_by(most).map(move |first| first..count.min(first + most))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn naive(case: &Case) -> Vec<f32> {
        let mut output = case.output.clone();
        for (row, &target) in case.rows.iter().zip(&case.output_rows) {
            for column in 0..case.columns {
                let mut sum = match case.start {
                    0 => 0.0,
                    1 => f64::from(case.bias[column]),
                    _ => f64::from(case.output[target as usize + column]),
                };
                for (index, reduction) in case.reductions.iter().enumerate() {
                    sum += f64::from(case.image[(row + reduction) as usize])
                        * f64::from(case.matrix[index * case.columns + column]);
                }
                output[target as usize + column] = sum as f32;
            }
        }
        output
    }

    #[derive(Debug)]
    struct Case {
        image: Vec<f32>,
        rows: Vec<u32>,
        reductions: Vec<u32>,
        columns: usize,
        matrix: Vec<f32>,
        bias: Vec<f32>,
        output: Vec<f32>,
        output_rows: Vec<u32>,
        start: u8,
    }

    fn case(rows: usize, depth: usize, columns: usize, start: u8, seed: u64) -> Case {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut next = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 40) as f32 / (1u64 << 24) as f32 - 0.5
        };
        let reach = 50;
        Case {
            image: (0..2 * reach).map(|_| next()).collect(),
            rows: (0..rows).map(|_| ((next() + 0.5) * reach as f32) as u32).collect(),
            reductions: (0..depth).map(|_| ((next() + 0.5) * reach as f32) as u32).collect(),
            columns,
            matrix: (0..depth * columns).map(|_| next()).collect(),
            bias: (0..columns).map(|_| next()).collect(),
            output: (0..rows * (columns + 3)).map(|_| next()).collect(),
            output_rows: (0..rows).map(|row| (row * (columns + 3)) as u32).collect(),
            start,
        }
    }

    fn compute(case: &Case) -> Vec<f32> {
        let mut panels = vec![0.0; panels_len(case.reductions.len(), case.columns)];
        pack(Rows::new(&case.matrix, case.reductions.len(), case.columns), 1.0, &mut panels);
        let mut output = case.output.clone();
        let start = match case.start {
            0 => Start::Zero,
            1 => Start::Row(&case.bias),
            2 => Start::Output,
            _ => Start::Added { block: 48 },
        };
        product(
            &case.image,
            &Offsets::new(case.rows.clone()),
            &Offsets::new(case.reductions.clone()),
            &panels,
            case.columns,
            start,
            &mut output,
            &Offsets::new(case.output_rows.clone()),
        );
        output
    }

    proptest::proptest! {
        #[test]
        fn equals_a_naive_product(rows in 0usize..40, depth in 1usize..900, columns in 1usize..50, start in 0u8..4, seed: u64) {
            let case = case(rows, depth, columns, start, seed);
            for (computed, expected) in compute(&case).iter().zip(naive(&case)) {
                assert!((computed - expected).abs() < 1e-4, "{computed} against {expected}");
            }
        }
    }
}
