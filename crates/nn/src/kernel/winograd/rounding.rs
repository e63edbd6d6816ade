//! How far rounding can move a weight gradient that is summed over the tiles of several examples.
//!
//! The gradient is `A [Σ (B x Bᵀ) ⊙ (U u Uᵀ)] Aᵀ`, summed over tiles `x` of the input and `u` of the upstream gradient. Every rounding
//! on the way is at most 2⁻²⁴ of a sum of absolute values, and the length of that over channels is at most the sum of lengths: those of
//! pixels, sent through transforms without signs, for what the transforms round; those of transformed tiles for what comes after.

use std::marker::PhantomData;

use super::grid::Grid;
use super::scheme::TwoByThree;
use super::tiles::Gather;
use super::transform::{Input, Transform, Upstream};
use super::{Winograd, blocks};
use crate::kernel::elementwise::squared_norm;
use crate::kernel::instructions::dispatch;
use crate::kernel::line::{LANES, Line, apart, panels};
use crate::rounding::{FAINT, SMALL_GROUP};

/// Most tiles in a sum.
pub(super) const SUM: usize = 16;

/// Roundings of the transform of the input: one along each side.
const OF_INPUT: f64 = 2.0;
/// Roundings of the transform of the upstream gradient, one along each side, and of the factor.
const OF_UPSTREAM: f64 = 3.0;
/// Roundings of a product, of its sum, and of the transform back, two along each side; one more for what lengths are rounded.
const OF_PRODUCTS: usize = 1 + SUM + 4 + 1;
/// What is rounded twice, generously.
const TWICE: f64 = 1.0 / (1 << 20) as f64;

/// One number for each position of a tile.
type Tile = [[f64; 4]; 4];

impl Winograd {
    /// How far the terms of one example move the sum of a [small group](crate::rounding::SMALL_GROUP) in L2 norm, as a multiple of 2⁻²⁴
    /// and of its factor. For convolutions [with less rounding](Winograd::with_less_rounding).
    pub fn rounding(&self, image: &[f32], upstream: &[f32], scratch: &mut [Line]) -> f64 {
        assert_eq!(
            (self.kernel, self.outputs, self.gradient_sum),
            (3, 2, SUM),
            "a scheme with less rounding"
        );
        let (input_grid, output_grid) = self.forward;
        let (in_panels, out_panels) = (panels(self.in_channels), panels(self.out_channels));
        let (patch, scratch) = scratch.split_at_mut(16 * in_panels.max(out_panels));
        let tiles = input_grid.tiles();
        // Sums that are added in a block, and blocks that are added in a group.
        let (sums, blocks_of_group) =
            (self.gradient_block.div_ceil(SUM), SMALL_GROUP * tiles.div_ceil(self.gradient_block));
        let of_products = (OF_PRODUCTS + sums + blocks_of_group) as f64;
        let mut weights = Tile::default();
        for (first, count) in blocks(0..tiles, self.gradient_block) {
            let (input_tiles, scratch) = scratch.split_at_mut(16 * apart(in_panels * count));
            let upstream_tiles = &mut scratch[..16 * apart(out_panels * count)];
            let inputs = Side { grid: input_grid, pixels: image, first, count };
            inputs.gather::<Input<TwoByThree, 4, 2, 3>, 4>(input_tiles, patch);
            let upstreams = Side { grid: output_grid, pixels: upstream, first, count };
            upstreams.gather::<Upstream<TwoByThree, 4, 2, 3>, 2>(upstream_tiles, patch);
            for tile in 0..count {
                let (x, all_x) = (inputs.lengths(input_tiles, tile), inputs.bounds(tile, unsigned_input));
                let (u, all_u) =
                    (upstreams.lengths(upstream_tiles, tile), upstreams.bounds(tile, unsigned_upstream));
                for row in 0..4 {
                    for column in 0..4 {
                        let [x, all_x, u, all_u] = [x, all_x, u, all_u].map(|tile| tile[row][column]);
                        weights[row][column] += OF_INPUT * all_x * u
                            + OF_UPSTREAM * x * all_u
                            + of_products * x * u
                            + TWICE * all_x * all_u;
                    }
                }
            }
        }
        let gradient = along_both_sides(weights, unsigned_gradient);
        gradient.as_flattened().iter().map(|value| value * value).sum::<f64>().sqrt()
    }
}

/// A block of the tiles of one example, on one side of the convolution.
struct Side<'a> {
    grid: Grid,
    pixels: &'a [f32],
    first: usize,
    count: usize,
}

