//! How the tiles lie over the images.

use super::transform::Place;

/// A batch of images, channels innermost, and the grid of tiles laid over each of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grid {
    pub(super) height: usize,
    pub(super) width: usize,
    pub(super) channels: usize,
    pub(super) tiles_high: usize,
    pub(super) tiles_wide: usize,
    /// Distance between the corners of neighbouring tiles.
    pub(super) step: usize,
    /// How far the first tile hangs over the upper and the left edge.
    pub(super) overhang: usize,
}

impl Grid {
    /// Tiles in one image.
    pub(super) fn tiles(&self) -> usize {
        self.tiles_high * self.tiles_wide
    }

    /// Numbers in `batch` images.
    pub(super) fn len(&self, batch: usize) -> usize {
        batch * self.height * self.width * self.channels
    }

    /// The example that a tile lies in, and its upper left corner, both coordinates too large by the overhang.
    #[inline(always)]
    pub(super) fn corner(&self, tile: usize) -> (usize, usize, usize) {
        let (example, tile) = (tile / self.tiles(), tile % self.tiles());
        (example, tile / self.tiles_wide * self.step, tile % self.tiles_wide * self.step)
    }

    /// Where the channels of a pixel start; nothing if it lies outside of the image.
    #[inline(always)]
    pub(super) fn pixel(&self, example: usize, row: usize, column: usize) -> Option<usize> {
        let (row, column) = (row.wrapping_sub(self.overhang), column.wrapping_sub(self.overhang));
        (row < self.height && column < self.width)
            .then(|| ((example * self.height + row) * self.width + column) * self.channels)
    }

    /// Row and column of the corner of a tile that lies in the image with all of its `side` rows and columns.
    #[inline(always)]
    pub(super) fn inside(&self, top: usize, left: usize, side: usize) -> Option<(usize, usize)> {
        let (row, column) = (top.checked_sub(self.overhang)?, left.checked_sub(self.overhang)?);
        (row + side <= self.height && column + side <= self.width).then_some((row, column))
    }

    /// A tile that lies inside the image.
    #[inline(always)]
    pub(super) fn place(&self, example: usize, row: usize, column: usize) -> Place {
        Place {
            first: ((example * self.height + row) * self.width + column) * self.channels,
            row: self.width * self.channels,
            column: self.channels,
        }
    }
}
