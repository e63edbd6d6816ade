//! One layer on its own, driven as the engine drives it.

use muffle_nn::Purpose;
use muffle_nn::buffer::buffer;
use muffle_nn::layer::{Backward, Factors, Forward, Gradients, Layer, Memory, Pass, Tensor, Values, Weights};

/// What a layer made of a batch.
pub struct Run {
    pub output: Vec<f32>,
    pub downstream: Vec<f32>,
    /// Sum of the gradients of all examples, each times its factors, in the layer's own layout.
    pub gradient: Vec<f32>,
    /// Squared norms: `norms[tensor * batch + example]`.
    pub norms: Vec<f64>,
}

/// Runs a layer forward and back.
///
/// Memory is made as unfriendly as the contract allows: scratch is full of NaN, the tape has room for more examples than
/// come, and a larger batch of other values has gone through it before.
pub fn run(layer: &dyn Layer, purpose: Purpose, parameters: &[f32], input: &[f32], upstream: &[f32]) -> Run {
    run_weighted(layer, purpose, parameters, input, upstream, &|_| 1.0)
}

/// The same with a factor for every tensor and example, by its squared norm.
pub fn run_weighted(
    layer: &dyn Layer,
    purpose: Purpose,
    parameters: &[f32],
    input: &[f32],
    upstream: &[f32],
    factor: &dyn Fn(f64) -> f32,
) -> Run {
    let output_width = layer.output().len();
    let batch = upstream.len() / output_width;
    let capacity = batch + 1;
    let keys: Vec<u64> = (0..capacity as u64).collect();
    let pass = |batch: usize| Pass { seed: 5, keys: &keys[..batch], ..Pass::new(batch, purpose) };
    let mut prepared = buffer(layer.prepared_len());
    prepared.fill(f32::NAN);
    layer.prepare(parameters, &mut prepared);
    let weights = Weights { parameters, prepared: &prepared };
    let mut tape = buffer(layer.tape_len(&pass(capacity)));
    let mut scratch = buffer(layer.scratch_len(&pass(capacity)));
    let longer = |values: &[f32]| -> Vec<f32> {
        let width = values.len() / batch;
        values[values.len() - width..].iter().chain(values).copied().collect()
    };
    let mut step = |batch: usize, input: &[f32], upstream: &[f32], wanted: bool, tape: &mut [f32]| {
        scratch.fill(f32::NAN);
        let memory = Memory { tape, scratch: &mut scratch };
        let pass = &pass(batch);
        once(layer, weights, Gradients { pass, input, upstream, memory }, wanted, factor)
    };
    step(capacity, &longer(input), &longer(upstream), true, &mut tape);
    let found = step(batch, input, upstream, true, &mut tape);
    // A first layer, whose input gradient nobody wants, has the same gradient.
    tape.fill(0.0);
    let first = step(batch, input, upstream, false, &mut tape);
    assert_eq!(first.gradient, found.gradient, "without an input gradient");
    found
}

fn once(
    layer: &dyn Layer,
    weights: Weights,
    call: Gradients,
    wanted: bool,
    factor: &dyn Fn(f64) -> f32,
) -> Run {
    let Gradients { pass, input, upstream, memory: Memory { tape, scratch } } = call;
    let tensors = layer.tensors().len();
    let mut run = Run {
        output: vec![f32::NAN; upstream.len()],
        downstream: vec![f32::NAN; input.len()],
        gradient: vec![0.0; weights.parameters.len()],
        norms: vec![f64::NAN; tensors * pass.batch],
    };
    let memory = Memory { tape, scratch };
    layer.forward(Forward { weights, pass, input, output: &mut run.output, memory });
    if pass.purpose == Purpose::Evaluate {
        return run;
    }
    let values = Values { input, output: &run.output };
    let downstream = wanted.then_some(&mut run.downstream[..]);
    let memory = Memory { tape, scratch };
    layer.backward(Backward { weights, pass, values, upstream, downstream, memory });
    if tensors == 0 {
        return run;
    }
    let mut own = Vec::new();
    let factors = if pass.purpose == Purpose::PerExample {
        let memory = Memory { tape, scratch };
        layer.squared_norms(Gradients { pass, input, upstream, memory }, &mut run.norms);
        own.extend(run.norms.iter().map(|norm| factor(*norm)));
        Factors::weighted(&own, pass.batch)
    } else {
        Factors::ones(pass.batch, 0..pass.batch)
    };
    let memory = Memory { tape, scratch };
    layer.accumulate(Gradients { pass, input, upstream, memory }, factors, &mut run.gradient);
    run
}

/// A tensor's values from PyTorch's order to the layer's own.
pub fn to_stored<T: Copy>(tensor: &Tensor, values: &[T]) -> Vec<T> {
    let Some(axes) = tensor.stored_axes else {
        return values.to_vec();
    };
    let sizes = &tensor.sizes;
    let stride = |axis: usize| sizes[axis + 1..].iter().product::<usize>();
    // Place in PyTorch's order of every value in the layer's, one axis after the other.
    let places = axes.iter().fold(vec![0], |places: Vec<usize>, &axis| {
        let along = |place: usize| (0..sizes[axis]).map(move |index| place + index * stride(axis));
        places.into_iter().flat_map(along).collect()
    });
    places.into_iter().map(|place| values[place]).collect()
}
