//! Convolution with stride one by Winograd's minimal filtering, at nearly the rounding error of the direct way: with 4
//! times fewer multiplications for 3x3 kernels (2.25 times in images of up to 4x4) and for 4x4 ones, and 2.8 times fewer for 5x5.
//!
//! # Source
//! Lavin & Gray, "Fast Algorithms for Convolutional Neural Networks", 2016, arXiv:1509.09308.

// Rows, columns and lanes index several arrays at once here, and plain loops unroll where chains of iterators do not.
#![allow(clippy::needless_range_loop)]

mod gradient;
mod grid;
mod product;
mod rounding;
mod scheme;
#[cfg(test)]
mod tests;
mod tiles;
mod transform;
mod weights;
mod whole;

use std::marker::PhantomData;
use std::ops::Range;

use self::gradient::WeightGradient;
use self::grid::Grid;
use self::product::Product;
use self::scheme::{FourByThree, Scheme, ThreeByFour, TwoByFive, TwoByThree};
use self::tiles::{Gather, Scatter};
use self::transform::{Gradient, Input, Mode, Output, Upstream, Weight};
use self::weights::TransformWeights;
use super::instructions::dispatch;
use super::line::{LANES, Line, apart, panels};

/// Calls a function with the scheme of a kernel: its type, size of tile, outputs and taps.
macro_rules! with_scheme {
    ($winograd:expr, $function:ident($($argument:expr),*)) => {
        match ($winograd.kernel, $winograd.outputs) {
            (3, 2) => $function::<TwoByThree, 4, 2, 3>($($argument),*),
            (3, _) => $function::<FourByThree, 6, 4, 3>($($argument),*),
            (4, _) => $function::<ThreeByFour, 6, 3, 4>($($argument),*),
            _ => $function::<TwoByFive, 6, 2, 5>($($argument),*),
        }
    };
}

/// Tiles that are convolved together.
const BLOCK: usize = 64;

/// Panels of results computed together from one block of tiles; more would push the block out of the cache.
const GROUP: usize = 4;

/// A convolution with stride 1 and one group, on images `[example][row][column][channel]` with weights
/// `[kernel row][kernel column][in channel][out channel]`. All methods work on one thread and allocate nothing.
///
/// Transformed tiles are not kept for the weight gradient, but made anew: that takes about a sixth of its time at 64
/// channels and less in wider layers, while kept tiles would take more than twice the memory of the images.
///
/// # Source
/// Lavin & Gray, "Fast Algorithms for Convolutional Neural Networks", 2016, arXiv:1509.09308.
#[derive(Clone, Copy, Debug)]
pub struct Winograd {
    in_channels: usize,
    out_channels: usize,
    kernel: usize,
    /// Results in a tile, along each side.
    outputs: usize,
    /// Most tiles whose weight gradients are summed before they are transformed back.
    gradient_block: usize,
    /// Most of these that are summed one by one; further sums are added to that.
    gradient_sum: usize,
    /// The tiles over the input, and over the output, of the forward direction.
    forward: (Grid, Grid),
    /// The same for the input gradient, whose input is the upstream gradient.
    backward: (Grid, Grid),
}

impl Winograd {
    /// `kernel` is 3, 4 or 5, `padding` less than `kernel`.
    ///
    /// # Panics
    /// If they are not, if a size is zero, or if the padded image is smaller than the kernel.
    pub fn new(
        height: usize,
        width: usize,
        in_channels: usize,
        out_channels: usize,
        kernel: usize,
        padding: usize,
    ) -> Self {
        assert!((3..=5).contains(&kernel), "a Winograd kernel is 3x3, 4x4 or 5x5, not {kernel}x{kernel}");
        assert!(padding < kernel, "padding {padding} is not less than the kernel size {kernel}");
        assert!(in_channels > 0 && out_channels > 0 && height > 0 && width > 0, "empty images");
        assert!(
            height + 2 * padding >= kernel && width + 2 * padding >= kernel,
            "an image of {height}x{width} with padding {padding} has no room for a kernel of {kernel}x{kernel}"
        );
        let input = (height, width, in_channels);
        let output = (height + 2 * padding + 1 - kernel, width + 2 * padding + 1 - kernel, out_channels);
        let outputs = outputs_per_tile(kernel, output.0, output.1);
        // Wide layers have to spare cache.
        let gradient_block = if panels(in_channels.max(out_channels)) <= 8 { 128 } else { 64 };
        Winograd {
            in_channels,
            out_channels,
            kernel,
            outputs,
            gradient_block,
            gradient_sum: gradient_block,
            forward: grids(input, output, padding, outputs),
            backward: grids(output, input, kernel - 1 - padding, outputs),
        }
    }

