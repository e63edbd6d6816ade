//! Two dense layers over time that are the trainable part of another layer.

use crate::layer::{
    Around, Backward, Factors, Forward, Gradients, Layer, Memory, Pass, Tensor, Values, Weights,
};
use crate::layers::dense::Dense;

/// Both have a bias. Their tensors stand one after the other: weight and bias of the first, weight and bias of the second.
pub(super) struct DensePair {
    /// The one that reads what flows in.
    pub first: Dense,
    /// The one inside.
    pub second: Dense,
}

impl DensePair {
    /// The parameters of each.
    pub fn parameters<'a>(&self, weights: &Weights<'a>) -> [&'a [f32]; 2] {
        weights.parameters.split_at(len(&self.first)).into()
    }

    /// Multiply-adds of one forward example.
    pub fn multiply_adds(&self) -> u64 {
        self.first.multiply_adds() + self.second.multiply_adds()
    }

    /// Values of scratch memory for norms and sums.
    pub fn scratch_len(&self, pass: &Pass) -> usize {
        self.first.scratch_len(pass).max(self.second.scratch_len(pass))
    }

    /// Squared norms of all four tensors, from what lies on both sides of each layer.
    pub fn squared_norms(
        &self,
        pass: &Pass,
        [first, second]: [Around; 2],
        scratch: &mut [f32],
        norms: &mut [f64],
    ) {
        let (first_norms, second_norms) = norms.split_at_mut(2 * pass.batch);
        self.first.squared_norms(gradients(pass, first, scratch), first_norms);
        self.second.squared_norms(gradients(pass, second, scratch), second_norms);
    }

    /// Adds the gradients of all four tensors.
    pub fn accumulate(
        &self,
        pass: &Pass,
        [first, second]: [Around; 2],
        scratch: &mut [f32],
        factors: Factors,
        gradient: &mut [f32],
    ) {
        let (first_gradient, second_gradient) = gradient.split_at_mut(len(&self.first));
        self.first.accumulate(gradients(pass, first, scratch), factors, first_gradient);
        self.second.accumulate(gradients(pass, second, scratch), factors.from_tensor(2), second_gradient);
    }
}

/// Values of the tensors of a layer.
fn len(layer: &Dense) -> usize {
    layer.tensors().iter().map(Tensor::len).sum()
}

fn gradients<'a>(
    pass: &'a Pass,
    Around { input, upstream }: Around<'a>,
    scratch: &'a mut [f32],
) -> Gradients<'a> {
    Gradients { pass, input, upstream, memory: Memory { tape: &mut [], scratch } }
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
