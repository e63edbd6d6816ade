//! Long short-term memory: one layer, one direction, a state of zeros before the first step.

mod cell;
mod gradient;
mod layout;
mod norms;
mod prepared;
mod relevance;

use crate::ends::Ends;
use crate::error::Result;
use crate::kernel::elementwise::{add_scaled, squared_norm};
use crate::kernel::panel::{COLUMNS, Left, Output, products};
use crate::layer::{
    Backward, Carry, Factors, Forward, Gradients, Initial, Layer, Pass, RelevanceRule, Summation, Tensor,
};
use crate::layers::Context;
use crate::shape::Shape;
use cell::{Back, Kept, Strided};
use layout::{Layout, Sizes, gates_of, sums_of};
use norms::{Vectors, gram_norms};

/// A recurrent layer with input, forget, cell and output gates; tensors, gate order and first values are PyTorch's.
///
/// Time runs in the outer loop: each step is one product of all examples' rows `[hidden | input]` with weights that
/// were packed once for the whole batch. The gradients of all steps and examples then meet in one long product.
///
/// # Source
/// Hochreiter, Schmidhuber 1997, "Long short-term memory"; Gers et al. 2000, "Learning to forget".
pub struct Lstm {
    sizes: Sizes,
    sequence: bool,
    ends: Ends,
}

impl Lstm {
    /// A layer of `features` hidden units that passes on the last hidden state, or that of every step if `sequence`.
    pub fn new(context: &Context, features: usize, sequence: bool) -> Result<Lstm> {
        let Shape::Sequence { steps, features: inputs } = context.input else {
            return context.refuse("it takes a sequence of feature vectors");
        };
        if features == 0 {
            return context.refuse("it needs at least one hidden unit");
        }
        Ok(Lstm { sizes: Sizes { steps, inputs, units: features }, sequence, ends: context.ends.clone() })
    }

    /// Steps whose hidden state is passed on, and the place of a step among them.
    fn output_steps(&self) -> usize {
        if self.sequence { self.sizes.steps } else { 1 }
    }

    /// Place of an example's step among those passed on. Steps behind the end come later and move none that counts.
    fn output_place(&self, pass: &Pass, example: usize, step: usize) -> Option<usize> {
        match self.sequence {
            true => Some(step),
            false => (step + 1 == self.ends.of(pass.tokens, example, self.sizes.steps)).then_some(0),
        }
    }
}

