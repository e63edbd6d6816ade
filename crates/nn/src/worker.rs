//! One thread's share of a step: its micro-batches, their losses, and what becomes of their gradients.

mod limited;
mod records;

use crate::buffer::{Buffer, buffer};
use crate::ends;
use crate::groups::Share;
use crate::layer::{Factors, Pass, Purpose};
use crate::micro_batches::{Piece, micro_batches, pieces, records_of};
use crate::network::{Network, Node};
use crate::plan::Plan;
use crate::rounding::LEAST_FACTOR;
use crate::split_mix::SplitMix;
use crate::workspace::{Step, Workspace, clear_unused};
use std::ops::Range;

/// Decides the factors of one record's tensors from their squared gradient norms.
pub type Weigh<'a> = dyn Fn(&[f64], &mut [f32]) + Sync + 'a;

/// Takes the gradient of one record, by its position in the logical batch, and adds what it makes of it to a sum.
pub type Visit<'a> = dyn Fn(usize, &mut [f32], &mut [f32]) + Sync + 'a;

/// Whether a gradient of this squared norm is one of numbers to go on with. Norms are told in double precision, and what is
/// beyond single precision there has no place in a sum.
fn is_usable(squared_norm: f64) -> bool {
    squared_norm <= f64::from(f32::MAX)
}

/// The number of an example: of its record and its view, wherever they stand.
fn key(step: &Step, example: usize) -> u64 {
    let (record, view) = (example / step.views, example % step.views);
    SplitMix::new(step.examples.identity(record)).bits().wrapping_add(view as u64)
}

/// What a step does with the gradients.
#[derive(Clone, Copy)]
pub(crate) enum Task<'a> {
    /// Nothing: outputs only.
    Evaluate,
    /// Adds them up.
    Plain,
    /// Adds them up, each tensor of each example with its own factor.
    Weighted(&'a Weigh<'a>),
    /// Adds them up, every value of each record moved into ± its limit.
    Limited(&'a [f32]),
    /// Hands them out one by one.
    Visit(&'a Visit<'a>),
    /// Leaves those of the parameters aside: gradients at the inputs only.
    InputGradients,
}

impl Task<'_> {
    /// What the layers are asked for: of several views nobody wants single norms.
    pub fn purpose(&self, views: usize) -> Purpose {
        match self {
            Task::Evaluate => Purpose::Evaluate,
            Task::Weighted(_) if views == 1 => Purpose::PerExample,
            Task::Plain | Task::Limited(_) | Task::Visit(_) | Task::Weighted(_) | Task::InputGradients => {
                Purpose::Plain
            }
        }
    }
}

/// A record left out because something about it, or about one of its views, is not finite.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excluded {
    /// Position in the logical batch, counted in records: that of the example where each is a record of its own.
    pub example: usize,
    /// The input, the layer, the loss or the gradient where it first shows.
    pub place: String,
}

/// A thread's memory. Its size depends on the network and the micro-batch, never on the logical batch, unless a layer
/// mixes examples and has to see them all.
pub(crate) struct Worker {
    purpose: Purpose,
    capacity: usize,
    space: Workspace,
    norms: Vec<f64>,
    factors: Vec<f32>,
    record_norms: Vec<f64>,
    record_factors: Vec<f32>,
    excluded_here: Vec<bool>,
    losses: Vec<f32>,
    keys: Vec<u64>,
    tokens: Vec<u32>,
    record_gradient: Buffer,
    pub gradient: Buffer,
    pub loss: f64,
    pub excluded: Vec<Excluded>,
}

impl Worker {
    pub fn new(network: &Network, plan: &Plan, purpose: Purpose, capacity: usize) -> Worker {
        let trains = purpose != Purpose::Evaluate;
        let tensors = network.parameters().len();
        Worker {
            purpose,
            capacity,
            space: Workspace::new(network, plan, purpose, capacity),
            norms: vec![0.0; tensors * capacity],
            factors: vec![0.0; tensors * capacity],
            record_norms: vec![0.0; tensors],
            record_factors: vec![0.0; tensors],
            excluded_here: vec![false; capacity],
            losses: vec![0.0; capacity],
            keys: Vec::with_capacity(capacity),
            tokens: Vec::with_capacity(capacity),
            record_gradient: buffer(0),
            gradient: buffer(if trains { network.parameter_len() } else { 0 }),
            loss: 0.0,
            excluded: Vec::new(),
        }
    }

    /// Examples in the largest micro-batch.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Lays out the memory anew if it was laid out for something else.
    pub fn reserve(&mut self, network: &Network, plan: &Plan, purpose: Purpose, capacity: usize) {
        if (purpose, capacity) != (self.purpose, self.capacity) {
            *self = Worker::new(network, plan, purpose, capacity);
        }
    }

