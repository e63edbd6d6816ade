//! Relevance through time: gates get none, what they let through gets all.

use super::Lstm;
use super::layout::Sizes;
use crate::kernel::elementwise::dot;
use crate::kernel::math::{sigmoid, tanh};
use crate::kernel::shares::{add_shares, ratio};
use crate::layer::Carry;

/// What one step holds, one value for each unit.
struct Step {
    /// What is left of the state of the cell before the step.
    kept: Vec<f32>,
    /// What comes in.
    added: Vec<f32>,
    /// Sum at the candidate.
    candidate: Vec<f32>,
    /// Hidden state before the step.
    hidden: Vec<f32>,
}

/// Computes the steps of one example again: in use the layer does not keep them.
fn steps(sizes: &Sizes, parameters: &[f32], input: &[f32]) -> Vec<Step> {
    let units = sizes.units;
    let tensors = sizes.split_parameters(parameters);
    let (mut cell, mut hidden) = (vec![0.0; units], vec![0.0; units]);
    let step = |input: &[f32]| {
        let sum = |row: usize| {
            dot(&tensors.weight_input[row * sizes.inputs..][..sizes.inputs], input)
                + dot(&tensors.weight_hidden[row * units..][..units], &hidden)
                + (tensors.bias_input[row] + tensors.bias_hidden[row])
        };
        let sums: Vec<f32> = (0..4 * units).map(sum).collect();
        let gate = |gate: usize, unit: usize| sigmoid(sums[gate * units + unit]);
        let candidate = sums[2 * units..3 * units].to_vec();
        let kept: Vec<f32> = (0..units).map(|unit| gate(1, unit) * cell[unit]).collect();
        let added: Vec<f32> = (0..units).map(|unit| gate(0, unit) * tanh(candidate[unit])).collect();
        let after: Vec<f32> = kept.iter().zip(&added).map(|(kept, added)| kept + added).collect();
        let next = (0..units).map(|unit| gate(3, unit) * tanh(after[unit])).collect();
        cell = after;
        Step { kept, added, candidate, hidden: std::mem::replace(&mut hidden, next) }
    };
    input.chunks_exact(sizes.inputs).map(step).collect()
}

impl Lstm {
    /// The hidden state hands all to the state of the cell, which shares it out between what it kept and what came in; that
    /// goes to the sum at the candidate and from there to input and hidden state.
    pub(super) fn carry(&self, Carry { weights, pass, values, upstream, downstream, stabiliser, .. }: Carry) {
        let Sizes { inputs, units, .. } = self.sizes;
        let tensors = self.sizes.split_parameters(weights.parameters);
        let candidates = 2 * units..3 * units;
        let from_input = &tensors.weight_input[candidates.start * inputs..candidates.end * inputs];
        let from_hidden = &tensors.weight_hidden[candidates.start * units..candidates.end * units];
        let (mut at_hidden, mut at_cell) = (vec![0.0; units], vec![0.0; units]);
        let mut ratios = vec![0.0; units];
        downstream.fill(0.0);
        let steps = steps(&self.sizes, weights.parameters, values.input);
        for (index, step) in steps.iter().enumerate().rev() {
            let place = self.output_place(pass, 0, index);
            for unit in 0..units {
                let own = place.map_or(0.0, |place| upstream[place * units + unit]);
                let relevance = at_cell[unit] + at_hidden[unit] + own;
                let share = ratio(relevance, step.kept[unit] + step.added[unit], stabiliser);
                at_cell[unit] = share * step.kept[unit];
                ratios[unit] = ratio(share * step.added[unit], step.candidate[unit], stabiliser);
            }
            at_hidden.fill(0.0);
            add_shares(from_hidden, &ratios, &step.hidden, &mut at_hidden);
            let range = index * inputs..(index + 1) * inputs;
            add_shares(from_input, &ratios, &values.input[range.clone()], &mut downstream[range]);
        }
    }
}
