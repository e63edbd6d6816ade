//! A thread's memory for one micro-batch, and the way through the network, forward and back.

mod blocks;

use crate::buffer::{Buffer, buffer};
use crate::examples::Examples;
use crate::hooks::{Hooks, Place};
use crate::kernel::elementwise::add;
use crate::layer::{
    Around, Backward, Factors, Forward, Gradients, Layer, Memory, Pass, Purpose, Values, Weights,
};
use crate::loss::Loss;
use crate::micro_batches::Piece;
use crate::network::{Network, Node, Operation};
use crate::plan::{Gradient, NodePlan, Plan};
use crate::shape::Shape;
use crate::totals::Totals;
use blocks::{Blocks, in_blocks};
use std::ops::Range;

/// What all threads of a step share.
pub(crate) struct Step<'a> {
    pub network: &'a Network,
    pub plan: &'a Plan,
    pub parameters: &'a [f32],
    pub prepared: &'a [f32],
    pub examples: &'a dyn Examples,
    /// Consecutive examples that make one record.
    pub views: usize,
    pub loss: Loss,
    pub hooks: Option<&'a dyn Hooks>,
    pub seed: u64,
    /// Where the sums of groups go, if there are several.
    pub totals: Option<Totals<'a>>,
}

impl<'a> Step<'a> {
    /// A step over examples that are records of their own, without hooks, and with one sum.
    pub fn new(
        network: &'a Network,
        plan: &'a Plan,
        parameters: &'a [f32],
        prepared: &'a [f32],
        examples: &'a dyn Examples,
        loss: Loss,
        seed: u64,
    ) -> Step<'a> {
        let (views, hooks, totals) = (1, None, None);
        Step { network, plan, parameters, prepared, examples, views, loss, hooks, seed, totals }
    }
}

impl Step<'_> {
    /// Hands on the sum of a node behind the last piece of a part of a group, if there are several groups.
    fn hand_on(&self, piece: &Piece, node: &Node, gradient: &mut [f32]) {
        if let (Some(totals), true) = (self.totals, piece.is_last) {
            totals.take(node.parameters.clone(), gradient);
        }
    }
}

/// Values, gradients and tapes of one micro-batch.
pub(crate) struct Workspace {
    pub values: Vec<Buffer>,
    pub gradients: Vec<Buffer>,
    pub tapes: Vec<Buffer>,
    pub scratch: Buffer,
    pub blocks: Blocks,
    spare: Buffer,
}

impl Workspace {
    pub fn new(network: &Network, plan: &Plan, purpose: Purpose, capacity: usize) -> Workspace {
        let pass = Pass::new(capacity, purpose);
        let blocks = Blocks::new(network, &pass);
        let (mut tapes, mut scratch) = (Vec::new(), 0);
        for node in network.nodes() {
            let mut tape = 0;
            if let Operation::Layer(layer) = &node.operation {
                tape = blocks.tape_len(layer.as_ref(), &pass);
                scratch = scratch.max(layer.scratch_len(&pass));
            }
            tapes.push(buffer(tape));
        }
        let trains = purpose != Purpose::Evaluate;
        let buffers = |wanted: bool| -> Vec<Buffer> {
            plan.buffers.iter().map(|len| buffer(if wanted { len * capacity } else { 0 })).collect()
        };
        let further = plan.nodes.iter().flatten().filter(|node| node.gradients.contains(&Gradient::Further));
        let spare = further.flat_map(|node| node.inputs.iter().map(|&input| plan.buffers[input])).max();
        Workspace {
            values: buffers(true),
            gradients: buffers(trains),
            tapes,
            scratch: buffer(scratch),
            blocks,
            spare: buffer(if trains { spare.unwrap_or(0) * capacity } else { 0 }),
        }
    }

