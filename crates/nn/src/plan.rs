//! Which memory each edge of a network uses, and in which order gradients meet.

use crate::layer::{Pass, Purpose};
use crate::network::{Network, Node, Operation};
use std::ops::Range;

/// The plan of one node.
pub struct NodePlan {
    /// Buffers read.
    pub inputs: Vec<usize>,
    /// Buffer written; equal to the input if the node works in place.
    pub output: usize,
    /// For each input, whether its gradient is wanted, and whether this node writes it first.
    pub gradients: Vec<Gradient>,
    /// Part of the prepared weights.
    pub prepared: Range<usize>,
    /// A private copy of the input, if hooks may change it.
    pub tap: Option<usize>,
    /// Whether gradients come this way: not where no tensor that learns lies at the node or before it.
    pub goes_back: bool,
}

/// What a node does with the gradient of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gradient {
    /// Nobody needs it.
    Unwanted,
    /// It is the first to write it.
    First,
    /// It adds to what another reader of the same edge has written.
    Further,
}

/// The plan of a network.
pub struct Plan {
    /// Plans of the nodes; `None` for those the output does not depend on.
    pub nodes: Vec<Option<NodePlan>>,
    /// Values of one example in each buffer.
    pub buffers: Vec<usize>,
    /// Buffer of the output.
    pub output: usize,
    /// Length of the prepared weights.
    pub prepared_len: usize,
}

impl Plan {
    /// Plans a network; `input_gradient` keeps the gradient of the input, `hooked` gives every layer its own copy.
    pub fn new(network: &Network, input_gradient: bool, hooked: bool) -> Plan {
        let nodes = network.nodes();
        let mut readers = vec![0usize; network.edges().len()];
        readers[network.output_edge()] += 1;
        let mut live = vec![false; nodes.len()];
        for (index, node) in nodes.iter().enumerate().rev() {
            if readers[node.output] > 0 {
                live[index] = true;
                node.inputs.iter().for_each(|&edge| readers[edge] += 1);
            }
        }
        let mut plan =
            Plan { nodes: Vec::new(), buffers: vec![network.input().len()], output: 0, prepared_len: 0 };
        let mut buffer_of = vec![usize::MAX; network.edges().len()];
        buffer_of[0] = 0;
        let mut wants_gradient = vec![false; network.edges().len()];
        wants_gradient[0] = input_gradient;
        let mut keeps_output = vec![false; network.edges().len()];
        keeps_output[0] = true;
        for (index, node) in nodes.iter().enumerate() {
            if !live[index] {
                plan.nodes.push(None);
                continue;
            }
            let first = node.inputs[0];
            let in_place = matches!(node.operation, Operation::Activation(_))
                && readers[first] == 1
                && !keeps_output[first]
                && !hooked;
            let output = if in_place {
                buffer_of[first]
            } else {
                plan.buffers.push(network.edges()[node.output].len());
                plan.buffers.len() - 1
            };
            buffer_of[node.output] = output;
            keeps_output[node.output] = match &node.operation {
                Operation::Layer(layer) => layer.reads_output(),
                Operation::Activation(_) => true,
                Operation::Sum | Operation::Concat => false,
            };
            wants_gradient[node.output] =
                network.learns(node) || node.inputs.iter().any(|&edge| wants_gradient[edge]);
            let prepared = match &node.operation {
                Operation::Layer(layer) => plan.prepared_len..plan.prepared_len + layer.prepared_len(),
                _ => plan.prepared_len..plan.prepared_len,
            };
            plan.prepared_len = prepared.end.next_multiple_of(16);
            let tap = (hooked && node.inputs.len() == 1).then(|| {
                plan.buffers.push(network.edges()[first].len());
                plan.buffers.len() - 1
            });
            plan.nodes.push(Some(NodePlan {
                inputs: node.inputs.iter().map(|&edge| buffer_of[edge]).collect(),
                output,
                gradients: node
                    .inputs
                    .iter()
                    .map(|&edge| if wants_gradient[edge] { Gradient::First } else { Gradient::Unwanted })
                    .collect(),
                prepared,
                tap,
                goes_back: wants_gradient[node.output],
            }));
        }
        plan.output = buffer_of[network.output_edge()];
        plan.order_gradients();
        plan
    }

    /// Marks all but the last reader of a buffer, the first to run backwards, as further writers.
    fn order_gradients(&mut self) {
        let mut written = vec![false; self.buffers.len()];
        for plan in self.nodes.iter_mut().rev().flatten() {
            if plan.inputs[0] == plan.output {
                continue;
            }
            for (&buffer, gradient) in plan.inputs.iter().zip(&mut plan.gradients) {
                if *gradient == Gradient::First && written[buffer] {
                    *gradient = Gradient::Further;
                }
                written[buffer] = true;
            }
        }
    }

    /// Values of one example in all buffers and tapes.
    pub fn example_len(&self, network: &Network, purpose: Purpose) -> usize {
        const SAMPLE: usize = 8;
        let pass = Pass::new(SAMPLE, purpose);
        let tape = |node: &Node| match &node.operation {
            Operation::Layer(layer) => layer.tape_len(&pass) / SAMPLE,
            _ => 0,
        };
        let buffers: usize = self.buffers.iter().sum();
        2 * buffers + network.nodes().iter().map(tape).sum::<usize>()
    }
}
