//! The weighted sum of the examples' weight gradients, as one long product over all examples and steps.

use super::layout::{Layout, Sizes};
use crate::kernel::elementwise::scale_into;
use crate::kernel::gather::Start;
use crate::kernel::panel::{COLUMNS, gather_product};
use crate::layer::Factors;

/// Terms (pairs of example and step) in one go: their gates stay in the second-level cache while every panel of rows
/// meets them, and a panel of rows stays in the first.
const TERMS: usize = 192;

/// Weight rows in one go: three panels of gates, whole tiles of every instruction set.
const WEIGHT_ROWS: usize = 48;

/// Values of scratch memory that [`accumulate`] needs.
pub fn scratch_len(sizes: &Sizes) -> usize {
    TERMS * sizes.row()
}

/// Adds to both weight tensors, `[4 · units, inputs]` and `[4 · units, units]`.
///
/// The factors go to the rows `[hidden | input]`: they are shorter than the gates, have to be packed anyway, and each
/// of their two parts belongs to one tensor.
pub fn accumulate(
    sizes: &Sizes,
    layout: &Layout,
    gates: &[f32],
    rows: &[f32],
    factors: Factors,
    [weight_input, weight_hidden]: [&mut [f32]; 2],
    scratch: &mut [f32],
) {
    let examples = factors.examples();
    let terms = sizes.steps * examples.len();
    let groups = sizes.groups();
    let mut reductions = [0u32; TERMS];
    for begin in (0..terms).step_by(TERMS) {
        let count = TERMS.min(terms - begin);
        let panels = &mut scratch[..count * sizes.row()];
        for (term, reduction) in reductions[..count].iter_mut().enumerate() {
            let (step, index) = ((begin + term) / examples.len(), (begin + term) % examples.len());
            let example = examples.start + index;
            let source = step * layout.batch + example;
            *reduction = (source * COLUMNS) as u32;
            let row = &rows[source * sizes.row()..][..sizes.row()];
            let [input_factor, hidden_factor] = [0, 1].map(|tensor| factors.at(tensor, example));
            pack(row, groups, hidden_factor, input_factor, term, count, panels);
        }
        for (panel, packed) in panels.chunks_exact(count * COLUMNS).enumerate() {
            if panel < groups {
                // The hidden state before the first step is zero.
                let skip = examples.len().saturating_sub(begin).min(count);
                if skip == count {
                    continue;
                }
                let columns = sizes.units_of(panel);
                let packed = &packed[skip * COLUMNS..];
                let reductions = &reductions[skip..count];
                weight_rows(
                    sizes,
                    layout,
                    gates,
                    reductions,
                    packed,
                    columns,
                    weight_hidden,
                    sizes.units,
                );
            } else {
                let first = (panel - groups) * COLUMNS;
                let columns = first..sizes.inputs.min(first + COLUMNS);
                let reductions = &reductions[..count];
                weight_rows(
                    sizes,
                    layout,
                    gates,
                    reductions,
                    packed,
                    columns,
                    weight_input,
                    sizes.inputs,
                );
            }
        }
    }
}

/// Writes one row, each part times its factor, into row `term` of panels `depth` deep.
fn pack(
    row: &[f32],
    groups: usize,
    hidden_factor: f32,
    input_factor: f32,
    term: usize,
    depth: usize,
    panels: &mut [f32],
) {
    for (panel, piece) in row.as_chunks::<COLUMNS>().0.iter().enumerate() {
        let factor = if panel < groups {
            hidden_factor
        } else {
            input_factor
        };
        let target = &mut panels[(panel * depth + term) * COLUMNS..][..COLUMNS];
        scale_into(target, factor, piece);
    }
}

/// Multiplies the gates of all weight rows with one panel of `[hidden | input]`.
#[allow(clippy::too_many_arguments)]
fn weight_rows(
    sizes: &Sizes,
    layout: &Layout,
    gates: &[f32],
    reductions: &[u32],
    panel: &[f32],
    columns: std::ops::Range<usize>,
    weight: &mut [f32],
    width: usize,
) {
    for first in (0..4 * sizes.units).step_by(WEIGHT_ROWS) {
        let count = WEIGHT_ROWS.min(4 * sizes.units - first);
        let mut sources = [0u32; WEIGHT_ROWS];
        let mut targets = [0u32; WEIGHT_ROWS];
        for index in 0..count {
            let (panel, column) = sizes.place(first + index);
            sources[index] = (panel * layout.panel_stride() + column) as u32;
            targets[index] = ((first + index) * width) as u32;
        }
        gather_product(
            gates,
            &sources[..count],
            reductions,
            panel,
            Start::Output,
            weight,
            &targets[..count],
            columns.clone(),
        );
    }
}
