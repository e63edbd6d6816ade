//! From images to transformed tiles and back.
//!
//! Transformed tiles lie as `[position][panel][tile]` lines: for one position and one panel of sixteen channels, the
//! tiles of a block follow each other in memory, which is the order in which the products read them.

use std::marker::PhantomData;

use super::grid::Grid;
use super::transform::{Mode, Place, Transform, transform};
use crate::kernel::instructions::{InstructionSet, Task};
use crate::kernel::line::{LANES, Line, apart, flat, flat_mut, panels};

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
    /// Room for one tile: the copy of one that hangs over the edge, filled up with zeros.
    pub(super) patch: &'a mut [Line],
}

impl<F: Transform<SIDE, TILE>, const SIDE: usize, const TILE: usize> Task for Gather<'_, F, SIDE, TILE> {
    #[inline(always)]
    fn run<I: InstructionSet>(self) {
        let channels = self.grid.channels;
        let padded = panels(channels) * LANES;
        let position = apart(padded / LANES * self.count) * LANES;
        let tiles = flat_mut(self.tiles);
        let patch = &mut flat_mut(self.patch)[..SIDE * SIDE * padded];
        for tile in 0..self.count {
            let (example, top, left) = self.grid.corner(self.first + tile);
            let inside =
                self.grid.inside(top, left, SIDE).filter(|_| padded == channels && self.factors.is_none());
            let (source, mut from): (&[f32], Place) = match inside {
                Some((row, column)) => (self.images, self.grid.place(example, row, column)),
                None => {
                    patch.fill(0.0);
                    let factor = self.factors.map(|factors| factors[example]);
                    for row in 0..SIDE {
                        for column in 0..SIDE {
                            if let Some(start) = self.grid.pixel(example, top + row, left + column) {
                                let pixel = &self.images[start..start + channels];
                                let copy = &mut patch[(row * SIDE + column) * padded..][..channels];
                                match factor {
                                    None => copy.copy_from_slice(pixel),
                                    Some(factor) => {
                                        copy.iter_mut()
                                            .zip(pixel)
                                            .for_each(|(copy, value)| *copy = factor * value);
                                    }
                                }
                            }
                        }
                    }
                    (patch, Place { first: 0, row: SIDE * padded, column: padded })
                }
            };
            for panel in 0..padded / LANES {
                let first = (panel * self.count + tile) * LANES;
                let to = Place { first, row: TILE * position, column: position };
                transform::<F, I::Vector, SIDE, TILE>(source, from, tiles, to, LANES, Mode::Overwrite);
                from.first += LANES;
            }
        }
    }
}

/// Transforms `count` tiles, from `first` on, back and writes them into the images. `tiles` holds only some `panels`, the
/// first of which starts at `channel`.
pub(super) struct Scatter<'a, F, const TILE: usize, const SIDE: usize> {
    pub(super) transform: PhantomData<F>,
    pub(super) grid: Grid,
    pub(super) images: &'a mut [f32],
    pub(super) first: usize,
    pub(super) count: usize,
    pub(super) channel: usize,
    pub(super) panels: usize,
    pub(super) tiles: &'a [Line],
}

impl<F: Transform<TILE, SIDE>, const TILE: usize, const SIDE: usize> Task for Scatter<'_, F, TILE, SIDE> {
    #[inline(always)]
    fn run<I: InstructionSet>(self) {
        let tiles = flat(self.tiles);
        let position = tiles.len() / (TILE * TILE);
        let mut patch = [[[0.0; LANES]; SIDE]; SIDE];
        for tile in 0..self.count {
            let (example, top, left) = self.grid.corner(self.first + tile);
            let inside = self.grid.inside(top, left, SIDE);
            for panel in 0..self.panels {
                let first = (panel * self.count + tile) * LANES;
                let from = Place { first, row: TILE * position, column: position };
                let channel = self.channel + panel * LANES;
                let width = LANES.min(self.grid.channels - channel);
                if let Some((row, column)) = inside.filter(|_| width == LANES) {
                    let mut to = self.grid.place(example, row, column);
                    to.first += channel;
                    transform::<F, I::Vector, TILE, SIDE>(
                        tiles,
                        from,
                        self.images,
                        to,
                        LANES,
                        Mode::Overwrite,
                    );
                    continue;
                }
                let to = Place { first: 0, row: SIDE * LANES, column: LANES };
                let flat_patch = patch.as_flattened_mut().as_flattened_mut();
                transform::<F, I::Vector, TILE, SIDE>(tiles, from, flat_patch, to, LANES, Mode::Overwrite);
                for row in 0..SIDE {
                    for column in 0..SIDE {
                        if let Some(start) = self.grid.pixel(example, top + row, left + column) {
                            let pixel = &mut self.images[start + channel..start + channel + width];
                            pixel.copy_from_slice(&patch[row][column][..width]);
                        }
                    }
                }
            }
        }
    }
}
