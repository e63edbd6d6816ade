//! The weighted sum of the examples' weight gradients, as one long product over all examples and steps.

use super::layout::{Layout, Sizes};
use crate::kernel::elementwise::scale_into;
use crate::kernel::gather::Start;
use crate::kernel::panel::{COLUMNS, Table, gather_product};
use crate::layer::Factors;
use crate::rounding::{best_block, of_terms};
use std::ops::Range;

/// Terms (pairs of example and step) in one go: their gates stay in the second-level cache while every panel of rows
/// meets them, and a panel of rows stays in the first.
const TERMS: usize = 192;

/// Weight rows in one go: three panels of gates, whole tiles of every instruction set.
const WEIGHT_ROWS: usize = 48;

/// Roundings that a step can meet on its way into the sum of an example: those of a block, and one for each block.
pub fn roundings(steps: usize) -> usize {
    let block = best_block(steps);
    steps.min(block) + steps.div_ceil(block) + 1
}

/// Roundings that a step meets in the sum of a group.
pub fn roundings_of_terms(steps: usize) -> usize {
    of_terms(steps, best_block(steps))
}

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
        let reductions = Table::new(&reductions[..count]);
        // The hidden state before the first step is zero.
        let skip = examples.len().saturating_sub(begin).min(count);
        let mut first = 0;
        while first < 4 * sizes.units {
            let block = Block::new(sizes, layout, first);
            first += block.count;
            for (panel, packed) in panels.chunks_exact(count * COLUMNS).enumerate() {
                if panel >= groups {
                    let first = (panel - groups) * COLUMNS;
                    let columns = first..sizes.inputs.min(first + COLUMNS);
                    block.add(gates, reductions, packed, weight_input, sizes.inputs, columns);
                } else if skip < count {
                    let (reductions, packed) = (reductions.from(skip), &packed[skip * COLUMNS..]);
                    let columns = sizes.units_of(panel);
                    block.add(gates, reductions, packed, weight_hidden, sizes.units, columns);
                }
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
        let factor = if panel < groups { hidden_factor } else { input_factor };
        let target = &mut panels[(panel * depth + term) * COLUMNS..][..COLUMNS];
        scale_into(target, factor, piece);
    }
}

/// A few rows of both weight tensors.
struct Block {
    first: usize,
    count: usize,
    sources: [u32; WEIGHT_ROWS],
    /// Terms that are summed before they are added.
    terms: usize,
}

impl Block {
    /// The rows from `first` on.
    fn new(sizes: &Sizes, layout: &Layout, first: usize) -> Block {
        let count = WEIGHT_ROWS.min(4 * sizes.units - first);
        let mut sources = [0; WEIGHT_ROWS];
        for (index, source) in sources[..count].iter_mut().enumerate() {
            let (panel, column) = sizes.place(first + index);
            *source = (panel * layout.panel_stride() + column) as u32;
        }
        Block { first, count, sources, terms: best_block(sizes.steps) }
    }

    /// Adds the product of the rows' gates with one panel to some columns of a weight tensor.
    fn add(
        &self,
        gates: &[f32],
        reductions: Table,
        panel: &[f32],
        weight: &mut [f32],
        width: usize,
        columns: Range<usize>,
    ) {
        let targets: [u32; WEIGHT_ROWS] = std::array::from_fn(|index| (index * width) as u32);
        gather_product(
            gates,
            Table::new(&self.sources[..self.count]),
            reductions,
            panel,
            Start::Added { block: self.terms },
            &mut weight[self.first * width..],
            &targets[..self.count],
            columns,
        );
    }
}
