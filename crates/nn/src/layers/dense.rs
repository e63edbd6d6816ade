//! Fully connected layer: `y = W x + b`.

use crate::error::Result;
use crate::kernel::elementwise::{add_scaled, dot_double, scale_into, squared_norm};
use crate::kernel::limited::{add_limited, add_limited_products, largest};
use crate::kernel::matrix::{Matrix, product};
use crate::kernel::panel::{self, COLUMNS, Left};
use crate::layer::RelevanceRule;
use crate::layer::{
    Around, Backward, Factors, Forward, Gradients, Initial, Layer, LimitedSum, Pass, Purpose, Summation,
    Tensor,
};
use crate::layers::Context;
use crate::layers::gram::{Size, add_outer_products, gram, roundings, roundings_of_terms};
use crate::layers::kept::Kept;
use crate::layers::{patch_gram, pixel_bias};
use crate::shape::Shape;

/// Most weights that are laid out in panels once a step. The general product lays them out anew for every micro-batch, which takes a good
/// part of the time of a small one; of large matrices a second copy would cost more than that.
const MOST_IN_PANELS: usize = 1 << 17;

/// A matrix and, if wanted, a bias; `W` is stored row by row, one row for each output, as PyTorch does.
///
/// A sequence is mapped step by step with the same matrix.
pub struct Dense {
    steps: usize,
    inputs: usize,
    outputs: usize,
    bias: bool,
    sequence: bool,
    /// Whether the norms of sequences come from Gram matrices instead of kept gradients.
    gram: bool,
}

impl Dense {
    /// A layer for vectors or sequences of `input`'s features.
    pub fn new(context: &Context, features: usize, bias: bool) -> Result<Dense> {
        let (steps, inputs, sequence) = match context.input {
            Shape::Vector(features) => (1, features, false),
            Shape::Sequence { steps, features } => (steps, features, true),
            Shape::Image { .. } => return context.refuse("it takes a vector; put a `flatten` before it"),
        };
        if features == 0 {
            return context.refuse("it needs at least one output feature");
        }
        let gram = steps > 1 && patch_gram::is_cheaper(steps, inputs, features);
        Ok(Dense { steps, inputs, outputs: features, bias, sequence, gram })
    }

    fn scaled_upstream<'a>(&self, upstream: &[f32], factors: &[f32], scratch: &'a mut [f32]) -> &'a [f32] {
        let width = self.steps * self.outputs;
        let scaled = &mut scratch[..upstream.len()];
        for (index, (target, source)) in
            scaled.chunks_exact_mut(width).zip(upstream.chunks_exact(width)).enumerate()
        {
            scale_into(target, factors[index], source);
        }
        scaled
    }
}

impl Dense {
    /// Whether the gradients of single sequences are kept on the tape.
    fn keeps(&self, pass: &Pass) -> bool {
        pass.purpose == Purpose::PerExample && self.steps > 1 && !self.gram
    }

