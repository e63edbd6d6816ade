//! What a layer is: a map from a batch of examples to a batch of examples, and the gradients of every single one.

use crate::ends::Ends;
use crate::shape::Shape;
use std::ops::Range;

/// What a pass over a micro-batch is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Outputs only; layers that behave differently in training behave as in use.
    Evaluate,
    /// One gradient for the whole batch.
    Plain,
    /// Squared gradient norms of every example, then a weighted sum.
    PerExample,
}

/// One micro-batch on its way through the network.
#[derive(Clone, Copy, Debug)]
pub struct Pass<'a> {
    /// Examples in this micro-batch.
    pub batch: usize,
    /// What the pass is for.
    pub purpose: Purpose,
    /// Seed of the randomness inside layers (dropout), new at every step.
    pub seed: u64,
    /// Position of the first example in the logical batch.
    pub first_example: usize,
    /// A number for each example that belongs to its record and view wherever they stand: what is random follows it, not the
    /// position, the micro-batch or the thread.
    pub keys: &'a [u64],
    /// How many tokens each example has, where the network reads texts that are filled up; empty otherwise.
    pub tokens: &'a [u32],
}

impl Pass<'_> {
    /// A pass of this size over examples that nobody knows, to lay out memory for.
    pub fn new(batch: usize, purpose: Purpose) -> Pass<'static> {
        Pass { batch, purpose, seed: 0, first_example: 0, keys: &[], tokens: &[] }
    }
}

/// The numbers a layer computes with.
#[derive(Clone, Copy)]
pub struct Weights<'a> {
    /// The layer's tensors, one after the other, in the layer's own layout.
    pub parameters: &'a [f32],
    /// What [`Layer::prepare`] made of them, once per step; starts on a cache line.
    pub prepared: &'a [f32],
}

/// Memory a layer may write to.
pub struct Memory<'a> {
    /// Kept from `forward` to `accumulate` of the same micro-batch.
    pub tape: &'a mut [f32],
    /// Free for use inside one call; starts on a cache line.
    pub scratch: &'a mut [f32],
}

/// The inputs and outputs of a layer's forward call.
#[derive(Clone, Copy)]
pub struct Values<'a> {
    /// What came in.
    pub input: &'a [f32],
    /// What went out.
    pub output: &'a [f32],
}

/// What [`Layer::forward`] works on.
pub struct Forward<'a> {
    /// The numbers to compute with.
    pub weights: Weights<'a>,
    /// The micro-batch.
    pub pass: &'a Pass<'a>,
    /// What comes in.
    pub input: &'a [f32],
    /// Where the outputs go.
    pub output: &'a mut [f32],
    /// Memory to write to.
    pub memory: Memory<'a>,
}

/// What [`Layer::backward`] works on.
pub struct Backward<'a> {
    /// The numbers that `forward` computed with.
    pub weights: Weights<'a>,
    /// The micro-batch.
    pub pass: &'a Pass<'a>,
    /// What `forward` read and wrote.
    pub values: Values<'a>,
    /// Gradient of the loss at the outputs.
    pub upstream: &'a [f32],
    /// Where the gradient at the inputs goes; `None` if nobody needs it.
    pub downstream: Option<&'a mut [f32]>,
    /// Memory to write to.
    pub memory: Memory<'a>,
}

/// What the gradients of a layer's tensors are made of, for [`Layer::squared_norms`] and [`Layer::accumulate`].
pub struct Gradients<'a> {
    /// The micro-batch.
    pub pass: &'a Pass<'a>,
    /// What came in.
    pub input: &'a [f32],
    /// Gradient of the loss at the outputs.
    pub upstream: &'a [f32],
    /// Memory to write to.
    pub memory: Memory<'a>,
}

/// One factor for every example of a micro-batch and every tensor of a layer.
#[derive(Clone, Copy)]
pub struct Factors<'a> {
    values: Option<&'a [f32]>,
    batch: usize,
    first: usize,
    last: usize,
}

impl<'a> Factors<'a> {
    /// Every example counts once.
    pub fn ones(batch: usize, examples: Range<usize>) -> Self {
        Factors { values: None, batch, first: examples.start, last: examples.end }
    }

    /// `values[tensor * batch + example]`, for all examples.
    pub fn weighted(values: &'a [f32], batch: usize) -> Self {
        Factors { values: Some(values), batch, first: 0, last: batch }
    }

    /// The same for a block of the examples, which count from its first on.
    pub fn block(values: &'a [f32], batch: usize, examples: Range<usize>) -> Self {
        Factors { values: Some(&values[examples.start..]), batch, first: 0, last: examples.len() }
    }