    /// Runs a share of the records of the logical batch; `found` receives the network's outputs, or the gradients at its
    /// inputs if these are the task.
    pub fn run(&mut self, step: &Step, task: Task, share: &Share, mut found: Option<&mut [f32]>) {
        self.loss = 0.0;
        self.excluded.clear();
        // Taken out while a pass borrows them.
        let (mut keys, mut tokens) = (std::mem::take(&mut self.keys), std::mem::take(&mut self.tokens));
        let packed = self.purpose == Purpose::PerExample;
        let pieces = pieces(share, self.capacity / step.views, packed);
        match packed && !pieces.is_empty() {
            // Layers begin with the first piece, and where sums are handed on zeros are left.
            true => clear_unused(step, &mut self.gradient),
            false => self.gradient.fill(0.0),
        }
        for micro_batch in micro_batches(&pieces) {
            let Range { start: begin, end } = records_of(micro_batch);
            keys.clear();
            keys.extend((begin * step.views..end * step.views).map(|example| key(step, example)));
            self.read(step, begin * step.views..end * step.views, &mut tokens);
            let pass = Pass {
                batch: (end - begin) * step.views,
                purpose: self.purpose,
                seed: step.seed,
                first_example: begin * step.views,
                keys: &keys,
                tokens: &tokens,
            };
            self.micro_batch(step, task, &pass, micro_batch);
            if let Some(found) = &mut found {
                let (buffers, place) = match task {
                    Task::InputGradients => (&self.space.gradients, 0),
                    _ => (&self.space.values, step.plan.output),
                };
                let width = step.plan.buffers[place];
                found[(begin - share.records.start) * width..(end - share.records.start) * width]
                    .copy_from_slice(&buffers[place][..pass.batch * width]);
            }
        }
        (self.keys, self.tokens) = (keys, tokens);
    }

    /// Reads the examples of a micro-batch, and counts their tokens if they are texts that are filled up.
    fn read(&mut self, step: &Step, examples: Range<usize>, tokens: &mut Vec<u32>) {
        let inputs = self.space.values[0].chunks_exact_mut(step.plan.buffers[0]);
        let padding = step.network.padding();
        tokens.clear();
        for (example, input) in examples.zip(inputs) {
            step.examples.read(example, input);
            tokens.extend(padding.map(|padding| ends::tokens(input, padding)));
        }
    }

    fn micro_batch(&mut self, step: &Step, task: Task, pass: &Pass, pieces: &[Piece]) {
        self.excluded_here.fill(false);
        if self.purpose != Purpose::Evaluate && step.network.mixing_layer().is_some() {
            self.exclude_inputs(step, pass);
        }
        // An example that is not finite is replaced by zeros and the micro-batch runs again without it: rare, and no
        // layer has to know. Examples do not see each other, so what blocks before it have added stays valid.
        let mut added = 0;
        loop {
            self.space.forward(step, pass);
            if let Task::Evaluate = task {
                return;
            }
            if self.exclude_losses(step, pass) {
                continue;
            }
            self.space.backward(step, pass);
            if let (Purpose::PerExample, Task::Weighted(weigh)) = (self.purpose, task) {
                self.space.norms(step, pass, &mut self.norms);
                if self.exclude_norms(step, pass, 0..pass.batch)
                    || !self.blocks(step, pass, pieces, weigh, &mut added)
                {
                    continue;
                }
            }
            break;
        }
        match task {
            Task::Evaluate | Task::InputGradients => {}
            Task::Plain => {
                let ones = |_: &Node| Some(Factors::ones(pass.batch, 0..pass.batch));
                self.space.accumulate(step, pass, ones, &mut self.gradient);
            }
            Task::Weighted(weigh) if step.views > 1 => self.weigh_records(step, pass, weigh),
            Task::Weighted(_) => {
                self.space.accumulate_pieces(step, pass, pieces, &self.factors, &mut self.gradient);
            }
            Task::Limited(limits) => self.limit_records(step, pass, limits),
            Task::Visit(visit) => self.visit_records(step, pass, visit),
        }
        if let (Purpose::Plain, Some(totals), [Piece { is_last: true, .. }]) =
            (self.purpose, step.totals, pieces)
        {
            totals.take(0..self.gradient.len(), &mut self.gradient);
        }
        // Last, since a record may be left out as late as by its gradient.
        let counted = (0..pass.batch).filter(|&example| !self.excluded_here[example]);
        self.loss += counted.map(|example| f64::from(self.losses[example])).sum::<f64>() / step.views as f64;
    }

    /// Leaves out the examples whose input is not finite, before a layer that mixes examples spreads them.
    fn exclude_inputs(&mut self, step: &Step, pass: &Pass) {
        let width = step.plan.buffers[0];
        for example in 0..pass.batch {
            let input = &self.space.values[0][example * width..][..width];
            if !self.excluded_here[example] && !input.iter().all(|value| value.is_finite()) {
                self.exclude(step, pass, example, "the input");
            }
        }
    }

