//! Gated recurrent unit: one layer, one direction, a state of zeros before the first step.

mod cell;
mod relevance;

use crate::ends::Ends;
use crate::error::Result;
use crate::kernel::elementwise::add;
use crate::kernel::gather::{Rows, pack, panels_len};
use crate::kernel::panel::{COLUMNS, Left, Output, products, transpose};
use crate::layer::{
    Around, Backward, Carry, Factors, Forward, Gradients, Initial, Layer, Memory, Pass, RelevanceRule,
    Summation, Tensor, Weights,
};
use crate::layers::Context;
use crate::layers::dense_pair::{self, DensePair};
use crate::shape::Shape;

/// A recurrent layer with reset and update gates; names, gate order and first values are PyTorch's.
///
/// It is two dense layers over time, one from the inputs and one from the hidden states, joined at every step. The former is one
/// product for all steps; gradients and their norms are those of dense layers.
///
/// # Source
/// Cho et al. 2014, "Learning phrase representations using RNN encoder-decoder for statistical machine translation".
pub struct Gru {
    steps: usize,
    inputs: usize,
    units: usize,
    sequence: bool,
    ends: Ends,
    /// From the inputs, and from the hidden state.
    dense: DensePair,
}

/// The tape, area by area: example, step, then what it holds.
struct Areas<'a> {
    /// Sums at the three gates that come from the inputs, then the gates; after `backward`, the gradients of the sums.
    from_input: &'a mut [f32],
    /// Sums at the three gates that come from the hidden state; after `backward`, their gradients.
    from_hidden: &'a mut [f32],
    /// Hidden state before the step.
    before: &'a mut [f32],
    /// What the dense layers keep.
    kept: &'a mut [f32],
}

impl<'a> Areas<'a> {
    /// What lies on both sides of each dense layer, after `backward`, and what they keep.
    fn sides(self, input: &'a [f32]) -> ([Around<'a>; 2], &'a mut [f32]) {
        let from_input = Around { input, upstream: self.from_input };
        let from_hidden = Around { input: self.before, upstream: self.from_hidden };
        ([from_input, from_hidden], self.kept)
    }
}

impl Gru {
    /// A layer of `features` hidden units that passes on the last hidden state, or that of every step if `sequence`.
    pub fn new(context: &Context, features: usize, sequence: bool) -> Result<Gru> {
        let Shape::Sequence { steps, features: inputs } = context.input else {
            return context.refuse("it takes a sequence of feature vectors");
        };
        if features == 0 {
            return context.refuse("it needs at least one hidden unit");
        }
        let dense = DensePair::new(context, steps, [(inputs, 3 * features), (features, 3 * features)])?;
        Ok(Gru { steps, inputs, units: features, sequence, ends: context.ends.clone(), dense })
    }

    fn split<'a>(&self, batch: usize, tape: &'a mut [f32]) -> Areas<'a> {
        let states = batch * self.steps * self.units;
        let (from_input, tape) = tape.split_at_mut(3 * states);
        let (from_hidden, tape) = tape.split_at_mut(3 * states);
        let (before, kept) = tape.split_at_mut(states);
        Areas { from_input, from_hidden, before, kept }
    }

    /// Values of the recurrent weights in panels: from hidden to gates, and from gates to hidden.
    fn panels_lens(&self) -> [usize; 2] {
        [panels_len(self.units, 3 * self.units), panels_len(3 * self.units, self.units)]
    }

    /// Place of an example's step among those passed on, in values. Steps behind the end come later and move none that counts.
    fn output_place(&self, pass: &Pass, example: usize, step: usize) -> Option<usize> {
        match self.sequence {
            true => Some(step * self.units),
            false => (step + 1 == self.ends.of(pass.tokens, example, self.steps)).then_some(0),
        }
    }
}

