//! How good a model is on records that were set aside, by measures that fit the task.

mod answers;
mod calibration;
mod decision;
mod groups;
mod measure;
mod question;
mod ranking;
mod report;
mod share;
mod summary;
mod values;

pub use calibration::{Bin, Calibration};
pub(super) use decision::probability;
pub use decision::{Decision, predicted};
pub use groups::{GroupReport, GroupedBy, Grouping, Rates};
pub use measure::Measure;
pub use question::Counts;
pub use ranking::Area;
pub use report::{ClassReport, Report};
pub use share::Share;
pub use summary::{Confusion, Evaluation, NOT_COVERED};

use super::plan::TargetShape;
use crate::data::{Task, View};
use crate::error::Result;
use answers::Answers;
use muffle_nn::{Engine, Examples, Loss, Network, Options, Purpose};
use std::sync::Arc;
use values::Values;

/// What a model said of every record, for a task.
enum Gathered<'a> {
    Answers(Answers),
    Values(Values<'a>),
}

impl<'a> Gathered<'a> {
    /// Before the first record; `None` if there is nothing to say.
    fn new(task: &'a Task, decision: Decision) -> Option<Gathered<'a>> {
        match task {
            Task::Classes(names) => Some(Gathered::Answers(Answers::new(names, true, decision))),
            Task::Labels(names) => Some(Gathered::Answers(Answers::new(names, false, decision))),
            Task::Values(quantities) => Some(Gathered::Values(Values::new(quantities))),
            Task::None => None,
        }
    }

    /// Notes the outputs for one record.
    fn note(&mut self, view: &View, index: usize, outputs: &[f32]) {
        match self {
            Gathered::Answers(answers) => answers.note(view.target(index), outputs),
            Gathered::Values(values) => values.note(view.target(index), outputs),
        }
    }
}

/// Runs a network forward.
pub struct Evaluator {
    engine: Engine,
    decision: Decision,
}

/// Classes up to which every measurement says which one is taken for which: the numbers grow with their square.
pub const MOST_CONFUSED: usize = 32;

/// Records whose outputs are held in memory at once.
const BLOCK: usize = 4096;

impl Evaluator {
    /// An evaluator of a network, which takes the most likely class.
    pub fn new(network: Arc<Network>, threads: Option<usize>) -> Result<Evaluator> {
        let options = Options { threads, ..Options::new(Purpose::Evaluate) };
        Ok(Evaluator { engine: Engine::new(network, options)?, decision: Decision::default() })
    }

    /// The same with another way to choose a class.
    pub fn deciding(self, decision: Decision) -> Evaluator {
        Evaluator { decision, ..self }
    }

    /// Chooses classes in another way from now on.
    pub fn decide(&mut self, decision: Decision) {
        self.decision = decision;
    }

    /// Hands out the outputs for every record of a view, in order.
    pub fn for_each(
        &mut self,
        parameters: &[f32],
        view: &View,
        mut visit: impl FnMut(usize, &[f32]),
    ) -> Result<()> {
        let width = self.engine.network().output().len();
        let mut outputs = vec![0.0; BLOCK.min(view.len()) * width];
        for first in (0..view.len()).step_by(BLOCK) {
            let last = (first + BLOCK).min(view.len());
            let block = view.select((first..last).map(|index| view.record(index)).collect::<Vec<_>>());
            let outputs = &mut outputs[..(last - first) * width];
            self.engine.outputs(parameters, &block, outputs)?;
            outputs
                .chunks_exact(width)
                .enumerate()
                .for_each(|(index, outputs)| visit(first + index, outputs));
        }
        Ok(())
    }

    /// The outputs for all examples, one after the other.
    pub fn outputs(&mut self, parameters: &[f32], examples: &dyn Examples) -> Result<Vec<f32>> {
        let mut outputs = vec![0.0; examples.len() * self.engine.network().output().len()];
        self.engine.outputs(parameters, examples, &mut outputs)?;
        Ok(outputs)
    }

    /// How many records of a view are classified correctly.
    pub fn correct(&mut self, parameters: &[f32], view: &View) -> Result<u64> {
        let (mut correct, decision) = (0, self.decision);
        self.for_each(parameters, view, |index, outputs| {
            correct += u64::from(decision.class(outputs) == view.label(index) as usize);
        })?;
        Ok(correct)
    }

    /// The softmax cross-entropy of every record of a view, in order.
    pub fn losses(&mut self, parameters: &[f32], view: &View) -> Result<Vec<f32>> {
        let mut losses = Vec::with_capacity(view.len());
        let mut gradient = vec![0.0; self.engine.network().output().len()];
        self.for_each(parameters, view, |index, outputs| {
            losses.push(Loss::SoftmaxCrossEntropy.evaluate(outputs, view.target(index), &mut gradient));
        })?;
        Ok(losses)
    }

    /// Loss and all measures that fit the task, in one figure each.
    pub fn evaluate(&mut self, parameters: &[f32], view: &View) -> Result<Evaluation> {
        Ok(match self.gather(parameters, view)? {
            Some((Gathered::Answers(answers), loss)) => answers.summary(loss),
            Some((Gathered::Values(values), loss)) => values.summary(loss),
            None => Evaluation::default(),
        })
    }

    /// The same with everything behind it: by class, with intervals and curves, and by group.
    pub fn report(&mut self, parameters: &[f32], view: &View, grouping: Option<&Grouping>) -> Result<Report> {
        Ok(match self.gather(parameters, view)? {
            Some((Gathered::Answers(answers), loss)) => Report::of_answers(&answers, loss, grouping),
            Some((Gathered::Values(values), loss)) => Report::of_values(&values, loss, grouping),
            None => Report::default(),
        })
    }

    /// All answers of the model, and the mean loss; `None` if the task asks nothing.
    fn gather<'a>(
        &mut self,
        parameters: &[f32],
        view: &View<'a>,
    ) -> Result<Option<(Gathered<'a>, Evaluation)>> {
        let task = view.dataset().task();
        let (Some(mut gathered), Some(usual)) =
            (Gathered::new(task, self.decision), TargetShape::of(task).usual_loss())
        else {
            return Ok(None);
        };
        let (mut loss, mut gradient) = (0.0, vec![0.0; self.engine.network().output().len()]);
        self.for_each(parameters, view, |index, outputs| {
            gathered.note(view, index, outputs);
            loss += f64::from(usual.evaluate(outputs, view.target(index), &mut gradient));
        })?;
        let records = view.len();
        let loss = loss * (1.0 / records.max(1) as f64);
        Ok(Some((gathered, Evaluation { loss, records, ..Evaluation::default() })))
    }
}

#[cfg(test)]
mod tests;
