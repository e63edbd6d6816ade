//! The inner tiles of the [gather product](super::gather): a few rows by one or two times sixteen columns held in registers.

use super::gather::Start;
use super::instructions::{Machine, machine};
use std::ops::Range;

/// Columns of a panel: one AVX-512 register, two AVX2 registers, four NEON registers.
pub const COLUMNS: usize = 16;

/// What a tile reads: the image, and one or more panels side by side.
#[derive(Clone, Copy)]
struct Terms<'a, const PANELS: usize> {
    image: &'a [f32],
    reductions: &'a [u32],
    panels: [&'a [[f32; COLUMNS]]; PANELS],
    begin: Begin<'a, PANELS>,
}

/// What the sums of a tile begin with.
#[derive(Clone, Copy)]
enum Begin<'a, const PANELS: usize> {
    /// Nothing.
    Zero,
    /// The same row for all.
    Row(&'a [[f32; COLUMNS]; PANELS]),
    /// What stands where they go.
    There,
    /// Nothing after every so many terms, whose sum is then added to what stands there.
    Added { block: usize },
}

impl<const PANELS: usize> Terms<'_, PANELS> {
    /// Terms that are summed in one go.
    fn block(&self) -> usize {
        match self.begin {
            Begin::Added { block } => block,
            _ => self.reductions.len(),
        }
    }
}

/// A tile of `ROWS` rows: reads `image[row + reduction]`, multiplies by the panels, and leaves sums where rows of as many panels begin.
///
/// # Safety
/// The machine has the instructions, every `row + reduction` lies inside the image, there is a reduction, and the places are each that of
/// `PANELS * COLUMNS` numbers which nobody else reads or writes.
type Tile<const PANELS: usize, const ROWS: usize> = unsafe fn(Terms<PANELS>, &[u32; ROWS], [*mut f32; ROWS]);

/// Panels that a tile has beside each other on this machine. With 32 wide registers there is room for two: what is read of the image
/// then serves twice, and reading it would otherwise take as long as multiplying.
pub(super) fn panels_at_once() -> usize {
    match machine() {
        #[cfg(target_arch = "x86_64")]
        Machine::Avx512 => 2,
        _ => 1,
    }
}

/// Runs whole tiles of one of the listed sizes.
macro_rules! run_tiles {
    ($run:ident, $size:ident, $rows:ident, $output_rows:ident, $tile:path, $($rows_of_tile:literal)*) => {
        match $size {
            $($rows_of_tile => $run.tiles::<$rows_of_tile>($rows, $output_rows, $tile),)*
            other => unreachable!("a tile of {other} rows"),
        }
    };
}