    /// The same for some of the examples that take part.
    pub fn only(&self, examples: Range<usize>) -> Factors<'a> {
        Factors { first: examples.start, last: examples.end, ..*self }
    }

    /// The examples that take part.
    pub fn examples(&self) -> Range<usize> {
        self.first..self.last
    }

    /// The factors of one tensor, by example; `None` if all are one.
    pub fn of(&self, tensor: usize) -> Option<&'a [f32]> {
        self.values.map(|values| &values[tensor * self.batch..][..self.last])
    }

    /// The factors of the tensors from one on, which count from there: for a layer inside a layer.
    pub fn from_tensor(&self, first: usize) -> Factors<'a> {
        Factors { values: self.values.map(|values| &values[first * self.batch..]), ..*self }
    }

    /// The factor of one tensor and example.
    pub fn at(&self, tensor: usize, example: usize) -> f32 {
        self.of(tensor).map_or(1.0, |factors| factors[example])
    }
}

/// How a tensor starts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Initial {
    /// Uniform in ±1/√fan-in: PyTorch's default for dense and convolutional layers, weights and biases alike.
    FanIn(usize),
    /// Uniform in ±bound.
    Uniform(f32),
    /// Standard normal.
    Normal,
    /// A constant.
    Constant(f32),
}

/// Whether training moves a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Moved by an optimizer.
    Trainable,
    /// A running statistic, moved by the layer itself.
    Statistic,
    /// Set by whoever knows its values, before training; no gradient reaches it.
    Fixed,
}

/// One tensor of a layer.
#[derive(Clone, Debug)]
pub struct Tensor {
    /// Name inside the layer, as PyTorch has it: `weight`, `bias`.
    pub name: &'static str,
    /// Sizes as PyTorch has them.
    pub sizes: Vec<usize>,
    /// PyTorch's axes in the order muffle stores them; `None` if both agree.
    pub stored_axes: Option<&'static [usize]>,
    /// How it starts.
    pub initial: Initial,
    /// Whether training moves it.
    pub role: Role,
}

impl Tensor {
    /// A trainable tensor stored as PyTorch stores it.
    pub fn new(name: &'static str, sizes: Vec<usize>, initial: Initial) -> Tensor {
        Tensor { name, sizes, stored_axes: None, initial, role: Role::Trainable }
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        self.sizes.iter().product()
    }

    /// Whether the tensor holds nothing.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// How relevance goes back through a layer: one of four ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RelevanceRule {
    /// To each input in proportion to what it adds to the output, its value times the derivative: for layers that are linear in their input
    /// but for a bias, or at least grow as it does.
    Proportional,
    /// To where the value came from: for layers that choose or move values.
    Moved,
    /// Unchanged: for layers that map every value on its own.
    Through,
    /// As the layer says in [`carry_relevance`](Layer::carry_relevance): for layers in which values scale or gate each other.
    Own,
}

/// What [`Layer::carry_relevance`] works on: one example, after its forward pass in use.
pub struct Carry<'a> {
    /// The numbers that `forward` computed with.
    pub weights: Weights<'a>,
    /// The example, as a micro-batch of one.
    pub pass: &'a Pass<'a>,
    /// What `forward` read and wrote.
    pub values: Values<'a>,
    /// Relevance of the outputs.
    pub upstream: &'a [f32],
    /// Where the relevance of the inputs goes.
    pub downstream: &'a mut [f32],
    /// Added to the size of every sum before it divides, as [`ratio`](crate::relevance::ratio) does.
    pub stabiliser: f32,
    /// What `forward` left on the tape; shorter in use than in training for some layers.
    pub tape: &'a [f32],
}

/// How the gradients of examples come into a sum, each times its factor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Summation {
    /// Nobody has said.
    Unknown,
    /// As vectors of their own, of which the norms are told, or as products of two vectors: every value passes through three
    /// multiplications and one addition for each example.
    Vectors,
    /// Term by term, together with those of other examples, in [small groups](crate::rounding::SMALL_GROUP). Then it matters what the
    /// terms weigh, and [`squared_norms`](Layer::squared_norms) tells what [`rounding::told`](crate::rounding::told) makes of it.
    Terms,
}

/// A layer with its shapes settled.
///
/// Slices hold whole micro-batches, example after example. A pass calls `forward`, then `backward`, then (for
/// [`Purpose::PerExample`]) `squared_norms`, then `accumulate`; layers without tensors implement the first two only.
pub trait Layer: Send + Sync {
    /// Kind, as written in model files.
    fn kind(&self) -> &'static str;

    /// Shape of an output example.
    fn output(&self) -> Shape;

