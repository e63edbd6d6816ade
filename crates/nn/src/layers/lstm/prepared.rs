//! The weights in panels, arranged once per step.

use super::layout::Sizes;
use crate::kernel::panel::{COLUMNS, transpose};

/// The prepared weights, part by part.
pub struct Prepared<'a> {
    /// `[hidden | input]` to gates: group, gate, then a panel.
    pub forward: &'a [f32],
    /// Sum of both biases: group, gate, then sixteen values.
    pub bias: &'a [f32],
    /// Gates to hidden: panels of all gates' rows.
    pub hidden: &'a [f32],
    /// Gates to input: panels of all gates' rows.
    pub input: &'a [f32],
}

/// PyTorch's tensors, one after the other.
pub struct Tensors<'a> {
    /// `[4 · units, inputs]`.
    pub weight_input: &'a [f32],
    /// `[4 · units, units]`.
    pub weight_hidden: &'a [f32],
    /// `[4 · units]`.
    pub bias_input: &'a [f32],
    /// `[4 · units]`.
    pub bias_hidden: &'a [f32],
}

impl Sizes {
    /// Values of one panel of the forward weights: padding between hidden units and inputs, none after the inputs.
    pub fn forward_panel(&self) -> usize {
        (self.padded_units() + self.inputs) * COLUMNS
    }

    /// Values of one panel of the weights on the way back.
    pub fn backward_panel(&self) -> usize {
        self.panels() * COLUMNS * COLUMNS
    }

    fn prepared_lens(&self) -> [usize; 4] {
        [
            self.panels() * self.forward_panel(),
            self.panels() * COLUMNS,
            self.groups() * self.backward_panel(),
            self.inputs.div_ceil(COLUMNS) * self.backward_panel(),
        ]
    }

    /// Values of the prepared weights.
    pub fn prepared_len(&self) -> usize {
        self.prepared_lens().iter().sum()
    }

    /// Cuts the prepared weights into their parts.
    pub fn split_prepared<'a>(&self, prepared: &'a [f32]) -> Prepared<'a> {
        let [forward, bias, hidden, input] = self.prepared_lens();
        let (forward, prepared) = prepared.split_at(forward);
        let (bias, prepared) = prepared.split_at(bias);
        let (hidden, prepared) = prepared.split_at(hidden);
        Prepared { forward, bias, hidden, input: &prepared[..input] }
    }

    /// Cuts the parameters into PyTorch's tensors.
    pub fn split_parameters<'a>(&self, parameters: &'a [f32]) -> Tensors<'a> {
        let gates = 4 * self.units;
        let (weight_input, parameters) = parameters.split_at(gates * self.inputs);
        let (weight_hidden, parameters) = parameters.split_at(gates * self.units);
        let (bias_input, bias_hidden) = parameters.split_at(gates);
        Tensors { weight_input, weight_hidden, bias_input, bias_hidden }
    }

    /// Arranges the parameters.
    pub fn prepare(&self, parameters: &[f32], prepared: &mut [f32]) {
        let tensors = self.split_parameters(parameters);
        let [forward, bias, hidden, _] = self.prepared_lens();
        let (forward, prepared) = prepared.split_at_mut(forward);
        let (bias, prepared) = prepared.split_at_mut(bias);
        let (hidden, input) = prepared.split_at_mut(hidden);
        // What no parameter is written to must be zero.
        input.fill(0.0);
        if self.units < self.padded_units() {
            forward.fill(0.0);
            bias.fill(0.0);
            hidden.fill(0.0);
        }
        let rows = 4 * self.units;
        for row in 0..rows {
            let (panel, column) = self.place(row);
            let (gate, group) = (panel / self.groups(), panel % self.groups());
            bias[(group * 4 + gate) * COLUMNS + column] = tensors.bias_input[row] + tensors.bias_hidden[row];
            let from_hidden = &tensors.weight_hidden[row * self.units..][..self.units];
            let from_input = &tensors.weight_input[row * self.inputs..][..self.inputs];
            self.spread(from_hidden, panel * COLUMNS + column, hidden);
            self.spread(from_input, panel * COLUMNS + column, input);
        }
        for gate in 0..4 {
            for group in 0..self.groups() {
                let units = self.units_of(group);
                let first = gate * self.units + units.start;
                let panel = &mut forward[(group * 4 + gate) * self.forward_panel()..][..self.forward_panel()];
                let (from_hidden, from_input) = panel.split_at_mut(self.padded_units() * COLUMNS);
                let rows = first..first + units.len();
                transpose(tensors.weight_hidden, self.units, rows.clone(), from_hidden);
                transpose(tensors.weight_input, self.inputs, rows, from_input);
            }
        }
    }

    /// Writes one row of a matrix into row `target` of its panels.
    fn spread(&self, row: &[f32], target: usize, panels: &mut [f32]) {
        for (panel, values) in panels.chunks_exact_mut(self.backward_panel()).zip(row.chunks(COLUMNS)) {
            panel[target * COLUMNS..][..values.len()].copy_from_slice(values);
        }
    }
}
