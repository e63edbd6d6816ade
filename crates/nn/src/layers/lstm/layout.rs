//! Where things lie on the tape of one micro-batch.
//!
//! Everything is ordered by time first, so that a step is one product over all examples, and by sixteen hidden units,
//! so that gates come out of one product, and go into the next, without being copied.

use crate::kernel::panel::COLUMNS;
use crate::layer::{Pass, Purpose};
use std::ops::Range;

/// Sizes of a layer.
#[derive(Clone, Copy)]
pub struct Sizes {
    /// Steps in time.
    pub steps: usize,
    /// Features that come in at each step.
    pub inputs: usize,
    /// Hidden units.
    pub units: usize,
}

impl Sizes {
    /// Groups of sixteen hidden units.
    pub fn groups(&self) -> usize {
        self.units.div_ceil(COLUMNS)
    }

    /// Hidden units in whole groups; those beyond [`Sizes::units`] stay zero, for their weights are.
    pub fn padded_units(&self) -> usize {
        self.groups() * COLUMNS
    }

    /// Inputs in whole panels.
    pub fn padded_inputs(&self) -> usize {
        self.inputs.next_multiple_of(COLUMNS)
    }

    /// Length of a row `[hidden | input]`, both padded.
    pub fn row(&self) -> usize {
        self.padded_units() + self.padded_inputs()
    }

    /// Panels of all four gates.
    pub fn panels(&self) -> usize {
        4 * self.groups()
    }

    /// Panel and column of a row of PyTorch's weights.
    pub fn place(&self, weight_row: usize) -> (usize, usize) {
        let (gate, unit) = (weight_row / self.units, weight_row % self.units);
        (gate * self.groups() + unit / COLUMNS, unit % COLUMNS)
    }

    /// Columns of a group that belong to hidden units, as a range of units.
    pub fn units_of(&self, group: usize) -> Range<usize> {
        group * COLUMNS..self.units.min((group + 1) * COLUMNS)
    }
}

/// Distances on the tape for one size of micro-batch.
#[derive(Clone, Copy)]
pub struct Layout {
    sizes: Sizes,
    /// Examples.
    pub batch: usize,
    /// Steps that keep their gates: all, or one if there is no way back.
    gate_slots: usize,
    /// Steps that keep their state, with the one before the first.
    state_slots: usize,
    /// Steps that keep their gate gradients example by example.
    gradient_slots: usize,
}

/// The tape, area by area.
pub struct Areas<'a> {
    /// Gates: panel, step, example, column. After `backward`, the gradients of their sums.
    pub gates: &'a mut [f32],
    /// Rows `[hidden | input]`: step, example; one more step than inputs, for the last hidden state.
    pub rows: &'a mut [f32],
    /// State of the cell: step, group, example, column.
    pub cells: &'a mut [f32],
    /// Hyperbolic tangent of the state, one step behind.
    pub squashed: &'a mut [f32],
    /// Gate gradients summed over time: panel, example, column.
    pub sums: &'a mut [f32],
    /// Gate gradients once more, for norms: example, step, gate, unit.
    pub gradients: &'a mut [f32],
}

impl Layout {
    /// The layout for a pass.
    pub fn new(sizes: Sizes, pass: &Pass) -> Layout {
        let (gate_slots, state_slots, gradient_slots) = match pass.purpose {
            Purpose::Evaluate => (1, 2, 0),
            Purpose::Plain => (sizes.steps, sizes.steps + 1, 1),
            Purpose::PerExample => (sizes.steps, sizes.steps + 1, sizes.steps),
        };
        Layout { sizes, batch: pass.batch, gate_slots, state_slots, gradient_slots }
    }

    /// Values between two panels of gates: an odd number of cache lines, or a column of panels would fall into a few
    /// sets of the cache.
    pub fn panel_stride(&self) -> usize {
        ((self.gate_slots * self.batch) | 1) * COLUMNS
    }

    fn lens(&self) -> [usize; 6] {
        let state = self.batch * self.sizes.padded_units();
        [
            self.sizes.panels() * self.panel_stride(),
            self.state_slots * self.batch * self.sizes.row(),
            self.state_slots * state,
            self.gate_slots * state,
            4 * state,
            self.batch * self.gradient_stride(),
        ]
    }

    /// Values of the whole tape.
    pub fn len(&self) -> usize {
        self.lens().iter().sum()
    }

    /// The areas of a tape.
    pub fn split<'a>(&self, tape: &'a mut [f32]) -> Areas<'a> {
        let [gates, rows, cells, squashed, sums, gradients] = self.lens();
        let (gates, tape) = tape.split_at_mut(gates);
        let (rows, tape) = tape.split_at_mut(rows);
        let (cells, tape) = tape.split_at_mut(cells);
        let (squashed, tape) = tape.split_at_mut(squashed);
        let (sums, tape) = tape.split_at_mut(sums);
        Areas { gates, rows, cells, squashed, sums, gradients: &mut tape[..gradients] }
    }

    /// Values between the gate gradients of two examples: again an odd number of cache lines.
    pub fn gradient_stride(&self) -> usize {
        ((self.gradient_slots * self.sizes.panels()) | 1) * COLUMNS
    }

    /// Start of a step among the gate gradients of an example.
    pub fn gradient(&self, step: usize) -> usize {
        step % self.gradient_slots * self.sizes.panels() * COLUMNS
    }

    /// Values of one group, or one panel, at one step.
    pub fn block(&self) -> usize {
        self.batch * COLUMNS
    }

    /// Start of a panel of gates at a step.
    pub fn gate(&self, panel: usize, step: usize) -> usize {
        panel * self.panel_stride() + step % self.gate_slots * self.block()
    }

    /// Start of the rows before a step.
    pub fn row(&self, step: usize) -> usize {
        step % self.state_slots * self.batch * self.sizes.row()
    }

    /// The state of a group before a step.
    pub fn cell(&self, step: usize, group: usize) -> Range<usize> {
        let start = (step % self.state_slots * self.sizes.groups() + group) * self.block();
        start..start + self.block()
    }

    /// The squashed state of a group after a step.
    pub fn squashed(&self, step: usize, group: usize) -> Range<usize> {
        let start = (step % self.gate_slots * self.sizes.groups() + group) * self.block();
        start..start + self.block()
    }
}

/// The four gates of a group at a step, at once.
pub fn gates_of<'a>(
    sizes: &Sizes,
    layout: &Layout,
    gates: &'a mut [f32],
    group: usize,
    step: usize,
) -> [&'a mut [f32]; 4] {
    let range = |gate: usize| {
        let start = layout.gate(gate * sizes.groups() + group, step);
        start..start + layout.block()
    };
    gates.get_disjoint_mut([range(0), range(1), range(2), range(3)]).expect("panels of different gates")
}

/// The sums of the four gates of a group, at once.
pub fn sums_of<'a>(sizes: &Sizes, layout: &Layout, sums: &'a mut [f32], group: usize) -> [&'a mut [f32]; 4] {
    let range = |gate: usize| {
        let start = (gate * sizes.groups() + group) * layout.block();
        start..start + layout.block()
    };
    sums.get_disjoint_mut([range(0), range(1), range(2), range(3)]).expect("panels of different gates")
}
