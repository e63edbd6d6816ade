//! The weight gradient: products over tiles in the Winograd domain, transformed back and added while still in cache.

use std::marker::PhantomData;

use super::transform::{Mode, Place, Transform, transform};
use super::whole::{load, store};
use crate::kernel::instructions::{InstructionSet, Task, Vector};
use crate::kernel::line::{LANES, Line, apart, flat, panels};

/// Panels of in channels whose products are in flight together: each upstream line, once in the nearest cache, serves
/// all of them.
const GROUP: usize = 4;

/// Lines between the products of one position and the next.
pub(super) const PRODUCTS: usize = apart(GROUP * LANES);

/// gradient = or += transform of (sum over tiles of input ⊗ upstream, for each position)
pub(super) struct WeightGradient<'a, F, const TILE: usize, const TAPS: usize> {
    pub(super) transform: PhantomData<F>,
    /// Tiles in the block.
    pub(super) count: usize,
    /// Most tiles in a sum; further sums are added to it.
    pub(super) sum: usize,
    pub(super) in_channels: usize,
    pub(super) out_channels: usize,
    /// `[position][in panel][tile]`
    pub(super) input: &'a [Line],
    /// `[position][out panel][tile]`
    pub(super) upstream: &'a [Line],
    /// Room for [`PRODUCTS`] lines for each position: `[position][GROUP panels][in channel]`.
    pub(super) products: &'a mut [Line],
    /// `[kernel row][kernel column][in channel][out channel]`
    pub(super) gradient: &'a mut [f32],
    /// What becomes of what the gradient holds.
    pub(super) mode: Mode,
}

impl<F: Transform<TILE, TAPS>, const TILE: usize, const TAPS: usize> Task
    for WeightGradient<'_, F, TILE, TAPS>
{
    #[inline(always)]
    fn run<I: InstructionSet>(self) {
        let (in_panels, out_panels) = (panels(self.in_channels), panels(self.out_channels));
        let mut patch = [[[0.0; LANES]; TAPS]; TAPS];
        for group in (0..in_panels).step_by(GROUP) {
            let group = group..in_panels.min(group + GROUP);
            for out_panel in 0..out_panels {
                for position in 0..TILE * TILE {
                    let upstream = &self.upstream
                        [position * apart(out_panels * self.count) + out_panel * self.count..][..self.count];
                    for in_panel in group.clone() {
                        let input = &self.input
                            [position * apart(in_panels * self.count) + in_panel * self.count..]
                            [..self.count];
                        let products =
                            &mut self.products[position * PRODUCTS + (in_panel - group.start) * LANES..];
                        let products = products.first_chunk_mut().expect("scratch is large enough");
                        let mut mode = Mode::Overwrite;
                        for (input, upstream) in input.chunks(self.sum).zip(upstream.chunks(self.sum)) {
                            outer::<I>(input, upstream, products, mode);
                            mode = Mode::Add;
                        }
                    }
                }
                let width = LANES.min(self.out_channels - out_panel * LANES);
                let tap = self.in_channels * self.out_channels;
                let position = PRODUCTS * LANES;
                for channel in group.start * LANES..self.in_channels.min(group.end * LANES) {
                    let products = flat(self.products);
                    let first = (channel - group.start * LANES) * LANES;
                    let from = Place { first, row: TILE * position, column: position };
                    let first = channel * self.out_channels + out_panel * LANES;
                    if width == LANES {
                        let to = Place { first, row: TAPS * tap, column: tap };
                        transform::<F, I::Vector, TILE, TAPS>(
                            products,
                            from,
                            self.gradient,
                            to,
                            LANES,
                            self.mode,
                        );
                        continue;
                    }
                    let to = Place { first: 0, row: TAPS * LANES, column: LANES };
                    let flat_patch = patch.as_flattened_mut().as_flattened_mut();
                    transform::<F, I::Vector, TILE, TAPS>(
                        products,
                        from,
                        flat_patch,
                        to,
                        LANES,
                        Mode::Overwrite,
                    );
                    for (index, patch) in patch.as_flattened().iter().enumerate() {
                        let gradient = &mut self.gradient[index * tap + first..][..width];
                        for (gradient, patch) in gradient.iter_mut().zip(patch) {
                            *gradient = if self.mode == Mode::Add { *gradient + patch } else { *patch };
                        }
                    }
                }
            }
        }
    }
}

/// products `[in channel][out channel]` = or += sum over tiles of input · upstream. The sixteen rows are shared out so that
/// the sums fit the registers.
#[inline(always)]
fn outer<I: InstructionSet>(input: &[Line], upstream: &[Line], products: &mut [Line; LANES], mode: Mode) {
    match I::ROWS {
        12.. => rows::<I::Wide, 16>(input, upstream, products, 0, mode),
        6..12 => {
            rows::<I::Wide, 6>(input, upstream, products, 0, mode);
            rows::<I::Wide, 5>(input, upstream, products, 6, mode);
            rows::<I::Wide, 5>(input, upstream, products, 11, mode);
        }
        _ => {
            (0..LANES)
                .step_by(2)
                .for_each(|first| rows::<I::Wide, 2>(input, upstream, products, first, mode));
        }
    }
}

/// `ROWS` of the rows, from `first` on, with the sums in registers.
#[inline(always)]
fn rows<V: Vector, const ROWS: usize>(
    input: &[Line],
    upstream: &[Line],
    products: &mut [Line; LANES],
    first: usize,
    mode: Mode,
) {
    let mut sums = [V::zero(); ROWS];
    for (input, upstream) in input.iter().zip(upstream) {
        let right: V = load(upstream);
        let left: &[f32; ROWS] = input.0[first..].first_chunk().expect("rows lie within a line");
        for row in 0..ROWS {
            sums[row] = sums[row].accumulate(V::splat(left[row]), right);
        }
    }
    for row in 0..ROWS {
        let product = &mut products[first + row];
        store(if mode == Mode::Add { load::<V>(product).add(sums[row]) } else { sums[row] }, product);
    }
}
