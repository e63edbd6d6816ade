//! A layer of which nobody knows how it sums: the gradients of single examples are written out, measured and added.

use crate::kernel::elementwise::{add_scaled, squared_norm};
use crate::layer::{
    Backward, Carry, Factors, Forward, Gradients, Layer, LimitedSum, Memory, Pass, Purpose, RelevanceRule,
    Summation, Tensor,
};
use crate::shape::Shape;
use std::ops::Range;

/// The layer, with room for the gradient of every example behind its own tape.
///
/// # Guarantee
/// The norms told are those of the gradients that are added, whatever the layer tells.
pub(crate) struct WrittenOut {
    layer: Box<dyn Layer>,
    /// Where the tensors lie in a gradient.
    tensors: Vec<Range<usize>>,
}

impl WrittenOut {
    pub fn new(layer: Box<dyn Layer>) -> WrittenOut {
        let mut end = 0;
        let place = |tensor: &Tensor| {
            end += tensor.len();
            end - tensor.len()..end
        };
        WrittenOut { tensors: layer.tensors().iter().map(place).collect(), layer }
    }

    fn gradient_len(&self) -> usize {
        self.tensors.last().map_or(0, |range| range.end)
    }
}

impl Layer for WrittenOut {
    fn kind(&self) -> &'static str {
        self.layer.kind()
    }

    fn output(&self) -> Shape {
        self.layer.output()
    }

    fn tensors(&self) -> Vec<Tensor> {
        self.layer.tensors()
    }

    fn multiply_adds(&self) -> u64 {
        self.layer.multiply_adds()
    }

    fn reads_output(&self) -> bool {
        self.layer.reads_output()
    }

    fn prepared_len(&self) -> usize {
        self.layer.prepared_len()
    }

    fn prepare(&self, parameters: &[f32], prepared: &mut [f32]) {
        self.layer.prepare(parameters, prepared);
    }

    fn tape_len(&self, pass: &Pass) -> usize {
        let written = if pass.purpose == Purpose::PerExample { pass.batch * self.gradient_len() } else { 0 };
        self.layer.tape_len(pass) + written
    }

    fn scratch_len(&self, pass: &Pass) -> usize {
        self.layer.scratch_len(pass)
    }

    fn forward(&self, call: Forward) {
        self.layer.forward(call);
    }

    fn backward(&self, call: Backward) {
        self.layer.backward(call);
    }

    fn squared_norms(&self, Gradients { pass, input, upstream, memory }: Gradients, norms: &mut [f64]) {
        let Memory { tape, scratch } = memory;
        let (tape, written) = tape.split_at_mut(self.layer.tape_len(pass));
        // For what it may leave on the tape.
        let memory = Memory { tape: &mut *tape, scratch: &mut *scratch };
        self.layer.squared_norms(Gradients { pass, input, upstream, memory }, norms);
        for (example, written) in written.chunks_exact_mut(self.gradient_len()).enumerate().take(pass.batch) {
            written.fill(0.0);
            let memory = Memory { tape: &mut *tape, scratch: &mut *scratch };
            let own = Factors::ones(pass.batch, example..example + 1);
            self.layer.accumulate(Gradients { pass, input, upstream, memory }, own, written);
            for (tensor, range) in self.tensors.iter().enumerate() {
                norms[tensor * pass.batch + example] = squared_norm(&written[range.clone()]);
            }
        }
    }

    fn accumulate(&self, call: Gradients, factors: Factors, gradient: &mut [f32]) {
        if call.pass.purpose != Purpose::PerExample {
            return self.layer.accumulate(call, factors, gradient);
        }
        let written = &call.memory.tape[self.layer.tape_len(call.pass)..];
        for example in factors.examples() {
            let own = &written[example * self.gradient_len()..][..self.gradient_len()];
            for (tensor, range) in self.tensors.iter().enumerate() {
                add_scaled(&mut gradient[range.clone()], factors.at(tensor, example), &own[range.clone()]);
            }
        }
    }

    fn summation(&self) -> Summation {
        Summation::Vectors
    }

    fn is_bilinear(&self) -> bool {
        self.layer.is_bilinear()
    }

    fn tokens(&self) -> Option<usize> {
        self.layer.tokens()
    }

    fn relevance(&self) -> Option<RelevanceRule> {
        self.layer.relevance()
    }

    fn carry_relevance(&self, call: Carry) {
        let own = self.layer.tape_len(&Pass::new(1, Purpose::Evaluate));
        self.layer.carry_relevance(Carry { tape: &call.tape[..own], ..call });
    }

    fn output_axis(&self, tensor: &Tensor) -> usize {
        self.layer.output_axis(tensor)
    }

    fn limited_sum(&self) -> Option<&dyn LimitedSum> {
        self.layer.limited_sum()
    }
}
