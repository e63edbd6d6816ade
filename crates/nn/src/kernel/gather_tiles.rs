//! The inner tiles of the [gather product](super::gather): a few rows by sixteen columns held in registers.

use super::gather::Start;
use super::instructions::{Machine, machine};
use std::ops::Range;

/// Columns of a panel: one AVX-512 register, two AVX2 registers, four NEON registers.
pub const COLUMNS: usize = 16;

/// What a tile reads.
#[derive(Clone, Copy)]
struct Terms<'a> {
    image: &'a [f32],
    reductions: &'a [u32],
    panel: &'a [[f32; COLUMNS]],
    /// Terms that are summed before they are added; they are added one by one if absent.
    block: Option<usize>,
}

/// A tile of `ROWS` rows: reads `image[row + reduction]`, multiplies by the panel, adds to `sums`.
type Tile<const ROWS: usize> = unsafe fn(Terms, &[u32; ROWS], &mut [[f32; COLUMNS]; ROWS]);

/// Runs whole tiles of one of the listed sizes.
macro_rules! run_tiles {
    ($run:ident, $size:ident, $rows:ident, $output_rows:ident, $tile:path, $($rows_of_tile:literal)*) => {
        match $size {
            $($rows_of_tile => $run.tiles::<$rows_of_tile>($rows, $output_rows, $tile),)*
            other => unreachable!("a tile of {other} rows"),
        }
    };
}
/// One panel of the product for all rows, with the widest instructions this machine has.
///
/// The caller has checked that `rows[r] + reductions[s]` stays inside `image` for all pairs.
#[allow(clippy::too_many_arguments)]
pub(super) fn panel(
    image: &[f32],
    rows: &[u32],
    reductions: &[u32],
    panel: &[[f32; COLUMNS]],
    start: Start,
    output: &mut [f32],
    output_rows: &[u32],
    columns: Range<usize>,
) {
    assert_eq!(reductions.len(), panel.len());
    let block = match start {
        Start::Added { block } => Some(block),
        _ => None,
    };
    let terms = Terms { image, reductions, panel, block };
    let mut run = Run { terms, start, output, columns };
    match machine() {
        #[cfg(target_arch = "x86_64")]
        Machine::Avx512 => run.even_tiles::<12>(rows, output_rows, |run, size, rows, output_rows| {
            run_tiles!(run, size, rows, output_rows, x86::tile_512, 1 2 3 4 5 6 7 8 9 10 11 12)
        }),
        #[cfg(target_arch = "x86_64")]
        Machine::Avx2 => run.even_tiles::<6>(rows, output_rows, |run, size, rows, output_rows| {
            run_tiles!(run, size, rows, output_rows, x86::tile_256, 1 2 3 4 5 6)
        }),
        Machine::Portable => run.even_tiles::<4>(rows, output_rows, |run, size, rows, output_rows| {
            run_tiles!(run, size, rows, output_rows, tile_portable, 1 2 3 4)
        }),
    }
}

struct Run<'a> {
    terms: Terms<'a>,
    start: Start<'a>,
    output: &'a mut [f32],
    columns: Range<usize>,
}

impl Run<'_> {
    /// Splits the rows into the fewest tiles of at most `MOST` rows, as equal in size as can be: a tile of one or two
    /// rows waits for its own sums and takes as long as one of four.
    fn even_tiles<const MOST: usize>(
        &mut self,
        rows: &[u32],
        output_rows: &[u32],
        run: impl Fn(&mut Self, usize, &[u32], &[u32]),
    ) {
        if rows.is_empty() {
            return;
        }
        let tiles = rows.len().div_ceil(MOST);
        let (size, larger) = (rows.len() / tiles, rows.len() % tiles);
        let (larger_rows, rows) = rows.split_at(larger * (size + 1));
        let (larger_output_rows, output_rows) = output_rows.split_at(larger * (size + 1));
        if larger > 0 {
            run(self, size + 1, larger_rows, larger_output_rows);
        }
        run(self, size, rows, output_rows);
    }

    /// Runs whole tiles.
    fn tiles<const ROWS: usize>(&mut self, rows: &[u32], output_rows: &[u32], tile: Tile<ROWS>) {
        let blocks = rows.as_chunks::<ROWS>().0;
        let output_blocks = output_rows.as_chunks::<ROWS>().0;
        for (block, targets) in blocks.iter().zip(output_blocks) {
            let mut sums = [[0.0; COLUMNS]; ROWS];
            let width = self.columns.len();
            match self.start {
                Start::Zero => {}
                Start::Row(row) => sums.iter_mut().for_each(|sum| load(sum, row)),
                Start::Output | Start::Added { .. } => {
                    for (sum, &target) in sums.iter_mut().zip(targets) {
                        let begin = target as usize + self.columns.start;
                        load(sum, &self.output[begin..begin + width]);
                    }
                }
            }
            // SAFETY: `panel` picked this tile for instructions it found on this machine, and its caller has
            // checked every `row + reduction` against the image.
            unsafe { tile(self.terms, block, &mut sums) };
            for (sum, &target) in sums.iter().zip(targets) {
                let begin = target as usize + self.columns.start;
                let output = &mut self.output[begin..begin + width];
                match output.as_mut_array::<COLUMNS>() {
                    Some(output) => *output = *sum,
                    None => output.copy_from_slice(&sum[..width]),
                }
            }
        }
    }
}

