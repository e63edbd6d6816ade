//! One step of the cell, forward and back, for sixteen hidden units of all examples at a time.

use crate::kernel::instructions::vectorised;
use crate::kernel::math::{sigmoid, tanh};
use crate::kernel::panel::COLUMNS;

/// What a step keeps of sixteen hidden units: one row of sixteen for every example.
pub struct Kept<'a> {
    /// State of the cell after the step.
    pub cell: &'a mut [f32],
    /// Its hyperbolic tangent.
    pub squashed: &'a mut [f32],
}

/// Hidden units inside longer rows.
pub struct Strided<'a> {
    /// From the first unit on.
    pub values: &'a mut [f32],
    /// Distance between the rows of two examples.
    pub stride: usize,
}

vectorised! {
    /// Turns the sums at the gates (input, forget, cell, output) into their activations, and computes the new state:
    /// `c = f · c_before + i · g`, `h = o · tanh(c)`.
    ///
    /// # Source
    /// Hochreiter, Schmidhuber 1997, "Long short-term memory", with the forget gate of Gers et al. 2000; gate names and
    /// order as in PyTorch's `LSTM`.
    pub fn forward(gates: [&mut [f32]; 4], before: &[f32], kept: Kept, hidden: Strided) {
        let [input, forget, candidate, output] = gates.map(|gate| gate.as_chunks_mut::<COLUMNS>().0);
        let before = before.as_chunks::<COLUMNS>().0;
        let cell = kept.cell.as_chunks_mut::<COLUMNS>().0;
        let squashed = kept.squashed.as_chunks_mut::<COLUMNS>().0;
        let gates = input.iter_mut().zip(forget).zip(candidate).zip(output);
        let states = before.iter().zip(cell).zip(squashed);
        let rows = hidden.values.chunks_mut(hidden.stride);
        for (((((input, forget), candidate), output), ((before, cell), squashed)), row) in
            gates.zip(states).zip(rows)
        {
            let (hidden, _) = row.split_first_chunk_mut::<COLUMNS>().expect("a whole row");
            for unit in 0..COLUMNS {
                input[unit] = sigmoid(input[unit]);
                forget[unit] = sigmoid(forget[unit]);
                candidate[unit] = tanh(candidate[unit]);
                output[unit] = sigmoid(output[unit]);
                cell[unit] = forget[unit].mul_add(before[unit], input[unit] * candidate[unit]);
                squashed[unit] = tanh(cell[unit]);
                hidden[unit] = output[unit] * squashed[unit];
            }
        }
    }
}

/// What the way back reads and carries: one row of sixteen for every example.
pub struct Back<'a> {
    /// State of the cell before the step.
    pub before: &'a [f32],
    /// Hyperbolic tangent of the state after the step.
    pub squashed: &'a [f32],
    /// Gradient of the hidden state after the step.
    pub hidden_gradient: &'a [f32],
    /// Gradient of the state, after the step on entry and before it on return.
    pub cell_gradient: &'a mut [f32],
}

vectorised! {
    /// Turns the activations of the gates into the gradients of their sums, written in place and to `rows`, gate after gate
    /// `gate_stride` apart, and added to `sums`.
    pub fn backward(
        gates: [&mut [f32]; 4],
        back: Back,
        rows: Strided,
        gate_stride: usize,
        sums: [&mut [f32]; 4],
    ) {
        let [input, forget, candidate, output] = gates.map(|gate| gate.as_chunks_mut::<COLUMNS>().0);
        let [input_sum, forget_sum, candidate_sum, output_sum] = sums.map(|sum| sum.as_chunks_mut::<COLUMNS>().0);
        let before = back.before.as_chunks::<COLUMNS>().0;
        let squashed = back.squashed.as_chunks::<COLUMNS>().0;
        let hidden_gradient = back.hidden_gradient.as_chunks::<COLUMNS>().0;
        let cell_gradient = back.cell_gradient.as_chunks_mut::<COLUMNS>().0;
        let gates = input.iter_mut().zip(forget).zip(candidate).zip(output);
        let sums = input_sum.iter_mut().zip(forget_sum).zip(candidate_sum).zip(output_sum);
        let states = before.iter().zip(squashed).zip(hidden_gradient).zip(cell_gradient);
        let rows = rows.values.chunks_mut(rows.stride);
        for (((gates, sums), states), row) in gates.zip(sums).zip(states).zip(rows) {
            let (((input, forget), candidate), output) = gates;
            let (((input_sum, forget_sum), candidate_sum), output_sum) = sums;
            let (((before, squashed), hidden_gradient), cell_gradient) = states;
            for unit in 0..COLUMNS {
                let (i, f, g, o) = (input[unit], forget[unit], candidate[unit], output[unit]);
                let (squashed, hidden) = (squashed[unit], hidden_gradient[unit]);
                let cell = (hidden * o).mul_add(1.0 - squashed * squashed, cell_gradient[unit]);
                input[unit] = cell * g * (i * (1.0 - i));
                forget[unit] = cell * before[unit] * (f * (1.0 - f));
                candidate[unit] = cell * i * (1.0 - g * g);
                output[unit] = hidden * squashed * (o * (1.0 - o));
                cell_gradient[unit] = cell * f;
            }
            for (place, (gradient, sum)) in
                [(input, input_sum), (forget, forget_sum), (candidate, candidate_sum), (output, output_sum)]
                    .into_iter()
                    .enumerate()
            {
                row[place * gate_stride..][..COLUMNS].copy_from_slice(gradient);
                for unit in 0..COLUMNS {
                    sum[unit] += gradient[unit];
                }
            }
        }
    }
}
