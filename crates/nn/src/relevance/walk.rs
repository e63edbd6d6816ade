//! One example's way forward through the network, and that of its relevance back.

use super::{Rule, ratio};
use crate::buffer::{Buffer, buffer};
use crate::ends;
use crate::examples::Target;
use crate::kernel::elementwise::add;
use crate::layer::{Backward, Carry, Layer, Memory, Pass, Purpose, Values};
use crate::network::{Network, Node, Operation};
use crate::plan::{NodePlan, Plan};
use crate::workspace::{Step, Workspace, pair, parts, weights};

/// A thread's memory for one example.
pub(super) struct Walk {
    space: Workspace,
    /// Relevance of what each buffer holds.
    relevance: Vec<Buffer>,
    /// Relevance of a node's outputs over their values.
    ratios: Buffer,
    /// What a layer makes of the ratios.
    pulled: Buffer,
}

impl Walk {
    pub fn new(network: &Network, plan: &Plan) -> Walk {
        let longest = plan.buffers.iter().copied().max().unwrap_or(0);
        Walk {
            space: Workspace::new(network, plan, Purpose::Evaluate, 1),
            relevance: plan.buffers.iter().map(|&len| buffer(len)).collect(),
            ratios: buffer(longest),
            pulled: buffer(longest),
        }
    }

    /// Fills in the relevance of everything that leads to the logit of the example's class.
    pub fn run(&mut self, step: &Step, rules: &[Rule], stabiliser: f32, example: usize) {
        step.examples.read(example, &mut self.space.values[0]);
        let padding = step.network.padding();
        let tokens = padding.map(|padding| ends::tokens(&self.space.values[0], padding));
        let pass =
            Pass { first_example: example, tokens: tokens.as_slice(), ..Pass::new(1, Purpose::Evaluate) };
        self.space.forward(step, &pass);
        self.relevance.iter_mut().for_each(|relevance| relevance.fill(0.0));
        let output = step.plan.output;
        let Target::Class(class) = step.examples.target(example) else {
            unreachable!("targets were checked")
        };
        self.relevance[output][class as usize] = self.space.values[output][class as usize];
        let nodes = step.network.nodes().iter().zip(&step.plan.nodes).enumerate();
        for (index, (node, plan)) in nodes.rev() {
            let Some(plan) = plan else { continue };
            match (&node.operation, rules[index]) {
                (Operation::Layer(layer), Rule::Proportional | Rule::Moved) => {
                    self.through_layer(step, &pass, index, &**layer, rules[index], stabiliser);
                }
                (Operation::Layer(layer), Rule::Own) => {
                    self.through_own(step, &pass, index, &**layer, stabiliser);
                }
                (Operation::Sum | Operation::Concat, rule) => self.spread(step, node, plan, rule, stabiliser),
                (Operation::Layer(_) | Operation::Activation(_), _) => {
                    let [source, target] = pair(&mut self.relevance, plan.output, plan.inputs[0]);
                    add(target, source);
                }
            }
        }
    }

    /// Relevance of the input.
    pub fn inputs(&self) -> Vec<f32> {
        self.relevance[0].to_vec()
    }

    /// Relevance of a node's outputs; zeros if the output of the network does not depend on it.
    pub fn at_output(&self, step: &Step, node: usize) -> &[f32] {
        step.plan.nodes[node].as_ref().map_or(&[], |plan| &self.relevance[plan.output])
    }

    /// A layer is linear in its input but for its bias, so that its backward pass multiplies by the same weights: each
    /// input takes its value times what comes back of relevance over output.
    fn through_layer(
        &mut self,
        step: &Step,
        pass: &Pass,
        index: usize,
        layer: &dyn Layer,
        rule: Rule,
        stabiliser: f32,
    ) {
        let Walk { space, relevance, ratios, pulled } = self;
        let node = &step.network.nodes()[index];
        let Some(plan) = &step.plan.nodes[index] else { return };
        let values = Values { input: &space.values[plan.inputs[0]], output: &space.values[plan.output] };
        let [upstream, target] = pair(relevance, plan.output, plan.inputs[0]);
        let pulled = &mut pulled[..target.len()];
        let proportional = rule == Rule::Proportional;
        let upstream =
            if proportional { divide(upstream, values.output, stabiliser, ratios) } else { upstream };
        layer.backward(Backward {
            weights: weights(step, node, plan),
            pass,
            values,
            upstream,
            downstream: Some(&mut *pulled),
            memory: Memory { tape: &mut space.tapes[index], scratch: &mut space.scratch },
        });
        if proportional {
            add_products(target, values.input, pulled);
        } else {
            add(target, pulled);
        }
    }

    /// A layer that knows its own rule.
    fn through_own(&mut self, step: &Step, pass: &Pass, index: usize, layer: &dyn Layer, stabiliser: f32) {
        let Walk { space, relevance, pulled, .. } = self;
        let node = &step.network.nodes()[index];
        let Some(plan) = &step.plan.nodes[index] else { return };
        let [upstream, target] = pair(relevance, plan.output, plan.inputs[0]);
        let pulled = &mut pulled[..target.len()];
        layer.carry_relevance(Carry {
            weights: weights(step, node, plan),
            pass,
            values: Values { input: &space.values[plan.inputs[0]], output: &space.values[plan.output] },
            upstream,
            downstream: &mut *pulled,
            stabiliser,
            tape: &space.tapes[index],
        });
        add(target, pulled);
    }

    /// Hands the relevance of a sum or a concatenation to its inputs.
    fn spread(&mut self, step: &Step, node: &Node, plan: &NodePlan, rule: Rule, stabiliser: f32) {
        let Walk { space, relevance, ratios, .. } = self;
        let (output, proportional) = (&space.values[plan.output], rule == Rule::Proportional);
        for (input, columns) in parts(step, node, plan) {
            let [upstream, target] = pair(relevance, plan.output, input);
            let upstream = if proportional { divide(upstream, output, stabiliser, ratios) } else { upstream };
            let values = space.values[input].chunks_exact(columns.width);
            let rows = upstream.chunks_exact(columns.total).zip(target.chunks_exact_mut(columns.width));
            for ((upstream, target), values) in rows.zip(values) {
                let upstream = &upstream[columns.first..][..columns.width];
                if proportional {
                    add_products(target, values, upstream);
                } else {
                    add(target, upstream);
                }
            }
        }
    }
}

/// Relevance over stabilised values; nothing where they are zero.
fn divide<'a>(relevance: &[f32], values: &[f32], stabiliser: f32, ratios: &'a mut [f32]) -> &'a [f32] {
    let ratios = &mut ratios[..relevance.len()];
    for ((target, &relevance), &value) in ratios.iter_mut().zip(relevance).zip(values) {
        *target = ratio(relevance, value, stabiliser);
    }
    ratios
}

/// `target += left · right`, value by value.
fn add_products(target: &mut [f32], left: &[f32], right: &[f32]) {
    for ((target, left), right) in target.iter_mut().zip(left).zip(right) {
        *target += left * right;
    }
}
