//! Into the Winograd domain and back, in two dimensions and for some channels at once.
//!
//! Transformed tiles lie as `[position][panel][tile]` lines: for one position and one panel of sixteen channels, the
//! tiles of a block follow each other in memory, which is the order in which the products read them.

use std::marker::PhantomData;

use super::grid::Grid;
use super::scheme::Scheme;
use crate::kernel::instructions::{InstructionSet, Task, Vector};
use crate::kernel::line::{LANES, Line, panels};

/// A linear map in one dimension, from `FROM` values to `TO`.
pub(super) trait Transform<const FROM: usize, const TO: usize> {
    fn apply<V: Vector>(values: [V; FROM]) -> [V; TO];

    /// The map along both dimensions of a tile.
    #[inline(always)]
    fn apply_twice<V: Vector>(tile: [[V; FROM]; FROM]) -> [[V; TO]; TO] {
        let mut half = [[V::zero(); FROM]; TO];
        for column in 0..FROM {
            let mut values = [V::zero(); FROM];
            for row in 0..FROM {
                values[row] = tile[row][column];
            }
            let values = Self::apply(values);
            for row in 0..TO {
                half[row][column] = values[row];
            }
        }
        let mut result = [[V::zero(); TO]; TO];
        for row in 0..TO {
            result[row] = Self::apply(half[row]);
        }
        result
    }
}

/// Names one map of a scheme as a type.
macro_rules! transform {
    ($(#[$documentation:meta])* $name:ident, $map:ident, $from:ident, $to:ident) => {
        $(#[$documentation])*
        pub(super) struct $name<S, const TILE: usize, const OUTPUTS: usize, const TAPS: usize>(PhantomData<S>);

        impl<S: Scheme<TILE, OUTPUTS, TAPS>, const TILE: usize, const OUTPUTS: usize, const TAPS: usize>
            Transform<$from, $to> for $name<S, TILE, OUTPUTS, TAPS>
        {
            #[inline(always)]
            fn apply<V: Vector>(values: [V; $from]) -> [V; $to] {
                S::$map(values)
            }
        }
    };
}

transform!(
    /// [`Scheme::input`]
    Input, input, TILE, TILE
);
transform!(
    /// [`Scheme::weight`]
    Weight, weight, TAPS, TILE
);
transform!(
    /// [`Scheme::output`]
    Output, output, TILE, OUTPUTS
);
transform!(
    /// [`Scheme::upstream`]
    Upstream, upstream, OUTPUTS, TILE
);
transform!(
    /// [`Scheme::gradient`]
    Gradient, gradient, TILE, TAPS
);

/// Cuts `count` tiles, from `first` on, out of the images and transforms them.
pub(super) struct Gather<'a, F, const SIDE: usize, const TILE: usize> {
    pub(super) transform: PhantomData<F>,
    pub(super) grid: Grid,
    pub(super) images: &'a [f32],
    pub(super) first: usize,
    pub(super) count: usize,
    /// One factor for each example.
    pub(super) factors: Option<&'a [f32]>,
    pub(super) tiles: &'a mut [Line],
}

impl<F: Transform<SIDE, TILE>, const SIDE: usize, const TILE: usize> Task for Gather<'_, F, SIDE, TILE> {
    #[inline(always)]
    fn run<I: InstructionSet>(self) {
        let channels = self.grid.channels;
        let position = panels(channels) * self.count;
        for tile in 0..self.count {
            let (example, top, left) = self.grid.corner(self.first + tile);
            let mut pixels: [[&[f32]; SIDE]; SIDE] = [[&[]; SIDE]; SIDE];
            for row in 0..SIDE {
                for column in 0..SIDE {
                    if let Some(start) = self.grid.pixel(example, top + row, left + column) {
                        pixels[row][column] = &self.images[start..start + channels];
                    }
                }
            }
            let factor = self.factors.map(|factors| I::Vector::splat(factors[example]));
            for channel in (0..panels(channels) * LANES).step_by(I::Vector::WIDTH) {
                let mut values = [[I::Vector::zero(); SIDE]; SIDE];
                for row in 0..SIDE {
                    for column in 0..SIDE {
                        values[row][column] = I::Vector::load_from(pixels[row][column], channel);
                        if let Some(factor) = factor {
                            values[row][column] = values[row][column].multiply(factor);
                        }
                    }
                }
                let values = F::apply_twice(values);
                let (panel, lane) = (channel / LANES, channel % LANES);
                for row in 0..TILE {
                    for column in 0..TILE {
                        let line = (row * TILE + column) * position + panel * self.count + tile;
                        values[row][column].store(&mut self.tiles[line], lane);
                    }
                }
            }
        }
    }
}

/// Transforms `count` tiles, from `first` on, back and writes them into the images. `tiles` holds a few panels only, the
/// first of which starts at `channel`.
pub(super) struct Scatter<'a, F, const TILE: usize, const SIDE: usize> {
    pub(super) transform: PhantomData<F>,
    pub(super) grid: Grid,
    pub(super) images: &'a mut [f32],
    pub(super) first: usize,
    pub(super) count: usize,
    pub(super) channel: usize,
    pub(super) tiles: &'a [Line],
}

impl<F: Transform<TILE, SIDE>, const TILE: usize, const SIDE: usize> Task for Scatter<'_, F, TILE, SIDE> {
    #[inline(always)]
    fn run<I: InstructionSet>(self) {
        let position = self.tiles.len() / (TILE * TILE);
        let channels = (self.grid.channels - self.channel).min(position / self.count * LANES);
        for tile in 0..self.count {
            let (example, top, left) = self.grid.corner(self.first + tile);
            for channel in (0..channels).step_by(I::Vector::WIDTH) {
                let (panel, lane) = (channel / LANES, channel % LANES);
                let mut values = [[I::Vector::zero(); TILE]; TILE];
                for row in 0..TILE {
                    for column in 0..TILE {
                        let line = (row * TILE + column) * position + panel * self.count + tile;
                        values[row][column] = I::Vector::load(&self.tiles[line], lane);
                    }
                }
                let values = F::apply_twice(values);
                for row in 0..SIDE {
                    for column in 0..SIDE {
                        if let Some(start) = self.grid.pixel(example, top + row, left + column) {
                            let pixel = &mut self.images[start + self.channel..start + self.grid.channels];
                            values[row][column].store_into(pixel, channel);
                        }
                    }
                }
            }
        }
    }
}