    /// Computes the outputs of all nodes.
    pub fn forward(&mut self, step: &Step, pass: &Pass) {
        let Workspace { values, tapes, scratch, .. } = self;
        for (index, (node, plan)) in step.network.nodes().iter().zip(&step.plan.nodes).enumerate() {
            let Some(plan) = plan else { continue };
            let input = plan.tap.unwrap_or(plan.inputs[0]);
            let (input_len, output_len) =
                (pass.batch * step.plan.buffers[input], pass.batch * step.plan.buffers[plan.output]);
            if let Some(tap) = plan.tap {
                let [copy, source] = pair(values, tap, plan.inputs[0]);
                copy[..input_len].copy_from_slice(&source[..input_len]);
                if let Some(hooks) = step.hooks {
                    hooks.input(&place(step, index, pass.batch), &mut copy[..input_len]);
                }
            }
            match &node.operation {
                Operation::Activation(activation) => {
                    if input != plan.output {
                        let [input, output] = pair(values, input, plan.output);
                        output[..output_len].copy_from_slice(&input[..output_len]);
                    }
                    activation.apply(&mut values[plan.output][..output_len]);
                }
                Operation::Layer(layer) => {
                    let [input, output] = pair(values, input, plan.output);
                    layer.forward(Forward {
                        weights: weights(step, node, plan),
                        pass,
                        input: &input[..input_len],
                        output: &mut output[..output_len],
                        memory: Memory { tape: &mut tapes[index], scratch },
                    });
                }
                Operation::Sum | Operation::Concat => {
                    for (place, (input, columns)) in parts(step, node, plan).enumerate() {
                        let [source, output] = pair(values, input, plan.output);
                        for row in 0..output_len / columns.total {
                            let target = &mut output[row * columns.total + columns.first..][..columns.width];
                            let source = &source[row * columns.width..][..columns.width];
                            if place > 0 && columns.width == columns.total {
                                add(target, source);
                            } else {
                                target.copy_from_slice(source);
                            }
                        }
                    }
                }
            }
        }
    }

    /// Carries the gradient of the loss from the output to every layer.
    pub fn backward(&mut self, step: &Step, pass: &Pass) {
        let batch = pass.batch;
        for (index, (node, plan)) in step.network.nodes().iter().zip(&step.plan.nodes).enumerate().rev() {
            let Some(plan) = plan.as_ref().filter(|plan| plan.goes_back) else { continue };
            match &node.operation {
                Operation::Sum => self.spread(step, node, plan, batch),
                Operation::Concat => self.spread(step, node, plan, batch),
                Operation::Activation(activation) if plan.inputs[0] == plan.output => {
                    let len = batch * step.plan.buffers[plan.output];
                    activation
                        .pull_back(&self.values[plan.output][..len], &mut self.gradients[plan.output][..len]);
                }
                Operation::Activation(_) | Operation::Layer(_) => self.pull_back(step, pass, index),
            }
        }
    }

    /// Hands the gradient of a sum or a concatenation to its inputs.
    fn spread(&mut self, step: &Step, node: &Node, plan: &NodePlan, batch: usize) {
        let output_len = batch * step.plan.buffers[plan.output];
        for ((input, columns), gradient) in parts(step, node, plan).zip(&plan.gradients) {
            let [target, upstream] = pair(&mut self.gradients, input, plan.output);
            for row in 0..output_len / columns.total {
                let target = &mut target[row * columns.width..][..columns.width];
                let upstream = &upstream[row * columns.total + columns.first..][..columns.width];
                match gradient {
                    Gradient::Unwanted => {}
                    Gradient::First => target.copy_from_slice(upstream),
                    Gradient::Further => add(target, upstream),
                }
            }
        }
    }

