//! Gradients written out record by record: what is done with them cannot be done without.

use super::{Visit, Weigh, Worker, is_usable};
use crate::buffer::buffer;
use crate::kernel::elementwise::{add_scaled, squared_norm};
use crate::layer::{Factors, Pass};
use crate::network::Node;
use crate::workspace::Step;

impl Worker {
    /// Hands out the gradients of all records of a micro-batch.
    pub(super) fn visit_records(&mut self, step: &Step, pass: &Pass, visit: &Visit) {
        let first_record = pass.first_example / step.views;
        for record in 0..pass.batch / step.views {
            if !self.excluded_here[record * step.views] {
                self.write_gradient(step, pass, record, &|_| true);
                visit(first_record + record, &mut self.record_gradient, &mut self.gradient);
            }
        }
    }

    /// Adds the gradients of all records, each tensor times its factor; leaves out those whose gradient is not finite.
    pub(super) fn weigh_records(&mut self, step: &Step, pass: &Pass, weigh: &Weigh) {
        let parameters = step.network.parameters();
        for record in 0..pass.batch / step.views {
            if self.excluded_here[record * step.views] {
                continue;
            }
            self.write_gradient(step, pass, record, &|_| true);
            for (norm, parameter) in self.record_norms.iter_mut().zip(parameters) {
                *norm = squared_norm(&self.record_gradient[parameter.range.clone()]);
            }
            if let Some(tensor) = self.record_norms.iter().position(|norm| !is_usable(*norm)) {
                let place = format!("the gradient of `{}`", parameters[tensor].name);
                self.exclude(step, pass, record * step.views, &place);
                continue;
            }
            weigh(&self.record_norms, &mut self.record_factors);
            for (factor, parameter) in self.record_factors.iter().zip(parameters) {
                let range = parameter.range.clone();
                add_scaled(&mut self.gradient[range.clone()], *factor, &self.record_gradient[range]);
            }
        }
    }

    /// Writes the gradient of one record of a micro-batch, as far as nodes are `wanted`.
    pub(super) fn write_gradient(
        &mut self,
        step: &Step,
        pass: &Pass,
        record: usize,
        wanted: &dyn Fn(&Node) -> bool,
    ) {
        if self.record_gradient.is_empty() {
            self.record_gradient = buffer(self.gradient.len());
        }
        for node in step.network.nodes().iter().filter(|node| wanted(node)) {
            self.record_gradient[node.parameters.clone()].fill(0.0);
        }
        let views = record * step.views..(record + 1) * step.views;
        let own = |node: &Node| wanted(node).then(|| Factors::ones(pass.batch, views.clone()));
        self.space.accumulate(step, pass, own, &mut self.record_gradient);
    }
}