    /// The same convolution by tiles of two outputs along each side, and with weight gradients in shorter sums: those have less
    /// rounding, and [`Winograd::rounding`] says how much. For 3x3 kernels.
    pub fn with_less_rounding(self) -> Winograd {
        assert_eq!(self.kernel, 3, "kernels with transforms of which every row is short");
        let size = |grid: Grid| (grid.height, grid.width, grid.channels);
        let (input, output) = (size(self.forward.0), size(self.forward.1));
        Winograd {
            outputs: 2,
            // Smaller tiles leave room for more of them.
            gradient_block: self.gradient_block * self.outputs / 2,
            gradient_sum: rounding::SUM,
            forward: grids(input, output, self.forward.0.overhang, 2),
            backward: grids(output, input, self.backward.0.overhang, 2),
            ..self
        }
    }

    /// Height and width of the output.
    pub fn output_size(&self) -> (usize, usize) {
        (self.forward.1.height, self.forward.1.width)
    }

    /// Lines that [`Winograd::transform_weights`] fills, for both directions together.
    pub fn transformed_weights_len(&self) -> usize {
        let (input, output) = (panels(self.in_channels), panels(self.out_channels));
        2 * self.positions() * apart(input * output * LANES)
    }

    /// Lines of scratch memory that each of the other methods needs, whatever the batch.
    pub fn scratch_len(&self) -> usize {
        let (input, output) = (panels(self.in_channels), panels(self.out_channels));
        let forward = apart(BLOCK * input) + apart(BLOCK * GROUP);
        let backward = apart(BLOCK * output) + apart(BLOCK * GROUP);
        let tiles = self.gradient_block;
        let gradient = apart(tiles * input) + apart(tiles * output) + gradient::PRODUCTS;
        self.positions() * (input.max(output) + forward.max(backward).max(gradient))
    }

    /// Multiplications of the forward direction for each image and pair of channels.
    pub fn multiplications(&self) -> usize {
        self.forward.0.tiles() * self.positions()
    }

    /// Multiplications per tile and pair of channels.
    fn positions(&self) -> usize {
        (self.kernel + self.outputs - 1).pow(2)
    }

    /// Prepares the weights for [`Winograd::forward`] and [`Winograd::backward_input`]; needed again whenever they change.
    pub fn transform_weights(&self, weights: &[f32], transformed: &mut [Line]) {
        with_scheme!(self, transform_weights(self, weights, transformed));
    }

    /// Overwrites `output` with the convolution of `batch` images.
    pub fn forward(
        &self,
        transformed: &[Line],
        input: &[f32],
        batch: usize,
        output: &mut [f32],
        scratch: &mut [Line],
    ) {
        let weights = &transformed[..self.transformed_weights_len() / 2];
        with_scheme!(self, convolve(self.forward, weights, input, batch, output, scratch));
    }

    /// Overwrites `downstream`, the gradient of the input, given `upstream`, that of the output.
    pub fn backward_input(
        &self,
        transformed: &[Line],
        upstream: &[f32],
        batch: usize,
        downstream: &mut [f32],
        scratch: &mut [Line],
    ) {
        let weights = &transformed[self.transformed_weights_len() / 2..];
        with_scheme!(self, convolve(self.backward, weights, upstream, batch, downstream, scratch));
    }