impl Layer for Lstm {
    fn kind(&self) -> &'static str {
        "lstm"
    }

    fn output(&self) -> Shape {
        let Sizes { steps, units, .. } = self.sizes;
        if self.sequence { Shape::Sequence { steps, features: units } } else { Shape::Vector(units) }
    }

    fn tensors(&self) -> Vec<Tensor> {
        let Sizes { inputs, units, .. } = self.sizes;
        let initial = Initial::Uniform(1.0 / (units as f32).sqrt());
        vec![
            Tensor::new("weight_ih_l0", vec![4 * units, inputs], initial),
            Tensor::new("weight_hh_l0", vec![4 * units, units], initial),
            Tensor::new("bias_ih_l0", vec![4 * units], initial),
            Tensor::new("bias_hh_l0", vec![4 * units], initial),
        ]
    }

    fn multiply_adds(&self) -> u64 {
        let Sizes { steps, inputs, units } = self.sizes;
        (steps * 4 * units * (inputs + units)) as u64
    }

    fn prepared_len(&self) -> usize {
        self.sizes.prepared_len()
    }

    fn prepare(&self, parameters: &[f32], prepared: &mut [f32]) {
        self.sizes.prepare(parameters, prepared);
    }

    fn tape_len(&self, pass: &Pass) -> usize {
        Layout::new(self.sizes, pass).len()
    }

    fn scratch_len(&self, pass: &Pass) -> usize {
        // The gradients of both states, or packed rows.
        let states = 2 * pass.batch * self.sizes.padded_units();
        states.max(gradient::scratch_len(&self.sizes))
    }

    fn forward(&self, Forward { weights, pass, input, output, memory }: Forward) {
        let Sizes { steps, inputs, units } = self.sizes;
        let (groups, row, padded) = (self.sizes.groups(), self.sizes.row(), self.sizes.padded_units());
        let layout = Layout::new(self.sizes, pass);
        let tape = layout.split(memory.tape);
        let prepared = self.sizes.split_prepared(weights.prepared);
        let batch = pass.batch;
        tape.cells[..batch * padded].fill(0.0);
        tape.rows[..batch * row].fill(0.0);
        for step in 0..steps {
            let [rows, next_rows] = tape
                .rows
                .get_disjoint_mut(
                    [step, step + 1].map(|step| layout.row(step)..layout.row(step) + batch * row),
                )
                .expect("two steps");
            for (row, input) in rows.chunks_exact_mut(row).zip(input.chunks_exact(steps * inputs)) {
                let (values, padding) = row[padded..].split_at_mut(inputs);
                values.copy_from_slice(&input[step * inputs..][..inputs]);
                padding.fill(0.0);
            }
            // The hidden state before the first step is zero and need not be multiplied.
            let skip = if step == 0 { padded } else { 0 };
            let left = Left { values: &rows[skip..], rows: batch, stride: row };
            for group in 0..groups {
                let panels_len = 4 * self.sizes.forward_panel();
                products(
                    left,
                    &prepared.forward[group * panels_len..][..panels_len],
                    skip,
                    Some(&prepared.bias[group * 4 * COLUMNS..][..4 * COLUMNS]),
                    &mut tape.gates[layout.gate(group, step)..],
                    Output {
                        row_stride: COLUMNS,
                        panel_stride: groups * layout.panel_stride(),
                        columns: 4 * COLUMNS,
                    },
                );
                let gates = gates_of(&self.sizes, &layout, tape.gates, group, step);
                let [before, after] = tape
                    .cells
                    .get_disjoint_mut([layout.cell(step, group), layout.cell(step + 1, group)])
                    .expect("two steps");
                let kept = Kept { cell: after, squashed: &mut tape.squashed[layout.squashed(step, group)] };
                let hidden = Strided { values: &mut next_rows[group * COLUMNS..], stride: row };
                cell::forward(gates, before, kept, hidden);
            }
            let outputs = output.chunks_exact_mut(self.output_steps() * units);
            for (example, (output, row)) in outputs.zip(next_rows.chunks_exact(row)).enumerate() {
                if let Some(place) = self.output_place(pass, example, step) {
                    output[place * units..][..units].copy_from_slice(&row[..units]);
                }
            }
        }
    }

    /// Runs back through time and leaves the gradients of the gates on the tape; they are needed whether or not
    /// somebody asks for `downstream`.
    fn backward(&self, Backward { weights, pass, upstream, mut downstream, memory, .. }: Backward) {
        let Sizes { steps, inputs, units } = self.sizes;
        let (groups, padded, batch) = (self.sizes.groups(), self.sizes.padded_units(), pass.batch);
        let layout = Layout::new(self.sizes, pass);
        let tape = layout.split(memory.tape);
        let prepared = self.sizes.split_prepared(weights.prepared);
        let (hidden_gradient, scratch) = memory.scratch.split_at_mut(batch * padded);
        let cell_gradient = &mut scratch[..batch * padded];
        cell_gradient.fill(0.0);
        hidden_gradient.fill(0.0);
        tape.sums.fill(0.0);
        for step in (0..steps).rev() {
            let width = self.output_steps() * units;
            for (example, upstream) in upstream.chunks_exact(width).enumerate() {
                if let Some(place) = self.output_place(pass, example, step) {
                    for group in 0..groups {
                        let range = self.sizes.units_of(group);
                        let target =
                            &mut hidden_gradient[group * layout.block() + example * COLUMNS..][..range.len()];
                        let upstream = &upstream[place * units..][range];
                        target.iter_mut().zip(upstream).for_each(|(target, value)| *target += value);
                    }
                }
            }
            for group in 0..groups {
                let block = group * layout.block()..(group + 1) * layout.block();
                let back = Back {
                    before: &tape.cells[layout.cell(step, group)],
                    squashed: &tape.squashed[layout.squashed(step, group)],
                    hidden_gradient: &hidden_gradient[block.clone()],
                    cell_gradient: &mut cell_gradient[block],
                };
                let rows = Strided {
                    values: &mut tape.gradients[layout.gradient(step) + group * COLUMNS..],
                    stride: layout.gradient_stride(),
                };
                let gates = gates_of(&self.sizes, &layout, tape.gates, group, step);
                let sums = sums_of(&self.sizes, &layout, tape.sums, group);
                cell::backward(gates, back, rows, padded, sums);
            }
            let left = Left {
                values: &tape.gradients[layout.gradient(step)..],
                rows: batch,
                stride: layout.gradient_stride(),
            };
            if step > 0 {
                let place = Output { row_stride: COLUMNS, panel_stride: layout.block(), columns: padded };
                products(left, prepared.hidden, 0, None, hidden_gradient, place);
            }
            if let Some(downstream) = &mut downstream {
                let place = Output { row_stride: steps * inputs, panel_stride: COLUMNS, columns: inputs };
                products(left, prepared.input, 0, None, &mut downstream[step * inputs..], place);
            }
        }
    }

    fn summation(&self) -> Summation {
        Summation::Terms
    }

    /// Weights through the Gram matrices of gate gradients, inputs and hidden states; biases from the sum over time.
    fn squared_norms(&self, Gradients { pass, memory, .. }: Gradients, norms: &mut [f64]) {
        let (groups, row, batch) = (self.sizes.groups(), self.sizes.row(), pass.batch);
        let layout = Layout::new(self.sizes, pass);
        let tape = layout.split(memory.tape);
        for example in 0..batch {
            let gradients = Vectors {
                values: &tape.gradients[example * layout.gradient_stride()..],
                stride: self.sizes.panels() * COLUMNS,
                len: self.sizes.panels() * COLUMNS,
            };
            let rows = |first: usize, len: usize| Vectors {
                values: &tape.rows[example * row + first..],
                stride: batch * row,
                len,
            };
            let hidden = rows(0, groups * COLUMNS);
            let inputs = rows(groups * COLUMNS, self.sizes.padded_inputs());
            let [from_input, from_hidden] = gram_norms(self.sizes.steps, gradients, inputs, hidden);
            let bias: f64 = (0..self.sizes.panels())
                .map(|panel| {
                    squared_norm(&tape.sums[panel * layout.block() + example * COLUMNS..][..COLUMNS])
                })
                .sum();
            norms[example] = from_input;
            norms[batch + example] = from_hidden;
            norms[2 * batch + example] = bias;
            norms[3 * batch + example] = bias;
        }
    }

    fn accumulate(&self, Gradients { pass, memory, .. }: Gradients, factors: Factors, gradient: &mut [f32]) {
        let Sizes { inputs, units, .. } = self.sizes;
        let layout = Layout::new(self.sizes, pass);
        let tape = layout.split(memory.tape);
        let (weight_input, gradient) = gradient.split_at_mut(4 * units * inputs);
        let (weight_hidden, biases) = gradient.split_at_mut(4 * units * units);
        let weights = [weight_input, weight_hidden];
        gradient::accumulate(&self.sizes, &layout, tape.gates, tape.rows, factors, weights, memory.scratch);
        for (index, bias) in biases.chunks_exact_mut(4 * units).enumerate() {
            for panel in 0..self.sizes.panels() {
                let (gate, group) = (panel / self.sizes.groups(), panel % self.sizes.groups());
                let range = self.sizes.units_of(group);
                let target = &mut bias[gate * units + range.start..gate * units + range.end];
                for example in factors.examples() {
                    let sums = &tape.sums[panel * layout.block() + example * COLUMNS..][..target.len()];
                    add_scaled(target, factors.at(2 + index, example), sums);
                }
            }
        }
    }

    fn relevance(&self) -> Option<RelevanceRule> {
        Some(RelevanceRule::Own)
    }

    fn carry_relevance(&self, call: Carry) {
        self.carry(call);
    }
}
