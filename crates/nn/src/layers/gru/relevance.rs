//! Relevance through time: gates get none, what they let through gets all.

use super::Gru;
use crate::kernel::elementwise::dot;
use crate::kernel::math::{sigmoid, tanh};
use crate::kernel::shares::{add_shares, ratio};
use crate::layer::Carry;

/// What one step holds, one value for each unit.
struct Step {
    /// What is left of the hidden state before the step.
    kept: Vec<f32>,
    /// What comes in.
    added: Vec<f32>,
    /// Sum at the candidate.
    candidate: Vec<f32>,
    /// What the candidate sees of the hidden state's part of it.
    reset: Vec<f32>,
    /// Hidden state before the step.
    hidden: Vec<f32>,
}

impl Gru {
    /// Computes the steps of one example again: gates and sums share their place on the tape.
    fn steps(&self, of_input: &[f32], of_hidden: &[f32], input: &[f32]) -> Vec<Step> {
        let (inputs, units) = (self.inputs, self.units);
        let mut hidden = vec![0.0; units];
        let step = |input: &[f32]| {
            let from_input = |row: usize| {
                dot(&of_input[row * inputs..][..inputs], input) + of_input[3 * units * inputs + row]
            };
            let from_hidden = |row: usize| {
                dot(&of_hidden[row * units..][..units], &hidden) + of_hidden[3 * units * units + row]
            };
            let gate = |row: usize| sigmoid(from_input(row) + from_hidden(row));
            let reset: Vec<f32> = (0..units).map(gate).collect();
            let update: Vec<f32> = (units..2 * units).map(gate).collect();
            let candidate =
                |unit: usize| from_input(2 * units + unit) + reset[unit] * from_hidden(2 * units + unit);
            let candidate: Vec<f32> = (0..units).map(candidate).collect();
            let kept: Vec<f32> = update.iter().zip(&hidden).map(|(update, hidden)| update * hidden).collect();
            let added: Vec<f32> =
                update.iter().zip(&candidate).map(|(update, sum)| (1.0 - update) * tanh(*sum)).collect();
            let next = kept.iter().zip(&added).map(|(kept, added)| kept + added).collect();
            Step { kept, added, candidate, reset, hidden: std::mem::replace(&mut hidden, next) }
        };
        input.chunks_exact(inputs).map(step).collect()
    }

    /// The hidden state shares out what it has between what it kept and what came in; that goes to the sum at the candidate
    /// and from there to input and hidden state.
    pub(super) fn carry(&self, Carry { weights, pass, values, upstream, downstream, stabiliser, .. }: Carry) {
        let (inputs, units) = (self.inputs, self.units);
        let [of_input, of_hidden] = self.dense.parameters(&weights);
        let from_input = &of_input[2 * units * inputs..3 * units * inputs];
        let from_hidden = &of_hidden[2 * units * units..3 * units * units];
        let (mut at_hidden, mut ratios) = (vec![0.0; units], vec![0.0; units]);
        downstream.fill(0.0);
        let steps = self.steps(of_input, of_hidden, values.input);
        for (index, step) in steps.iter().enumerate().rev() {
            let place = self.output_place(pass, 0, index);
            for unit in 0..units {
                let own = place.map_or(0.0, |place| upstream[place + unit]);
                let share = ratio(at_hidden[unit] + own, step.kept[unit] + step.added[unit], stabiliser);
                at_hidden[unit] = share * step.kept[unit];
                ratios[unit] = ratio(share * step.added[unit], step.candidate[unit], stabiliser);
            }
            let range = index * inputs..(index + 1) * inputs;
            add_shares(from_input, &ratios, &values.input[range.clone()], &mut downstream[range]);
            ratios.iter_mut().zip(&step.reset).for_each(|(ratio, reset)| *ratio *= reset);
            add_shares(from_hidden, &ratios, &step.hidden, &mut at_hidden);
        }
    }
}