/// One or more panels of the product for all rows, with the widest instructions this machine has.
///
/// The caller has checked that `rows[r] + reductions[s]` stays inside `image` for all pairs.
#[allow(clippy::too_many_arguments)]
pub(super) fn panels<const PANELS: usize>(
    image: &[f32],
    rows: &[u32],
    reductions: &[u32],
    panels: [&[[f32; COLUMNS]]; PANELS],
    start: Start,
    output: &mut [f32],
    output_rows: &[u32],
    columns: Range<usize>,
) {
    assert!(panels.iter().all(|panel| panel.len() == reductions.len()) && !reductions.is_empty());
    let mut row = [[0.0; COLUMNS]; PANELS];
    let begin = match start {
        Start::Zero => Begin::Zero,
        Start::Row(values) => {
            row.as_flattened_mut()[..values.len()].copy_from_slice(values);
            Begin::Row(&row)
        }
        Start::Output => Begin::There,
        Start::Added { block } => Begin::Added { block },
    };
    let mut run = Run { terms: Terms { image, reductions, panels, begin }, output, columns };
    match machine() {
        #[cfg(target_arch = "x86_64")]
        Machine::Avx512 if PANELS == 1 => {
            run.even_tiles::<12>(rows, output_rows, |run, size, rows, output_rows| {
                run_tiles!(run, size, rows, output_rows, x86::tile_512, 1 2 3 4 5 6 7 8 9 10 11 12)
            })
        }
        // More rows would leave no registers for what is read of the image.
        #[cfg(target_arch = "x86_64")]
        Machine::Avx512 => run.even_tiles::<8>(rows, output_rows, |run, size, rows, output_rows| {
            run_tiles!(run, size, rows, output_rows, x86::tile_512, 1 2 3 4 5 6 7 8)
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

struct Run<'a, const PANELS: usize> {
    terms: Terms<'a, PANELS>,
    output: &'a mut [f32],
    columns: Range<usize>,
}

impl<const PANELS: usize> Run<'_, PANELS> {
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

    /// Runs whole tiles. Rows that do not fill their panels take a way round.
    fn tiles<const ROWS: usize>(&mut self, rows: &[u32], output_rows: &[u32], tile: Tile<PANELS, ROWS>) {
        let (width, whole) = (self.columns.len(), PANELS * COLUMNS);
        let blocks = rows.as_chunks::<ROWS>().0;
        let output_blocks = output_rows.as_chunks::<ROWS>().0;
        for (block, targets) in blocks.iter().zip(output_blocks) {
            let begins = targets.map(|target| target as usize + self.columns.start);
            assert!(begins.iter().all(|begin| begin + width <= self.output.len()), "rows beyond the output");
            // SAFETY of both calls: `panels` picked this tile for instructions it found on this machine, and its caller has
            // checked every `row + reduction` against the image. The places are whole rows of the output or of what is put aside,
            // both of which are borrowed here alone; a row that stands in two places is written twice, one after the other.
            if width == whole {
                let output = self.output.as_mut_ptr();
                // SAFETY: as above.
                unsafe { tile(self.terms, block, begins.map(|begin| output.add(begin))) };
                continue;
            }
            let mut aside = [[[0.0; COLUMNS]; PANELS]; ROWS];
            for (aside, begin) in aside.iter_mut().zip(begins) {
                aside.as_flattened_mut()[..width].copy_from_slice(&self.output[begin..begin + width]);
            }
            // SAFETY: as above.
            unsafe {
                tile(self.terms, block, aside.each_mut().map(|row| row.as_flattened_mut().as_mut_ptr()))
            };
            for (aside, begin) in aside.iter().zip(begins) {
                self.output[begin..begin + width].copy_from_slice(&aside.as_flattened()[..width]);
            }
        }
    }
}

/// # Safety
/// That of [`Tile`].
unsafe fn tile_portable<const PANELS: usize, const ROWS: usize>(
    terms: Terms<PANELS>,
    rows: &[u32; ROWS],
    places: [*mut f32; ROWS],
) {
    let (count, block) = (terms.reductions.len(), terms.block());
    // SAFETY: a place has room for all panels by the caller's promise.
    let there = |row: usize| unsafe { *places[row].cast::<[[f32; COLUMNS]; PANELS]>() };
    for first in (0..count).step_by(block) {
        let mut local: [[[f32; COLUMNS]; PANELS]; ROWS] = std::array::from_fn(|row| match terms.begin {
            Begin::Zero | Begin::Added { .. } => [[0.0; COLUMNS]; PANELS],
            Begin::Row(values) => *values,
            Begin::There => there(row),
        });
        for term in first..count.min(first + block) {
            for (sums, &row) in local.iter_mut().zip(rows) {
                let value = terms.image[(row + terms.reductions[term]) as usize];
                for (sum, panel) in sums.iter_mut().zip(terms.panels) {
                    for (sum, factor) in sum.iter_mut().zip(&panel[term]) {
                        *sum += value * factor;
                    }
                }
            }
        }
        for row in 0..ROWS {
            if let Begin::Added { .. } = terms.begin {
                let there = there(row);
                let sums = local[row].as_flattened_mut();
                sums.iter_mut().zip(there.as_flattened()).for_each(|(sum, there)| *sum += there);
            }
            // SAFETY: as above.
            unsafe { *places[row].cast::<[[f32; COLUMNS]; PANELS]>() = local[row] };
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    // Plain loops unroll into registers where chains of iterators do not.
    #![allow(clippy::needless_range_loop)]

    use super::{Begin, COLUMNS, Terms};
    use std::arch::x86_64::*;
    use std::array::from_fn;

    /// # Safety
    /// That of [`Tile`](super::Tile).
    #[target_feature(enable = "avx2,fma")]
    pub unsafe fn tile_256<const PANELS: usize, const ROWS: usize>(
        terms: Terms<PANELS>,
        rows: &[u32; ROWS],
        places: [*mut f32; ROWS],
    ) {
        // SAFETY: rows and reductions lie inside the image and places have room by the caller's promise; terms lie inside panels,
        // of which each has as many as there are reductions.
        unsafe {
            let corners = rows.map(|row| terms.image.as_ptr().add(row as usize));
            let halves =
                |place: *const f32| [_mm256_loadu_ps(place), _mm256_loadu_ps(place.add(COLUMNS / 2))];
            let (count, block) = (terms.reductions.len(), terms.block());
            let mut first = 0;
            while first < count {
                let end = count.min(first + block);
                let mut sums: [[[__m256; 2]; PANELS]; ROWS] = match terms.begin {
                    Begin::Zero | Begin::Added { .. } => [[[_mm256_setzero_ps(); 2]; PANELS]; ROWS],
                    Begin::Row(values) => [from_fn(|panel| halves(values[panel].as_ptr())); ROWS],
                    Begin::There => from_fn(|row| from_fn(|panel| halves(places[row].add(panel * COLUMNS)))),
                };
                for term in first..end {
                    let reduction = *terms.reductions.get_unchecked(term) as usize;
                    let factors: [[__m256; 2]; PANELS] =
                        from_fn(|panel| halves(terms.panels[panel].get_unchecked(term).as_ptr()));
                    for row in 0..ROWS {
                        let value = _mm256_broadcast_ss(&*corners[row].add(reduction));
                        for panel in 0..PANELS {
                            let [low, high] = sums[row][panel];
                            let [low_factor, high_factor] = factors[panel];
                            sums[row][panel] = [
                                _mm256_fmadd_ps(value, low_factor, low),
                                _mm256_fmadd_ps(value, high_factor, high),
                            ];
                        }
                    }
                }
                let added = matches!(terms.begin, Begin::Added { .. });
                for row in 0..ROWS {
                    for panel in 0..PANELS {
                        let place = places[row].add(panel * COLUMNS);
                        let [mut low, mut high] = sums[row][panel];
                        if added {
                            let there = halves(place);
                            (low, high) = (_mm256_add_ps(there[0], low), _mm256_add_ps(there[1], high));
                        }
                        _mm256_storeu_ps(place, low);
                        _mm256_storeu_ps(place.add(COLUMNS / 2), high);
                    }
                }
                first = end;
            }
        }
    }

    /// # Safety
    /// That of [`Tile`](super::Tile).
    #[target_feature(enable = "avx512f")]
    pub unsafe fn tile_512<const PANELS: usize, const ROWS: usize>(
        terms: Terms<PANELS>,
        rows: &[u32; ROWS],
        places: [*mut f32; ROWS],
    ) {
        // SAFETY: rows and reductions lie inside the image and places have room by the caller's promise; terms lie inside panels,
        // of which each has as many as there are reductions.
        unsafe {
            let corners = rows.map(|row| terms.image.as_ptr().add(row as usize));
            let (count, block) = (terms.reductions.len(), terms.block());
            let mut first = 0;
            while first < count {
                let end = count.min(first + block);
                let mut sums: [[__m512; PANELS]; ROWS] = match terms.begin {
                    Begin::Zero | Begin::Added { .. } => [[_mm512_setzero_ps(); PANELS]; ROWS],
                    Begin::Row(values) => [from_fn(|panel| _mm512_loadu_ps(values[panel].as_ptr())); ROWS],
                    Begin::There => {
                        from_fn(|row| from_fn(|panel| _mm512_loadu_ps(places[row].add(panel * COLUMNS))))
                    }
                };
                for term in first..end {
                    let reduction = *terms.reductions.get_unchecked(term) as usize;
                    let factors: [__m512; PANELS] =
                        from_fn(|panel| _mm512_loadu_ps(terms.panels[panel].get_unchecked(term).as_ptr()));
                    for row in 0..ROWS {
                        let value = _mm512_set1_ps(*corners[row].add(reduction));
                        for panel in 0..PANELS {
                            sums[row][panel] = _mm512_fmadd_ps(value, factors[panel], sums[row][panel]);
                        }
                    }
                }
                let added = matches!(terms.begin, Begin::Added { .. });
                for row in 0..ROWS {
                    for panel in 0..PANELS {
                        let place = places[row].add(panel * COLUMNS);
                        let mut sum = sums[row][panel];
                        if added {
                            sum = _mm512_add_ps(_mm512_loadu_ps(place), sum);
                        }
                        _mm512_storeu_ps(place, sum);
                    }
                }
                first = end;
            }
        }
    }
}