    /// Adds the weight gradients of some of the examples of a batch to `gradient`, each times its factor if there are
    /// `factors`: one for every example of the whole batch.
    pub fn weight_gradient(
        &self,
        input: &[f32],
        upstream: &[f32],
        examples: Range<usize>,
        factors: Option<&[f32]>,
        gradient: &mut [f32],
        scratch: &mut [Line],
    ) {
        let mode = Mode::Add;
        with_scheme!(
            self,
            weight_gradient(self, input, upstream, examples, factors, gradient, mode, scratch)
        );
    }

    /// Overwrites `gradient` with the weight gradient of one example of a batch.
    pub fn example_gradient(
        &self,
        input: &[f32],
        upstream: &[f32],
        example: usize,
        gradient: &mut [f32],
        scratch: &mut [Line],
    ) {
        let (examples, mode) = (example..example + 1, Mode::Overwrite);
        with_scheme!(self, weight_gradient(self, input, upstream, examples, None, gradient, mode, scratch));
    }
}

/// The tiles of a convolution with stride 1: those of the input overlap, those of the output do not.
fn grids(
    input: (usize, usize, usize),
    output: (usize, usize, usize),
    padding: usize,
    step: usize,
) -> (Grid, Grid) {
    let grid = |(height, width, channels), overhang| Grid {
        height,
        width,
        channels,
        tiles_high: output.0.div_ceil(step),
        tiles_wide: output.1.div_ceil(step),
        step,
        overhang,
    };
    (grid(input, padding), grid(output, 0))
}

/// Convolves block by block: tiles into the Winograd domain, products, results back, with all of it in cache.
fn convolve<S: Scheme<TILE, OUTPUTS, TAPS>, const TILE: usize, const OUTPUTS: usize, const TAPS: usize>(
    (input_grid, output_grid): (Grid, Grid),
    weights: &[Line],
    input: &[f32],
    batch: usize,
    output: &mut [f32],
    scratch: &mut [Line],
) {
    assert_eq!(input.len(), input_grid.len(batch), "length of the input");
    assert_eq!(output.len(), output_grid.len(batch), "length of the output");
    let (in_panels, out_panels) = (panels(input_grid.channels), panels(output_grid.channels));
    let (patch, scratch) = scratch.split_at_mut(TILE * TILE * in_panels);
    for (first, count) in blocks(0..batch * input_grid.tiles(), BLOCK) {
        let (tiles, scratch) = scratch.split_at_mut(TILE * TILE * apart(in_panels * count));
        dispatch(Gather::<Input<S, TILE, OUTPUTS, TAPS>, TILE, TILE> {
            transform: PhantomData,
            grid: input_grid,
            images: input,
            first,
            count,
            factors: None,
            tiles,
            patch,
        });
        for start in (0..out_panels).step_by(GROUP) {
            let chosen = start..out_panels.min(start + GROUP);
            let panels = chosen.len();
            let products = &mut scratch[..TILE * TILE * apart(panels * count)];
            dispatch(Product { count, in_panels, out_panels, chosen, tiles, weights, products });
            dispatch(Scatter::<Output<S, TILE, OUTPUTS, TAPS>, TILE, OUTPUTS> {
                transform: PhantomData,
                grid: output_grid,
                images: output,
                first,
                count,
                channel: start * LANES,
                panels,
                tiles: products,
            });
        }
    }
}

fn transform_weights<
    S: Scheme<TILE, OUTPUTS, TAPS>,
    const TILE: usize,
    const OUTPUTS: usize,
    const TAPS: usize,