    /// Carries the gradient through a node with one input and a buffer of its own.
    fn pull_back(&mut self, step: &Step, pass: &Pass, index: usize) {
        let Workspace { values, gradients, tapes, scratch, spare, .. } = self;
        let node = &step.network.nodes()[index];
        let Some(plan) = &step.plan.nodes[index] else {
            return;
        };
        let (batch, wanted) = (pass.batch, plan.gradients[0]);
        let input = plan.tap.unwrap_or(plan.inputs[0]);
        let (input_len, output_len) =
            (batch * step.plan.buffers[input], batch * step.plan.buffers[plan.output]);
        let use_spare = plan.tap.is_none() && wanted == Gradient::Further;
        let (upstream, mut downstream) = if wanted == Gradient::Unwanted {
            (&mut gradients[plan.output], None)
        } else if use_spare {
            (&mut gradients[plan.output], Some(&mut spare[..input_len]))
        } else {
            let [upstream, downstream] = pair(gradients, plan.output, input);
            (upstream, Some(&mut downstream[..input_len]))
        };
        let upstream = &mut upstream[..output_len];
        let at = Values { input: &values[input][..input_len], output: &values[plan.output][..output_len] };
        let hook = step.hooks.map(|hooks| (hooks, place(step, index, batch)));
        if let Some((hooks, place)) = &hook {
            hooks.upstream(place, at.input, at.output, upstream);
        }
        match &node.operation {
            Operation::Activation(activation) => {
                if let Some(downstream) = &mut downstream {
                    downstream.copy_from_slice(upstream);
                    activation.pull_back(at.output, downstream);
                }
            }
            Operation::Layer(layer) => {
                layer.backward(Backward {
                    weights: weights(step, node, plan),
                    pass,
                    values: at,
                    upstream,
                    downstream: downstream.as_deref_mut(),
                    memory: Memory { tape: &mut tapes[index], scratch },
                });
            }
            Operation::Sum | Operation::Concat => unreachable!("sums and concatenations have several inputs"),
        }
        if let (Some((hooks, place)), Some(downstream)) = (&hook, downstream) {
            hooks.downstream(place, at.input, upstream, downstream);
        }
        if use_spare {
            add(&mut gradients[plan.inputs[0]][..input_len], &spare[..input_len]);
        } else if let Some(tap) = plan.tap
            && wanted != Gradient::Unwanted
        {
            let [target, source] = pair(gradients, plan.inputs[0], tap);
            match wanted {
                Gradient::Further => add(&mut target[..input_len], &source[..input_len]),
                _ => target[..input_len].copy_from_slice(&source[..input_len]),
            }
        }
    }

    /// Squared norms of all tensors and examples: `norms[tensor * batch + example]`. Those of layers that sum in blocks
    /// are left at zero.
    pub fn norms(&mut self, step: &Step, pass: &Pass, norms: &mut [f64]) {
        let batch = pass.batch;
        for (index, (node, plan)) in step.network.nodes().iter().zip(&step.plan.nodes).enumerate() {
            let norms = &mut norms[node.tensors.start * batch..node.tensors.end * batch];
            let (Some(_), Operation::Layer(layer)) = (plan, &node.operation) else {
                norms.fill(0.0);
                continue;
            };
            if norms.is_empty() {
                continue;
            }
            if in_blocks(layer.as_ref(), pass) {
                norms.fill(0.0);
                continue;
            }
            layer.squared_norms(self.gradients(step, pass, index, 0..batch), norms);
        }
    }

    /// Both sides of a node for some examples, if the node is in use.
    pub fn around(&self, step: &Step, node: usize, examples: Range<usize>) -> Option<Around<'_>> {
        let plan = step.plan.nodes[node].as_ref()?;
        let input = plan.tap.unwrap_or(plan.inputs[0]);
        Some(Around {
            input: part(&self.values, input, step, &examples),
            upstream: part(&self.gradients, plan.output, step, &examples),
        })
    }

    /// What the gradients of some examples at a node in use are made of; `pass` is that of these examples.
    pub fn gradients<'a>(
        &'a mut self,
        step: &Step,
        pass: &'a Pass<'a>,
        node: usize,
        examples: Range<usize>,
    ) -> Gradients<'a> {
        let Workspace { values, gradients, tapes, scratch, .. } = self;
        let plan = step.plan.nodes[node].as_ref().expect("a node in use");
        Gradients {
            pass,
            input: part(values, plan.tap.unwrap_or(plan.inputs[0]), step, &examples),
            upstream: part(gradients, plan.output, step, &examples),
            memory: Memory { tape: &mut tapes[node], scratch },
        }
    }

    /// Adds the gradients of all layers that are given factors to `gradient`, but for those that sum in blocks.
    pub fn accumulate<'f>(
        &mut self,
        step: &Step,
        pass: &Pass,
        factors: impl Fn(&Node) -> Option<Factors<'f>>,
        gradient: &mut [f32],
    ) {
        for (index, node, layer) in layers_at_once(step, pass) {
            let Some(factors) = factors(node) else { continue };
            let gradient = &mut gradient[node.parameters.clone()];
            layer.accumulate(self.gradients(step, pass, index, 0..pass.batch), factors, gradient);
        }
    }

    /// Adds the gradients of all examples, times their factors `[tensor * batch + example]`, but for those of layers that sum in blocks;
    /// begins anew with the first piece of a thread, and hands on the sums of parts of groups that are complete.
    pub fn accumulate_pieces(
        &mut self,
        step: &Step,
        pass: &Pass,
        pieces: &[Piece],
        factors: &[f32],
        gradient: &mut [f32],
    ) {
        for (index, node, layer) in layers_at_once(step, pass) {
            let own = &factors[node.tensors.start * pass.batch..node.tensors.end * pass.batch];
            let factors = Factors::weighted(own, pass.batch);
            let gradient = &mut gradient[node.parameters.clone()];
            for piece in pieces {
                let call = self.gradients(step, pass, index, 0..pass.batch);
                let factors = factors.only(piece.records.clone());
                match piece.is_first {
                    true => layer.begin(call, factors, gradient),
                    false => layer.accumulate(call, factors, gradient),
                }
                step.hand_on(piece, node, gradient);
            }
        }
    }
}