impl Side<'_> {
    /// Transforms the tiles, as for the sum.
    fn gather<F: Transform<SIDE, 4>, const SIDE: usize>(&self, tiles: &mut [Line], patch: &mut [Line]) {
        dispatch(Gather::<F, SIDE, 4> {
            transform: PhantomData,
            grid: self.grid,
            images: self.pixels,
            first: self.first,
            count: self.count,
            factors: None,
            tiles,
            patch,
        });
    }

    /// Lengths over channels of a transformed tile.
    fn lengths(&self, tiles: &[Line], tile: usize) -> Tile {
        let panels = panels(self.grid.channels);
        let mut lengths = Tile::default();
        let positions = tiles.chunks_exact(apart(panels * self.count));
        for (length, lines) in lengths.as_flattened_mut().iter_mut().zip(positions) {
            let mut squares = [0.0f32; LANES];
            for panel in 0..panels {
                let line = &lines[panel * self.count + tile].0;
                squares.iter_mut().zip(line).for_each(|(square, value)| *square += value * value);
            }
            *length = squares.iter().map(|square| f64::from(*square)).sum::<f64>().sqrt() + FAINT;
        }
        lengths
    }

    /// The most that the lengths could be, from those of the tile's pixels.
    fn bounds<const SIDE: usize>(&self, tile: usize, unsigned: fn([f64; SIDE]) -> [f64; 4]) -> Tile {
        let (_, top, left) = self.grid.corner(self.first + tile);
        let mut lengths = [[0.0; SIDE]; SIDE];
        for row in 0..SIDE {
            for column in 0..SIDE {
                if let Some(start) = self.grid.pixel(0, top + row, left + column) {
                    let pixel = &self.pixels[start..start + self.grid.channels];
                    lengths[row][column] = squared_norm(pixel).sqrt() + FAINT;
                }
            }
        }
        along_both_sides(lengths, unsigned)
    }
}

/// Applies a map along both dimensions.
fn along_both_sides<const FROM: usize, const TO: usize>(
    values: [[f64; FROM]; FROM],
    map: fn([f64; FROM]) -> [f64; TO],
) -> [[f64; TO]; TO] {
    let half = values.map(map);
    let columns: [[f64; FROM]; TO] = std::array::from_fn(|column| half.map(|row| row[column]));
    columns.map(map)
}

/// [`TwoByThree`]'s transform of the input with all signs taken away.
fn unsigned_input([a, b, c, d]: [f64; 4]) -> [f64; 4] {
    [a + c, b + c, b + c, b + d]
}

/// Its transform of the upstream gradient.
fn unsigned_upstream([a, b]: [f64; 2]) -> [f64; 4] {
    [a, a + b, a + b, b]
}

/// Its transform back to the gradient.
fn unsigned_gradient([a, b, c, d]: [f64; 4]) -> [f64; 3] {
    let middle = 0.5 * (b + c);
    [a + middle, middle, middle + d]
}

#[cfg(test)]
mod tests {
    use super::super::scheme::Scheme;
    use super::*;
    use crate::kernel::instructions::{InstructionSet, Task, Vector};

    /// Sends unit vectors through a transform of the scheme and through its unsigned form.
    struct Compared;

    impl Task for Compared {
        fn run<I: InstructionSet>(self) {
            fn compare<V: Vector, const FROM: usize, const TO: usize>(
                transform: fn([V; FROM]) -> [V; TO],
                unsigned: fn([f64; FROM]) -> [f64; TO],
            ) {
                for unit in 0..FROM {
                    let value = |place: usize| if place == unit { 1.0 } else { 0.0 };
                    let found = transform(std::array::from_fn(|place| V::splat(value(place))));
                    let found = found.map(|vector| {
                        let mut line = Line::default();
                        // SAFETY: a line has room for every vector.
                        unsafe { vector.store(line.0.as_mut_ptr()) };
                        f64::from(line.0[0].abs())
                    });
                    assert_eq!(found, unsigned(std::array::from_fn(|place| f64::from(value(place)))));
                }
            }
            compare::<I::Vector, 4, 4>(TwoByThree::input, unsigned_input);
            compare::<I::Vector, 2, 4>(TwoByThree::upstream, unsigned_upstream);
            compare::<I::Vector, 4, 3>(TwoByThree::gradient, unsigned_gradient);
        }
    }

    #[test]
    fn unsigned_transforms_are_those_of_the_scheme() {
        dispatch(Compared);
    }
}
