//! The products in the Winograd domain: for every position of a tile a small matrix product over channels, or over tiles.

use std::ops::Range;

use super::whole::{load, store};
use crate::kernel::instructions::{InstructionSet, Task, Vector};
use crate::kernel::line::{LANES, Line, apart};

/// For each position: products `[tile][out channel]` = tiles `[tile][in channel]` · weights `[in channel][out channel]`,
/// for some of the panels of out channels.
pub(super) struct Product<'a> {
    /// Tiles in the block.
    pub(super) count: usize,
    pub(super) in_panels: usize,
    pub(super) out_panels: usize,
    /// Which panels of out channels to compute.
    pub(super) chosen: Range<usize>,
    /// `[position][in panel][tile]`
    pub(super) tiles: &'a [Line],
    /// `[position][out panel][in channel]`
    pub(super) weights: &'a [Line],
    /// `[position][chosen out panel][tile]`
    pub(super) products: &'a mut [Line],
}

impl Task for Product<'_> {
    #[inline(always)]
    fn run<I: InstructionSet>(self) {
        let depth = self.in_panels * LANES;
        let tiles = self.tiles.chunks_exact(apart(self.in_panels * self.count));
        let weights = self.weights.chunks_exact(apart(self.out_panels * depth));
        let products = self.products.chunks_exact_mut(apart(self.chosen.len() * self.count));
        for ((tiles, weights), products) in tiles.zip(weights).zip(products) {
            let weights = &weights[self.chosen.start * depth..self.chosen.end * depth];
            let weights = weights.chunks(I::COLUMNS * depth);
            let tiles = &tiles[..self.in_panels * self.count];
            let products = &mut products[..self.chosen.len() * self.count];
            for (weights, products) in weights.zip(products.chunks_mut(I::COLUMNS * self.count)) {
                if I::COLUMNS == 2 && weights.len() == 2 * depth {
                    columns::<I, 2>(tiles, weights, products, self.count);
                } else {
                    columns::<I, 1>(tiles, weights, products, self.count);
                }
            }
        }
    }
}

/// All tiles times `COLUMNS` panels of weights, in groups of tiles of nearly equal size: a small rest would waste the
/// registers.
#[inline(always)]
fn columns<I: InstructionSet, const COLUMNS: usize>(
    tiles: &[Line],
    weights: &[Line],
    products: &mut [Line],
    count: usize,
) {
    let groups = count.div_ceil(I::ROWS);
    let mut first = 0;
    for group in 0..groups {
        let rows = (count - first).div_ceil(groups - group);
        macro_rules! choose {
            ($($rows:literal)*) => {
                match rows {
                    $($rows if $rows <= I::ROWS => {
                        multiply::<I::Wide, $rows, COLUMNS>(tiles, weights, products, count, first);
                    })*
                    _ => unreachable!("groups have at most I::ROWS rows"),
                }
            };
        }
        choose!(1 2 3 4 5 6 7 8 9 10 11 12);
        first += rows;
    }
}

/// `ROWS` tiles times `COLUMNS` panels of weights, with the sums in registers.
#[inline(always)]
fn multiply<V: Vector, const ROWS: usize, const COLUMNS: usize>(
    tiles: &[Line],
    weights: &[Line],
    products: &mut [Line],
    count: usize,
    first: usize,
) {
    let depth = weights.len() / COLUMNS;
    let mut sums = [[V::zero(); COLUMNS]; ROWS];
    for (panel, tiles) in tiles.chunks_exact(count).enumerate() {
        let left: &[Line; ROWS] = tiles[first..].first_chunk().expect("a group lies within the block");
        for channel in 0..LANES {
            let mut right = [V::zero(); COLUMNS];
            for column in 0..COLUMNS {
                right[column] = load(&weights[column * depth + panel * LANES + channel]);
            }
            for row in 0..ROWS {
                let left = V::splat(left[row].0[channel]);
                for column in 0..COLUMNS {
                    sums[row][column] = sums[row][column].accumulate(left, right[column]);
                }
            }
        }
    }
    for column in 0..COLUMNS {
        let products = &mut products[column * count + first..][..ROWS];
        for row in 0..ROWS {
            store(sums[row][column], &mut products[row]);
        }
    }
}