/// The layers with tensors that sum a whole micro-batch, with their places in the network.
fn layers_at_once<'a>(
    step: &Step<'a>,
    pass: &'a Pass,
) -> impl Iterator<Item = (usize, &'a Node, &'a dyn Layer)> {
    layers(step).filter(move |(_, node, layer)| !node.tensors.is_empty() && !in_blocks(*layer, pass))
}

/// Leaves zeros in the gradients of nodes that are not in use.
pub(crate) fn clear_unused(step: &Step, gradient: &mut [f32]) {
    let nodes = step.network.nodes().iter().zip(&step.plan.nodes);
    for (node, _) in nodes.filter(|(_, plan)| plan.is_none()) {
        gradient[node.parameters.clone()].fill(0.0);
    }
}

/// The layers in use, with their places in the network.
fn layers<'a>(step: &Step<'a>) -> impl Iterator<Item = (usize, &'a Node, &'a dyn Layer)> {
    let nodes = step.network.nodes().iter().zip(&step.plan.nodes).enumerate();
    nodes.filter_map(|(index, (node, plan))| match (&node.operation, plan) {
        (Operation::Layer(layer), Some(_)) => Some((index, node, layer.as_ref())),
        _ => None,
    })
}

/// What a buffer holds of some examples.
fn part<'a>(buffers: &'a [Buffer], index: usize, step: &Step, examples: &Range<usize>) -> &'a [f32] {
    let width = step.plan.buffers[index];
    &buffers[index][examples.start * width..examples.end * width]
}

/// Where one input of a sum or concatenation lies in a row of the output.
pub(crate) struct Columns {
    pub first: usize,
    pub width: usize,
    pub total: usize,
}

/// The inputs of a sum or concatenation with their columns; a sum's inputs all cover the whole row.
pub(crate) fn parts<'a>(
    step: &'a Step,
    node: &'a Node,
    plan: &'a NodePlan,
) -> impl Iterator<Item = (usize, Columns)> + 'a {
    let columns = |shape: Shape| match shape {
        Shape::Image { channels, .. } => channels,
        other => other.len(),
    };
    let edges = step.network.edges();
    let total = columns(edges[node.output]);
    let mut next = 0;
    node.inputs.iter().zip(&plan.inputs).map(move |(&edge, &buffer)| {
        let width = columns(edges[edge]);
        let first = if let Operation::Sum = node.operation { 0 } else { next };
        next += width;
        (buffer, Columns { first, width, total })
    })
}

pub(crate) fn weights<'a>(step: &Step<'a>, node: &Node, plan: &NodePlan) -> Weights<'a> {
    Weights {
        parameters: &step.parameters[node.parameters.clone()],
        prepared: &step.prepared[plan.prepared.clone()],
    }
}

fn place<'a>(step: &Step<'a>, index: usize, batch: usize) -> Place<'a> {
    let node = &step.network.nodes()[index];
    Place {
        node: index,
        name: &node.name,
        kind: node.kind(),
        has_tensors: !node.tensors.is_empty(),
        input: step.network.edges()[node.inputs[0]],
        output: step.network.edges()[node.output],
        batch,
    }
}

/// Two different buffers at once.
pub(crate) fn pair(buffers: &mut [Buffer], first: usize, second: usize) -> [&mut Buffer; 2] {
    buffers.get_disjoint_mut([first, second]).expect("a node writes to another buffer than it reads")
}