>(
    winograd: &Winograd,
    weights: &[f32],
    transformed: &mut [Line],
) {
    assert_eq!(
        weights.len(),
        TAPS * TAPS * winograd.in_channels * winograd.out_channels,
        "length of the weights"
    );
    assert_eq!(transformed.len(), winograd.transformed_weights_len(), "length of the transformed weights");
    let (forward, backward) = transformed.split_at_mut(winograd.transformed_weights_len() / 2);
    dispatch(TransformWeights::<Weight<S, TILE, OUTPUTS, TAPS>, TAPS, TILE> {
        transform: PhantomData,
        in_channels: winograd.in_channels,
        out_channels: winograd.out_channels,
        weights,
        forward,
        backward,
    });
}

#[allow(clippy::too_many_arguments)]
fn weight_gradient<
    S: Scheme<TILE, OUTPUTS, TAPS>,
    const TILE: usize,
    const OUTPUTS: usize,
    const TAPS: usize,
>(
    winograd: &Winograd,
    input: &[f32],
    upstream: &[f32],
    examples: Range<usize>,
    factors: Option<&[f32]>,
    gradient: &mut [f32],
    mode: Mode,
    scratch: &mut [Line],
) {
    let (input_grid, output_grid) = winograd.forward;
    assert_eq!(
        gradient.len(),
        TAPS * TAPS * winograd.in_channels * winograd.out_channels,
        "length of the gradient"
    );
    let (in_panels, out_panels) = (panels(winograd.in_channels), panels(winograd.out_channels));
    let tiles = examples.start * input_grid.tiles()..examples.end * input_grid.tiles();
    let (patch, scratch) = scratch.split_at_mut(TILE * TILE * in_panels.max(out_panels));
    let (products, scratch) = scratch.split_at_mut(TILE * TILE * gradient::PRODUCTS);
    let mut mode = mode;
    for (first, count) in blocks(tiles, winograd.gradient_block) {
        let (input_tiles, scratch) = scratch.split_at_mut(TILE * TILE * apart(in_panels * count));
        let upstream_tiles = &mut scratch[..TILE * TILE * apart(out_panels * count)];
        dispatch(Gather::<Input<S, TILE, OUTPUTS, TAPS>, TILE, TILE> {
            transform: PhantomData,
            grid: input_grid,
            images: input,
            first,
            count,
            factors: None,
            tiles: input_tiles,
            patch,
        });
        dispatch(Gather::<Upstream<S, TILE, OUTPUTS, TAPS>, OUTPUTS, TILE> {
            transform: PhantomData,
            grid: output_grid,
            images: upstream,
            first,
            count,
            factors,
            tiles: upstream_tiles,
            patch,
        });
        dispatch(WeightGradient::<Gradient<S, TILE, OUTPUTS, TAPS>, TILE, TAPS> {
            transform: PhantomData,
            count,
            sum: winograd.gradient_sum,
            in_channels: winograd.in_channels,
            out_channels: winograd.out_channels,
            input: input_tiles,
            upstream: upstream_tiles,
            products,
            gradient,
            mode,
        });
        mode = Mode::Add;
    }
}

/// Results in a tile, along each side: as many as tiles of six allow. For 3x3 kernels that is four, where it saves multiplications, and
/// else two: in the smallest images there is only one large tile in each, too little to pay for weights that take 2.25 times the memory.
fn outputs_per_tile(kernel: usize, height: usize, width: usize) -> usize {
    let small = 16 * height.div_ceil(2) * width.div_ceil(2);
    let large = 36 * height.div_ceil(4) * width.div_ceil(4);
    match kernel {
        3 if height.max(width) > 4 && large < small => 4,
        3 => 2,
        kernel => 7 - kernel,
    }
}

/// Splits `tiles` into blocks of nearly equal size, `largest` at most: their first tiles and sizes.
fn blocks(tiles: Range<usize>, largest: usize) -> impl Iterator<Item = (usize, usize)> {
    let count = tiles.len().div_ceil(largest);
    (0..count).map(move |block| {
        let first = tiles.start + block * tiles.len() / count;
        let end = tiles.start + (block + 1) * tiles.len() / count;
        (first, end - first)
    })
}