    fn kept<'a>(&self, tape: &'a [f32]) -> Kept<'a> {
        let (weight_len, bias_len) = (self.inputs * self.outputs, if self.bias { self.outputs } else { 0 });
        Kept { tape, block: weight_len + bias_len, first: 0, weight_len, bias_len }
    }

    /// Squared norm of the weight gradient of one sequence, which is left in `gradient`.
    fn written_norm(&self, input: &[f32], upstream: &[f32], gradient: &mut [f32]) -> f64 {
        gradient.fill(0.0);
        let (upstream, input) =
            (Matrix::rows(upstream, self.steps, self.outputs), Matrix::rows(input, self.steps, self.inputs));
        add_outer_products(upstream, input, gradient, self.inputs);
        squared_norm(gradient)
    }

    /// Squared norm of the weight gradient of one sequence, without the gradient.
    fn sequence_norm(&self, input: &[f32], upstream: &[f32], scratch: &mut [f32]) -> f64 {
        let (input_gram, upstream_gram) = scratch.split_at_mut(self.steps * self.steps);
        let upstream_gram = &mut upstream_gram[..self.steps * self.steps];
        gram(Matrix::rows(input, self.steps, self.inputs), input_gram, self.steps);
        gram(Matrix::rows(upstream, self.steps, self.outputs), upstream_gram, self.steps);
        let mut size = Size::default();
        for step in (0..self.steps * self.steps).step_by(self.steps + 1) {
            size.add(input_gram[step], upstream_gram[step]);
        }
        let entries = roundings(self.inputs) + roundings(self.outputs);
        let sum = dot_double(input_gram, upstream_gram);
        size.guard(sum, entries, roundings(self.steps), roundings_of_terms(self.steps))
    }

    /// Sums the gradients of examples that are not kept; without `adds` the matrix of single steps is overwritten.
    fn sum(&self, call: Gradients, factors: Factors, adds: bool, gradient: &mut [f32]) {
        let Gradients { input, upstream, memory, .. } = call;
        let examples = factors.examples();
        let rows = examples.len() * self.steps;
        let input = &input[examples.start * self.steps * self.inputs..][..rows * self.inputs];
        let whole = upstream;
        let upstream = &upstream[examples.start * self.steps * self.outputs..][..rows * self.outputs];
        let (matrix, bias) = gradient.split_at_mut(self.inputs * self.outputs);
        let scaled = match factors.of(0) {
            Some(factors) => self.scaled_upstream(upstream, &factors[examples.clone()], memory.scratch),
            None => upstream,
        };
        let (scaled, input) =
            (Matrix::rows(scaled, rows, self.outputs), Matrix::rows(input, rows, self.inputs));
        if self.steps > 1 {
            add_outer_products(scaled, input, matrix, self.inputs);
        } else {
            product(scaled.transposed(), input, adds, matrix, self.inputs);
        }
        if self.bias && self.steps > 1 {
            pixel_bias::accumulate(whole, self.steps * self.outputs, factors, bias, memory.scratch);
        } else if self.bias {
            for (example, upstream) in examples.zip(upstream.chunks_exact(self.outputs)) {
                add_scaled(bias, factors.at(1, example), upstream);
            }
        }
    }
}

