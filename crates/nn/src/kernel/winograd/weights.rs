//! The filters in the Winograd domain, as the products of both directions read them.

use std::marker::PhantomData;

use super::transform::{Mode, Place, Transform, transform};
use crate::kernel::instructions::{InstructionSet, Task, Vector};
use crate::kernel::line::{LANES, Line, flat, flat_mut, panels};

/// The input gradient is itself a convolution, of the upstream gradient with the filters turned by half a circle and
/// their channels swapped. So both directions run the same code, on weights of the same layout:
/// `[position][panel of results][channel summed over]`.
pub(super) struct TransformWeights<'a, F, const TAPS: usize, const TILE: usize> {
    pub(super) transform: PhantomData<F>,
    pub(super) in_channels: usize,
    pub(super) out_channels: usize,
    /// `[kernel row][kernel column][in channel][out channel]`
    pub(super) weights: &'a [f32],
    pub(super) forward: &'a mut [Line],
    pub(super) backward: &'a mut [Line],
}

impl<F: Transform<TAPS, TILE>, const TAPS: usize, const TILE: usize> Task
    for TransformWeights<'_, F, TAPS, TILE>
{
    #[inline(always)]
    fn run<I: InstructionSet>(self) {
        let (in_panels, out_panels) = (panels(self.in_channels), panels(self.out_channels));
        for in_panel in 0..in_panels {
            for out_panel in 0..out_panels {
                let mut block = [[[Line::default(); LANES]; TAPS]; TAPS];
                let mut turned = block;
                for row in 0..TAPS {
                    for column in 0..TAPS {
                        let tap = (row * TAPS + column) * self.in_channels;
                        for channel in 0..LANES.min(self.in_channels - in_panel * LANES) {
                            let first =
                                (tap + in_panel * LANES + channel) * self.out_channels + out_panel * LANES;
                            let width = LANES.min(self.out_channels - out_panel * LANES);
                            block[row][column][channel].0[..width]
                                .copy_from_slice(&self.weights[first..first + width]);
                        }
                        for channel in 0..LANES {
                            for lane in 0..LANES {
                                turned[TAPS - 1 - row][TAPS - 1 - column][lane].0[channel] =
                                    block[row][column][channel].0[lane];
                            }
                        }
                    }
                }
                let forward = (out_panel * in_panels + in_panel) * LANES * LANES;
                transform_block::<F, I::Vector, TAPS, TILE>(&block, flat_mut(self.forward), forward);
                let backward = (in_panel * out_panels + out_panel) * LANES * LANES;
                transform_block::<F, I::Vector, TAPS, TILE>(&turned, flat_mut(self.backward), backward);
            }
        }
    }
}

/// Transforms a block of sixteen by sixteen filters, and writes it from number `first` of each position on.
#[inline(always)]
fn transform_block<F: Transform<TAPS, TILE>, V: Vector, const TAPS: usize, const TILE: usize>(
    block: &[[[Line; LANES]; TAPS]; TAPS],
    transformed: &mut [f32],
    first: usize,
) {
    let position = transformed.len() / (TILE * TILE);
    let lanes = LANES * LANES;
    let from = Place { first: 0, row: TAPS * lanes, column: lanes };
    let to = Place { first, row: TILE * position, column: position };
    let block = flat(block.as_flattened().as_flattened());
    transform::<F, V, TAPS, TILE>(block, from, transformed, to, lanes, Mode::Overwrite);
}