    /// Notes the losses, with their gradients written at the output, and leaves out the examples whose loss is not
    /// finite; whether there were any.
    fn exclude_losses(&mut self, step: &Step, pass: &Pass) -> bool {
        let buffer = step.plan.output;
        let width = step.plan.buffers[buffer];
        // The mean over views is taken here, where it costs least: all that follows is linear in these gradients.
        let share = 1.0 / step.views as f32;
        let mut found = false;
        for example in 0..pass.batch {
            let output = &self.space.values[buffer][example * width..][..width];
            let gradient = &mut self.space.gradients[buffer][example * width..][..width];
            if self.excluded_here[example] {
                gradient.fill(0.0);
                continue;
            }
            let place = pass.first_example + example;
            let (target, weight) = (step.examples.target(place), step.examples.weight(place));
            self.losses[example] = weight * step.loss.evaluate(output, target, gradient);
            if share * weight != 1.0 {
                gradient.iter_mut().for_each(|value| *value *= share * weight);
            }
            if !self.losses[example].is_finite() {
                self.exclude(step, pass, example, "the loss");
                found = true;
            }
        }
        found
    }

    /// Weighs the examples from `added` on block by block, and adds their gradients in the layers that sum in blocks.
    ///
    /// Stops before a block of which examples had to be left out just now, and returns whether there was none.
    fn blocks(
        &mut self,
        step: &Step,
        pass: &Pass,
        pieces: &[Piece],
        weigh: &Weigh,
        added: &mut usize,
    ) -> bool {
        for piece in pieces {
            for examples in self.space.blocks.of(piece.records.start.max(*added)..piece.records.end) {
                self.space.block_norms(step, pass, examples.clone(), &mut self.norms);
                if self.exclude_norms(step, pass, examples.clone()) {
                    return false;
                }
                self.weigh(step, pass, examples.clone(), weigh);
                *added = examples.end;
                self.space.accumulate_block(step, pass, (piece, examples), &self.factors, &mut self.gradient);
            }
        }
        true
    }

    /// Leaves out those of the examples whose gradient is not finite; whether there were any.
    ///
    /// An example left out before is not looked at again: zeros stand in its place, and if even they have no finite
    /// gradient, then the parameters are at fault and no data.
    fn exclude_norms(&mut self, step: &Step, pass: &Pass, examples: Range<usize>) -> bool {
        let parameters = step.network.parameters();
        let mut found = false;
        for example in examples {
            let bad = |tensor: &usize| !is_usable(self.norms[tensor * pass.batch + example]);
            if self.excluded_here[example] {
                continue;
            }
            if let Some(tensor) = (0..parameters.len()).find(bad) {
                let place = format!("the gradient of `{}`", parameters[tensor].name);
                self.exclude(step, pass, example, &place);
                found = true;
            }
        }
        found
    }

    /// Asks for the factors of the examples; those left out get zero.
    fn weigh(&mut self, step: &Step, pass: &Pass, examples: Range<usize>, weigh: &Weigh) {
        let tensors = step.network.parameters().len();
        for example in examples {
            for tensor in 0..tensors {
                self.record_norms[tensor] = self.norms[tensor * pass.batch + example];
            }
            if self.excluded_here[example] {
                self.record_factors.fill(0.0);
            } else {
                weigh(&self.record_norms, &mut self.record_factors);
            }
            for (tensor, &factor) in self.record_factors.iter().enumerate() {
                // A comparison that NaN fails.
                let vanishes = factor.abs() < LEAST_FACTOR;
                self.factors[tensor * pass.batch + example] = if vanishes { 0.0 } else { factor };
            }
        }
    }

    /// Leaves an example's record out: notes where it went wrong and puts zeros in the place of all its views.
    fn exclude(&mut self, step: &Step, pass: &Pass, example: usize, otherwise: &str) {
        let finite = |buffer: usize| {
            let width = step.plan.buffers[buffer];
            self.space.values[buffer][example * width..][..width].iter().all(|value| value.is_finite())
        };
        let place = if !finite(0) {
            "the input".to_string()
        } else {
            let nodes = step.network.nodes().iter().zip(&step.plan.nodes);
            let mut bad = nodes.filter(|(_, plan)| plan.as_ref().is_some_and(|plan| !finite(plan.output)));
            bad.next()
                .map_or(otherwise.to_string(), |(node, _)| format!("layer `{}` ({})", node.name, node.kind()))
        };
        self.excluded.push(Excluded { example: (pass.first_example + example) / step.views, place });
        let width = step.plan.buffers[0];
        let record = example / step.views;
        self.excluded_here[record * step.views..][..step.views].fill(true);
        self.space.values[0][record * step.views * width..][..step.views * width].fill(0.0);
    }
}
