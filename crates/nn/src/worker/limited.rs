//! Sums of gradients of which every value has a limit of its own.

use super::Worker;
use crate::kernel::limited::{add_limited, largest};
use crate::layer::{LimitedSum, Pass};
use crate::network::{Node, Operation};
use crate::workspace::Step;

impl Worker {
    /// Adds the gradients of all records of a micro-batch, value `i` of each moved into ±`limits[i]`; leaves out those whose
    /// gradient is not finite.
    ///
    /// Gradients are written out record by record, but for layers with a short cut, which take all records at once.
    pub(super) fn limit_records(&mut self, step: &Step, pass: &Pass, limits: &[f32]) {
        let nodes = step.network.nodes();
        let written = |node: &Node| !node.tensors.is_empty() && short_cut(step, node).is_none();
        for record in 0..pass.batch / step.views {
            let example = record * step.views;
            if self.excluded_here[example] {
                continue;
            }
            self.write_gradient(step, pass, record, &written);
            let not_finite = |(index, node): &(usize, &Node)| match short_cut(step, node) {
                Some(layer) => self
                    .space
                    .around(step, *index, example..example + 1)
                    .is_some_and(|around| !layer.is_finite(around)),
                None => !largest(&self.record_gradient[node.parameters.clone()]).is_finite(),
            };
            if let Some((_, node)) = nodes.iter().enumerate().find(not_finite) {
                self.exclude(step, pass, example, &format!("the gradient of `{}`", node.name));
                continue;
            }
            for node in nodes.iter().filter(|node| written(node)) {
                let range = node.parameters.clone();
                let values = &self.record_gradient[range.clone()];
                add_limited(&mut self.gradient[range.clone()], values, &limits[range]);
            }
        }
        for (index, node) in nodes.iter().enumerate() {
            let Some(layer) = short_cut(step, node) else { continue };
            let range = node.parameters.clone();
            let mut first = 0;
            for examples in self.excluded_here[..pass.batch].chunk_by(|one, next| one == next) {
                let last = first + examples.len();
                if !examples[0]
                    && let Some(around) = self.space.around(step, index, first..last)
                {
                    let sum = &mut self.gradient[range.clone()];
                    layer.accumulate(around, &limits[range.clone()], sum);
                }
                first = last;
            }
        }
    }
}

/// The node's way to limited sums. Several views of a record add up before the limit: then there is none.
fn short_cut<'a>(step: &Step, node: &'a Node) -> Option<&'a dyn LimitedSum> {
    match &node.operation {
        Operation::Layer(layer) if step.views == 1 => layer.limited_sum(),
        _ => None,
    }
}