/// Copies up to a whole row, without a call for a whole one.
fn load(sum: &mut [f32; COLUMNS], values: &[f32]) {
    match values.as_array::<COLUMNS>() {
        Some(values) => *sum = *values,
        None => sum[..values.len()].copy_from_slice(values),
    }
}

/// Adds the terms to `sums` by way of `sum`, which takes a stretch of them: all at once, or block by block, each from zero on.
#[inline(always)]
fn in_blocks<const ROWS: usize>(
    terms: Terms,
    sums: &mut [[f32; COLUMNS]; ROWS],
    sum: impl Fn(&[u32], &[[f32; COLUMNS]], &mut [[f32; COLUMNS]; ROWS]),
) {
    let Some(block) = terms.block else {
        return sum(terms.reductions, terms.panel, sums);
    };
    for (reductions, panel) in terms.reductions.chunks(block).zip(terms.panel.chunks(block)) {
        let mut partial = [[0.0; COLUMNS]; ROWS];
        sum(reductions, panel, &mut partial);
        for (sum, partial) in sums.as_flattened_mut().iter_mut().zip(partial.as_flattened()) {
            *sum += partial;
        }
    }
}

/// # Safety
/// Safe for any arguments whose `row + reduction` stay inside the image; others panic.
unsafe fn tile_portable<const ROWS: usize>(
    terms: Terms,
    rows: &[u32; ROWS],
    sums: &mut [[f32; COLUMNS]; ROWS],
) {
    in_blocks(terms, sums, |reductions, panel, sums| {
        let mut local = *sums;
        for (&reduction, factors) in reductions.iter().zip(panel) {
            for (sum, &row) in local.iter_mut().zip(rows) {
                let value = terms.image[(row + reduction) as usize];
                for (sum, factor) in sum.iter_mut().zip(factors) {
                    *sum += value * factor;
                }
            }
        }
        *sums = local;
    });
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{COLUMNS, Terms, in_blocks};
    use std::arch::x86_64::*;

    /// # Safety
    /// The machine has AVX2 and FMA, and every `row + reduction` lies inside the image.
    #[target_feature(enable = "avx2,fma")]
    pub unsafe fn tile_256<const ROWS: usize>(
        terms: Terms,
        rows: &[u32; ROWS],
        sums: &mut [[f32; COLUMNS]; ROWS],
    ) {
        // SAFETY: the rows lie inside the image by the caller's promise.
        let corners = rows.map(|row| unsafe { terms.image.as_ptr().add(row as usize) });
        in_blocks(terms, sums, |reductions, panel, sums| {
            // SAFETY: loads and stores of a row of sixteen stay inside that row; the image by the caller's promise.
            unsafe {
                let mut left: [__m256; ROWS] = std::array::from_fn(|row| _mm256_loadu_ps(sums[row].as_ptr()));
                let mut right: [__m256; ROWS] =
                    std::array::from_fn(|row| _mm256_loadu_ps(sums[row].as_ptr().add(8)));
                for (&reduction, factors) in reductions.iter().zip(panel) {
                    let low = _mm256_loadu_ps(factors.as_ptr());
                    let high = _mm256_loadu_ps(factors.as_ptr().add(8));
                    for row in 0..ROWS {
                        let value = _mm256_broadcast_ss(&*corners[row].add(reduction as usize));
                        left[row] = _mm256_fmadd_ps(value, low, left[row]);
                        right[row] = _mm256_fmadd_ps(value, high, right[row]);
                    }
                }
                for row in 0..ROWS {
                    _mm256_storeu_ps(sums[row].as_mut_ptr(), left[row]);
                    _mm256_storeu_ps(sums[row].as_mut_ptr().add(8), right[row]);
                }
            }
        });
    }

    /// # Safety
    /// The machine has AVX-512F, and every `row + reduction` lies inside the image.
    #[target_feature(enable = "avx512f")]
    pub unsafe fn tile_512<const ROWS: usize>(
        terms: Terms,
        rows: &[u32; ROWS],
        sums: &mut [[f32; COLUMNS]; ROWS],
    ) {
        // SAFETY: the rows lie inside the image by the caller's promise.
        let corners = rows.map(|row| unsafe { terms.image.as_ptr().add(row as usize) });
        in_blocks(terms, sums, |reductions, panel, sums| {
            // SAFETY: loads and stores of a row of sixteen stay inside that row; the image by the caller's promise.
            unsafe {
                let mut local: [__m512; ROWS] =
                    std::array::from_fn(|row| _mm512_loadu_ps(sums[row].as_ptr()));
                for (&reduction, factors) in reductions.iter().zip(panel) {
                    let factors = _mm512_loadu_ps(factors.as_ptr());
                    for row in 0..ROWS {
                        let value = _mm512_set1_ps(*corners[row].add(reduction as usize));
                        local[row] = _mm512_fmadd_ps(value, factors, local[row]);
                    }
                }
                for row in 0..ROWS {
                    _mm512_storeu_ps(sums[row].as_mut_ptr(), local[row]);
                }
            }
        });
    }
}
