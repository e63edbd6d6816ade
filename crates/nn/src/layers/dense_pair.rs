//! Two dense layers over time that are the trainable part of another layer.

use crate::ends::Ends;
use crate::error::Result;
use crate::layer::{
    Around, Backward, Factors, Forward, Gradients, Layer, Memory, Pass, Summation, Tensor, Values, Weights,
};
use crate::layers::Context;
use crate::layers::dense::Dense;
use crate::shape::Shape;

/// Both have a bias. What they keep from norms to sums lies on the tape of the layer around them, [so much](Self::tape_len) of it.
/// Their tensors stand one after the other: weight and bias of the first, weight and bias of the second.
pub(super) struct DensePair {
    /// The one that reads what flows in.
    pub first: Dense,
    /// The one inside.
    pub second: Dense,
}

impl DensePair {
    /// Layers over `steps` steps, with so many inputs and outputs.
    pub fn new(context: &Context, steps: usize, sizes: [(usize, usize); 2]) -> Result<DensePair> {
        let layer = |(features, outputs): (usize, usize)| {
            let input = Shape::Sequence { steps, features };
            let context =
                Context { name: context.name.clone(), kind: context.kind, input, ends: Ends::default() };
            Dense::new(&context, outputs, true)
        };
        let [first, second] = sizes;
        Ok(DensePair { first: layer(first)?, second: layer(second)? })
    }

    /// The parameters of each.
    pub fn parameters<'a>(&self, weights: &Weights<'a>) -> [&'a [f32]; 2] {
        weights.parameters.split_at(len(&self.first)).into()
    }

    /// Multiply-adds of one forward example.
    pub fn multiply_adds(&self) -> u64 {
        self.first.multiply_adds() + self.second.multiply_adds()
    }

    /// Term by term where one of them sums so.
    pub fn summation(&self) -> Summation {
        match self.first.summation() {
            Summation::Terms => Summation::Terms,
            _ => self.second.summation(),
        }
    }

    /// Values of scratch memory for norms and sums.
    pub fn scratch_len(&self, pass: &Pass) -> usize {
        self.first.scratch_len(pass).max(self.second.scratch_len(pass))
    }

    /// Values on the tape from norms to sums.
    pub fn tape_len(&self, pass: &Pass) -> usize {
        self.first.tape_len(pass) + self.second.tape_len(pass)
    }

    /// Squared norms of all four tensors, from what lies on both sides of each layer.
    pub fn squared_norms(
        &self,
        pass: &Pass,
        [first, second]: [Around; 2],
        memory: Memory,
        norms: &mut [f64],
    ) {
        let (first_norms, second_norms) = norms.split_at_mut(2 * pass.batch);
        let (first_tape, second_tape) = memory.tape.split_at_mut(self.first.tape_len(pass));
        self.first.squared_norms(gradients(pass, first, first_tape, memory.scratch), first_norms);
        self.second.squared_norms(gradients(pass, second, second_tape, memory.scratch), second_norms);
    }

    /// Adds the gradients of all four tensors.
    pub fn accumulate(
        &self,
        pass: &Pass,
        [first, second]: [Around; 2],
        memory: Memory,
        factors: Factors,
        gradient: &mut [f32],
    ) {
        let (first_gradient, second_gradient) = gradient.split_at_mut(len(&self.first));
        let (first_tape, second_tape) = memory.tape.split_at_mut(self.first.tape_len(pass));
        let call = gradients(pass, first, first_tape, memory.scratch);
        self.first.accumulate(call, factors, first_gradient);
        let call = gradients(pass, second, second_tape, memory.scratch);
        self.second.accumulate(call, factors.from_tensor(2), second_gradient);
    }
}

/// Values of the tensors of a layer.
fn len(layer: &Dense) -> usize {
    layer.tensors().iter().map(Tensor::len).sum()
}

fn gradients<'a>(
    pass: &'a Pass,
    Around { input, upstream }: Around<'a>,
    tape: &'a mut [f32],
    scratch: &'a mut [f32],
) -> Gradients<'a> {
    Gradients { pass, input, upstream, memory: Memory { tape, scratch } }
}

/// Computes the outputs of one of the layers.
pub(super) fn forward(layer: &Dense, parameters: &[f32], pass: &Pass, input: &[f32], output: &mut [f32]) {
    let memory = Memory { tape: &mut [], scratch: &mut [] };
    let weights = Weights { parameters, prepared: &[] };
    layer.forward(Forward { weights, pass, input, output, memory });
}

/// Carries the gradient through one of the layers.
pub(super) fn backward(
    layer: &Dense,
    parameters: &[f32],
    pass: &Pass,
    Around { input, upstream }: Around,
    downstream: Option<&mut [f32]>,
) {
    let memory = Memory { tape: &mut [], scratch: &mut [] };
    let weights = Weights { parameters, prepared: &[] };
    let values = Values { input, output: &[] };
    layer.backward(Backward { weights, pass, values, upstream, downstream, memory });
}