impl Layer for Dense {
    fn kind(&self) -> &'static str {
        "dense"
    }

    fn output(&self) -> Shape {
        if self.sequence {
            Shape::Sequence { steps: self.steps, features: self.outputs }
        } else {
            Shape::Vector(self.outputs)
        }
    }

    fn tensors(&self) -> Vec<Tensor> {
        let initial = Initial::FanIn(self.inputs);
        let mut tensors = vec![Tensor::new("weight", vec![self.outputs, self.inputs], initial)];
        if self.bias {
            tensors.push(Tensor::new("bias", vec![self.outputs], initial));
        }
        tensors
    }

    fn multiply_adds(&self) -> u64 {
        (self.steps * self.inputs * self.outputs) as u64
    }

    fn prepared_len(&self) -> usize {
        let len = self.inputs * self.outputs.next_multiple_of(COLUMNS);
        if self.steps == 1 && len <= MOST_IN_PANELS { len } else { 0 }
    }

    fn prepare(&self, parameters: &[f32], prepared: &mut [f32]) {
        for (index, panel) in prepared.chunks_exact_mut(self.inputs * COLUMNS).enumerate() {
            let first = index * COLUMNS;
            let rows = first..self.outputs.min(first + COLUMNS);
            panel::transpose(&parameters[..self.inputs * self.outputs], self.inputs, rows, panel);
        }
    }

    fn tape_len(&self, pass: &Pass) -> usize {
        if self.keeps(pass) { pass.batch * self.kept(&[]).block } else { 0 }
    }

    fn sums_in_blocks(&self) -> bool {
        self.steps > 1 && !self.gram
    }

    fn scratch_len(&self, pass: &Pass) -> usize {
        // Scaled upstream rows, or the two Gram matrices of a sequence.
        let grams = if self.gram { 2 * self.steps * self.steps } else { 0 };
        (pass.batch * self.steps * self.outputs).max(grams)
    }

    fn forward(&self, Forward { weights, pass, input, output, .. }: Forward) {
        let rows = pass.batch * self.steps;
        let (matrix, bias) = weights.parameters.split_at(self.inputs * self.outputs);
        if !weights.prepared.is_empty() {
            let left = Left { values: input, rows, stride: self.inputs };
            let place =
                panel::Output { row_stride: self.outputs, panel_stride: COLUMNS, columns: self.outputs };
            return panel::products(left, weights.prepared, 0, self.bias.then_some(bias), output, place);
        }
        if self.bias {
            output.chunks_exact_mut(self.outputs).for_each(|row| row.copy_from_slice(bias));
        }
        product(
            Matrix::rows(input, rows, self.inputs),
            Matrix::rows(matrix, self.outputs, self.inputs).transposed(),
            self.bias,
            output,
            self.outputs,
        );
    }

    fn backward(&self, Backward { weights, pass, upstream, downstream, .. }: Backward) {
        if let Some(downstream) = downstream {
            let matrix = &weights.parameters[..self.inputs * self.outputs];
            product(
                Matrix::rows(upstream, pass.batch * self.steps, self.outputs),
                Matrix::rows(matrix, self.outputs, self.inputs),
                false,
                downstream,
                self.inputs,
            );
        }
    }

    /// The gradient of one vector is an outer product, so its norm is the product of two norms; for a sequence it is
    /// the inner product of the Gram matrices of inputs and upstream gradients, or taken from the gradient where that costs less.
    ///
    /// # Source
    /// Goodfellow 2015, "Efficient per-example gradient computations"; Li et al. 2022, section 4 (ghost clipping).
    fn squared_norms(&self, Gradients { pass, input, upstream, memory }: Gradients, norms: &mut [f64]) {
        let (weight_norms, bias_norms) = norms.split_at_mut(pass.batch);
        let inputs = input.chunks_exact(self.steps * self.inputs);
        let upstreams = upstream.chunks_exact(self.steps * self.outputs);
        for (example, (input, upstream)) in inputs.zip(upstreams).enumerate() {
            if self.steps == 1 {
                let upstream_norm = squared_norm(upstream);
                weight_norms[example] = squared_norm(input) * upstream_norm;
                if self.bias {
                    bias_norms[example] = upstream_norm;
                }
                continue;
            }
            let bias_gradient = if self.gram {
                weight_norms[example] = self.sequence_norm(input, upstream, memory.scratch);
                &mut memory.scratch[..self.outputs]
            } else {
                let len = self.kept(&[]).block;
                let (weight, bias) =
                    memory.tape[example * len..][..len].split_at_mut(self.inputs * self.outputs);
                weight_norms[example] = self.written_norm(input, upstream, weight);
                bias
            };
            if self.bias {
                bias_norms[example] = pixel_bias::example_gradient(upstream, bias_gradient);
            }
        }
    }

    fn accumulate(
        &self,
        Gradients { pass, input, upstream, memory }: Gradients,
        factors: Factors,
        gradient: &mut [f32],
    ) {
        if self.keeps(pass) {
            return self.kept(memory.tape).accumulate(factors, gradient);
        }
        self.sum(Gradients { pass, input, upstream, memory }, factors, true, gradient);
    }

    fn begin(&self, call: Gradients, factors: Factors, gradient: &mut [f32]) {
        if self.steps > 1 {
            gradient.fill(0.0);
            return Layer::accumulate(self, call, factors, gradient);
        }
        gradient[self.inputs * self.outputs..].fill(0.0);
        self.sum(call, factors, false, gradient);
    }

    fn limited_sum(&self) -> Option<&dyn LimitedSum> {
        (self.steps == 1).then_some(self)
    }

    fn summation(&self) -> Summation {
        if self.gram { Summation::Terms } else { Summation::Vectors }
    }

    fn is_bilinear(&self) -> bool {
        true
    }

    fn relevance(&self) -> Option<RelevanceRule> {
        Some(RelevanceRule::Proportional)
    }
}

/// The gradient of one vector is an outer product: each of its values is made where it is added.
impl LimitedSum for Dense {
    fn is_finite(&self, Around { input, upstream }: Around) -> bool {
        (largest(input) * largest(upstream)).is_finite()
    }

    fn accumulate(&self, Around { input, upstream }: Around, limits: &[f32], gradient: &mut [f32]) {
        let (matrix, bias) = gradient.split_at_mut(self.inputs * self.outputs);
        let (matrix_limits, bias_limits) = limits.split_at(self.inputs * self.outputs);
        add_limited_products(upstream, input, self.outputs, matrix_limits, matrix);
        if self.bias {
            upstream.chunks_exact(self.outputs).for_each(|upstream| add_limited(bias, upstream, bias_limits));
        }
    }
}