    /// The layer's tensors, in the order of their storage.
    fn tensors(&self) -> Vec<Tensor> {
        Vec::new()
    }

    /// Multiply-adds of one forward example, for reports of achieved speed.
    fn multiply_adds(&self) -> u64 {
        0
    }

    /// Whether an example's output depends on the other examples of its batch.
    fn mixes_examples(&self) -> bool {
        false
    }

    /// Whether `backward` looks at the layer's output, so that nothing may overwrite it.
    fn reads_output(&self) -> bool {
        false
    }

    /// Values that `prepare` writes.
    fn prepared_len(&self) -> usize {
        0
    }

    /// Rearranges the parameters once per step for all threads.
    fn prepare(&self, _parameters: &[f32], _prepared: &mut [f32]) {}

    /// Values to keep between `forward` and `accumulate` of one micro-batch. They start as zero and keep what the
    /// micro-batch before left there.
    fn tape_len(&self, _pass: &Pass) -> usize {
        0
    }

    /// Whether [`Purpose::PerExample`] takes norms and sum for a block of examples at a time, before the next block's: so
    /// that large gradients are still in cache when their factors are known. The tape then has room for one block, and
    /// holds nothing but what `squared_norms` leaves for `accumulate`.
    fn sums_in_blocks(&self) -> bool {
        false
    }

    /// Values of scratch memory for any one call.
    fn scratch_len(&self, _pass: &Pass) -> usize {
        0
    }

    /// Computes the outputs.
    fn forward(&self, call: Forward);

    /// Carries the gradient of the loss from the outputs to the inputs.
    fn backward(&self, call: Backward);

    /// Squared gradient norm of every tensor and example: `norms[tensor * batch + example]`.
    fn squared_norms(&self, _call: Gradients, _norms: &mut [f64]) {}

    /// Adds the sum of the examples' gradients, each times its factor, to `gradient`.
    fn accumulate(&self, _call: Gradients, _factors: Factors, _gradient: &mut [f32]) {}

    /// The same for a `gradient` that holds no sum yet, but anything: a layer whose gradient is large saves a way through memory
    /// if it overwrites what is there.
    fn begin(&self, call: Gradients, factors: Factors, gradient: &mut [f32]) {
        gradient.fill(0.0);
        self.accumulate(call, factors, gradient);
    }

    /// How [`accumulate`](Layer::accumulate) sums, on which it depends how far rounding moves the sum. A layer of one's own that says
    /// nothing has its gradients written out.
    fn summation(&self) -> Summation {
        Summation::Unknown
    }

    /// Whether the gradient of its weights is the product of what comes in and of the gradient that comes back, summed over
    /// positions: bounds on both then bound it.
    fn is_bilinear(&self) -> bool {
        false
    }

    /// How many tokens there are, if the inputs are numbers of tokens.
    fn tokens(&self) -> Option<usize> {
        None
    }

    /// Where short texts end in its outputs, given where they end in its inputs: at the same steps, unless it says otherwise. One that
    /// looks at several steps finds their ends in its [context](crate::layers::Context::ends), and must not be moved by steps behind.
    fn ends(&self, before: &Ends) -> Ends {
        before.clone()
    }

    /// How relevance goes back through the layer; `None` if there is no rule for it.
    fn relevance(&self) -> Option<RelevanceRule> {
        None
    }

    /// Carries the relevance of one example from the outputs to the inputs; called if the rule is [`RelevanceRule::Own`].
    ///
    /// # Panics
    /// If the layer has that rule and does not say what it is.
    fn carry_relevance(&self, _call: Carry) {
        panic!("layer kind `{}` has a rule of relevance of its own and does not say which", self.kind())
    }

    /// The axis of a tensor's [sizes](Tensor::sizes) that counts the layer's output channels, which own its values.
    fn output_axis(&self, _tensor: &Tensor) -> usize {
        0
    }

    /// A way to sums of limited gradients that does not write gradients out, if the layer has one.
    fn limited_sum(&self) -> Option<&dyn LimitedSum> {
        None
    }
}

/// What lies on both sides of a layer, for some examples.
#[derive(Clone, Copy)]
pub struct Around<'a> {
    /// What came in.
    pub input: &'a [f32],
    /// Gradient of the loss at the outputs.
    pub upstream: &'a [f32],
}

/// Sums of gradients of which every value has a limit of its own.
pub trait LimitedSum {
    /// Whether all values of an example's gradient are finite.
    fn is_finite(&self, example: Around) -> bool;

    /// Adds the gradients of some examples to `gradient`, value `i` of each moved into ±`limits[i]`.
    fn accumulate(&self, examples: Around, limits: &[f32], gradient: &mut [f32]);
}
