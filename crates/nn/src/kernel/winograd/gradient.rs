//! The weight gradient: products over tiles in the Winograd domain, transformed back and added while still in cache.

use std::marker::PhantomData;

use super::transform::Transform;
use crate::kernel::instructions::{InstructionSet, Task, Vector};
use crate::kernel::line::{LANES, Line, panels};

/// Panels of in channels whose products are in flight together: each upstream line, once in the nearest cache, serves
/// all of them.
pub(super) const GROUP: usize = 4;

/// gradient += transform of (sum over tiles of input ⊗ upstream, for each position)
pub(super) struct WeightGradient<'a, F, const TILE: usize, const TAPS: usize> {
    pub(super) transform: PhantomData<F>,
    /// Tiles in the block.
    pub(super) count: usize,
    pub(super) in_channels: usize,
    pub(super) out_channels: usize,
    /// `[position][in panel][tile]`
    pub(super) input: &'a [Line],
    /// `[position][out panel][tile]`
    pub(super) upstream: &'a [Line],
    /// Room for `[position][GROUP panels][in channel]`.
    pub(super) products: &'a mut [Line],
    /// `[kernel row][kernel column][in channel][out channel]`
    pub(super) gradient: &'a mut [f32],
}

impl<F: Transform<TILE, TAPS>, const TILE: usize, const TAPS: usize> Task
    for WeightGradient<'_, F, TILE, TAPS>
{
    #[inline(always)]
    fn run<I: InstructionSet>(self) {
        let (in_panels, out_panels) = (panels(self.in_channels), panels(self.out_channels));
        for group in (0..in_panels).step_by(GROUP) {
            let group = group..in_panels.min(group + GROUP);
            for out_panel in 0..out_panels {
                for position in 0..TILE * TILE {
                    let upstream =
                        &self.upstream[(position * out_panels + out_panel) * self.count..][..self.count];
                    for in_panel in group.clone() {
                        let input =
                            &self.input[(position * in_panels + in_panel) * self.count..][..self.count];
                        let products =
                            &mut self.products[(position * GROUP + in_panel - group.start) * LANES..];
                        outer::<I>(
                            input,
                            upstream,
                            products.first_chunk_mut().expect("scratch is large enough"),
                        );
                    }
                }
                for channel in group.start * LANES..self.in_channels.min(group.end * LANES) {
                    let products = &self.products[channel - group.start * LANES..];
                    let first = channel * self.out_channels + out_panel * LANES;
                    let width = LANES.min(self.out_channels - out_panel * LANES);
                    for lane in (0..width).step_by(I::Vector::WIDTH) {
                        let mut values = [[I::Vector::zero(); TILE]; TILE];
                        for row in 0..TILE {
                            for column in 0..TILE {
                                let line = (row * TILE + column) * GROUP * LANES;
                                values[row][column] = I::Vector::load(&products[line], lane);
                            }
                        }
                        let values = F::apply_twice(values);
                        for row in 0..TAPS {
                            for column in 0..TAPS {
                                let tap = (row * TAPS + column) * self.in_channels * self.out_channels;
                                let target = &mut self.gradient[tap + first..][lane..width];
                                I::Vector::load_from(target, 0)
                                    .add(values[row][column])
                                    .store_into(target, 0);
                            }
                        }
                    }
                }
            }
        }
    }
}

/// products `[in channel][out channel]` = sum over tiles of input · upstream. The sixteen rows are shared out so that
/// the sums fit the registers.
#[inline(always)]
fn outer<I: InstructionSet>(input: &[Line], upstream: &[Line], products: &mut [Line; LANES]) {
    match I::ROWS {
        12.. => rows::<I::Wide, 16>(input, upstream, products, 0),
        6..12 => {
            rows::<I::Wide, 6>(input, upstream, products, 0);
            rows::<I::Wide, 5>(input, upstream, products, 6);
            rows::<I::Wide, 5>(input, upstream, products, 11);
        }
        _ => (0..LANES)
            .step_by(2)
            .for_each(|first| rows::<I::Wide, 2>(input, upstream, products, first)),
    }
}

/// `ROWS` of the rows, from `first` on, with the sums in registers.
#[inline(always)]
fn rows<V: Vector, const ROWS: usize>(
    input: &[Line],
    upstream: &[Line],
    products: &mut [Line; LANES],
    first: usize,
) {
    let mut sums = [V::zero(); ROWS];
    for (input, upstream) in input.iter().zip(upstream) {
        let right = V::load(upstream, 0);
        let left: &[f32; ROWS] = input.0[first..].first_chunk().expect("rows lie within a line");
        for row in 0..ROWS {
            sums[row] = sums[row].accumulate(V::splat(left[row]), right);
        }
    }
    for row in 0..ROWS {
        sums[row].store(&mut products[first + row], 0);
    }
}