impl Layer for Gru {
    fn kind(&self) -> &'static str {
        "gru"
    }

    fn output(&self) -> Shape {
        let (steps, units) = (self.steps, self.units);
        if self.sequence { Shape::Sequence { steps, features: units } } else { Shape::Vector(units) }
    }

    fn tensors(&self) -> Vec<Tensor> {
        let (inputs, units) = (self.inputs, self.units);
        let initial = Initial::Uniform(1.0 / (units as f32).sqrt());
        vec![
            Tensor::new("weight_ih_l0", vec![3 * units, inputs], initial),
            Tensor::new("bias_ih_l0", vec![3 * units], initial),
            Tensor::new("weight_hh_l0", vec![3 * units, units], initial),
            Tensor::new("bias_hh_l0", vec![3 * units], initial),
        ]
    }

    fn multiply_adds(&self) -> u64 {
        self.dense.multiply_adds()
    }

    fn prepared_len(&self) -> usize {
        self.panels_lens().iter().sum()
    }

    fn prepare(&self, parameters: &[f32], prepared: &mut [f32]) {
        let (units, gates) = (self.units, 3 * self.units);
        let [_, of_hidden] = self.dense.parameters(&Weights { parameters, prepared: &[] });
        let matrix = &of_hidden[..gates * units];
        let [forward, backward] = self.panels_lens();
        let (forward, rest) = prepared.split_at_mut(forward);
        // What no parameter is written to must be zero.
        forward.fill(0.0);
        for (index, panel) in forward.chunks_exact_mut(units * COLUMNS).enumerate() {
            transpose(matrix, units, index * COLUMNS..gates.min((index + 1) * COLUMNS), panel);
        }
        pack(Rows::new(matrix, gates, units), 1.0, &mut rest[..backward]);
    }

    fn tape_len(&self, pass: &Pass) -> usize {
        7 * pass.batch * self.steps * self.units + self.dense.tape_len(pass)
    }

    fn scratch_len(&self, pass: &Pass) -> usize {
        // Hidden states, or their gradients twice, and sums at the gates; or what the dense layers need.
        let step = 5 * pass.batch * self.units;
        step.max(self.dense.scratch_len(pass))
    }

    fn forward(&self, Forward { weights, pass, input, output, memory }: Forward) {
        let (units, gates, batch) = (self.units, 3 * self.units, pass.batch);
        let areas = self.split(batch, memory.tape);
        let [of_input, of_hidden] = self.dense.parameters(&weights);
        let bias = &of_hidden[gates * units..];
        let panels = &weights.prepared[..self.panels_lens()[0]];
        dense_pair::forward(&self.dense.first, of_input, pass, input, areas.from_input);
        // Examples side by side, or a step's rows would lie far apart and fall into a few sets of the cache.
        let (hidden, sums) = memory.scratch.split_at_mut(batch * units);
        let sums = &mut sums[..batch * gates];
        hidden.fill(0.0);
        for step in 0..self.steps {
            let left = Left { values: hidden, rows: batch, stride: units };
            let place = Output { row_stride: gates, panel_stride: COLUMNS, columns: gates };
            products(left, panels, 0, Some(bias), sums, place);
            let states = hidden.chunks_exact_mut(units).zip(sums.chunks_exact(gates));
            for (example, (hidden, sums)) in states.enumerate() {
                let row = example * self.steps + step;
                areas.before[row * units..][..units].copy_from_slice(hidden);
                areas.from_hidden[row * gates..][..gates].copy_from_slice(sums);
                cell::forward(&mut areas.from_input[row * gates..][..gates], sums, hidden);
                if let Some(place) = self.output_place(pass, example, step) {
                    let output = &mut output[example * self.output().len()..];
                    output[place..][..units].copy_from_slice(hidden);
                }
            }
        }
    }

    /// Runs back through time and leaves the gradients of the sums on the tape; they are needed whether or not somebody asks for
    /// `downstream`.
    fn backward(&self, Backward { weights, pass, values, upstream, downstream, memory }: Backward) {
        let (units, gates, batch) = (self.units, 3 * self.units, pass.batch);
        let areas = self.split(batch, memory.tape);
        let [forward, backward] = self.panels_lens();
        let panels = &weights.prepared[forward..][..backward];
        let (hidden_gradient, scratch) = memory.scratch.split_at_mut(batch * units);
        let (through_sums, scratch) = scratch.split_at_mut(batch * units);
        let sums = &mut scratch[..batch * gates];
        hidden_gradient.fill(0.0);
        for step in (0..self.steps).rev() {
            let states = hidden_gradient.chunks_exact_mut(units).zip(sums.chunks_exact_mut(gates));
            for (example, (hidden_gradient, sums)) in states.enumerate() {
                if let Some(place) = self.output_place(pass, example, step) {
                    let upstream = &upstream[example * self.output().len()..];
                    add(hidden_gradient, &upstream[place..][..units]);
                }
                let row = example * self.steps + step;
                let from_input = &mut areas.from_input[row * gates..][..gates];
                let from_hidden = &mut areas.from_hidden[row * gates..][..gates];
                cell::backward(from_input, from_hidden, &areas.before[row * units..], hidden_gradient);
                sums.copy_from_slice(from_hidden);
            }
            if step > 0 {
                let left = Left { values: sums, rows: batch, stride: gates };
                let place = Output { row_stride: units, panel_stride: COLUMNS, columns: units };
                products(left, panels, 0, None, through_sums, place);
                add(hidden_gradient, through_sums);
            }
        }
        let [of_input, _] = self.dense.parameters(&weights);
        let sides = Around { input: values.input, upstream: areas.from_input };
        dense_pair::backward(&self.dense.first, of_input, pass, sides, downstream);
    }

    fn squared_norms(&self, Gradients { pass, input, memory, .. }: Gradients, norms: &mut [f64]) {
        let (sides, tape) = self.split(pass.batch, memory.tape).sides(input);
        self.dense.squared_norms(pass, sides, Memory { tape, ..memory }, norms);
    }

    fn accumulate(
        &self,
        Gradients { pass, input, memory, .. }: Gradients,
        factors: Factors,
        gradient: &mut [f32],
    ) {
        let (sides, tape) = self.split(pass.batch, memory.tape).sides(input);
        self.dense.accumulate(pass, sides, Memory { tape, ..memory }, factors, gradient);
    }

    fn summation(&self) -> Summation {
        self.dense.summation()
    }

    fn relevance(&self) -> Option<RelevanceRule> {
        Some(RelevanceRule::Own)
    }

    fn carry_relevance(&self, call: Carry) {
        self.carry(call);
    }
}
