//! How good a model is on records that were set aside, by measures that fit the task.

mod classes;
mod labels;
mod ranking;
mod values;

use super::plan::TargetShape;
use crate::data::{Task, View};
use crate::error::Result;
use crate::run::Measurements;
use muffle_nn::{Engine, Examples, Loss, Network, Options, Purpose};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What was measured on a split. Plain statistics of its records: no guarantee covers them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Evaluation {
    /// Share of records whose largest output is their class, or of labels on the right side; absent for numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accuracy: Option<f64>,
    /// Mean of the usual loss of the task.
    pub loss: f64,
    /// Number of records.
    pub records: usize,
    /// Accuracy by class or label; `null` for one that no record has.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub by_class: BTreeMap<String, Option<f64>>,
    /// Area under the curve of true against false positives: of the second of two classes, or the mean over labels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub area_under_curve: Option<f64>,
    /// How far stated probabilities are from shares that came true, for two classes: expected calibration error in 15 bins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calibration_error: Option<f64>,
    /// Mean absolute error of each number, in its own units.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub mean_absolute_error: BTreeMap<String, f64>,
    /// Root of the mean squared error of each number, in its own units.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub root_mean_squared_error: BTreeMap<String, f64>,
}

impl Evaluation {
    /// That of a run; nothing at all if it measured nothing.
    pub fn of(measured: &Measurements) -> Evaluation {
        measured.get("test").unwrap_or_default()
    }

    /// In a few words.
    pub fn in_words(&self) -> String {
        match self.accuracy {
            Some(accuracy) => format!("{:.2} %", 100.0 * accuracy),
            None => {
                let errors = self.mean_absolute_error.iter();
                let errors: Vec<String> =
                    errors.map(|(name, error)| format!("{name} ± {error:.4}")).collect();
                errors.join(", ")
            }
        }
    }
}

/// What gathers the measures of a task, record by record.
trait Measures {
    /// Notes the outputs for one record.
    fn note(&mut self, view: &View, index: usize, outputs: &[f32]);

    /// What came of all of them, added to the loss.
    fn result(self: Box<Self>, evaluation: Evaluation) -> Evaluation;
}

/// Runs a network forward.
pub struct Evaluator {
    engine: Engine,
}

/// Records whose outputs are held in memory at once.
const BLOCK: usize = 4096;

impl Evaluator {
    /// An evaluator of a network.
    pub fn new(network: Arc<Network>, threads: Option<usize>) -> Result<Evaluator> {
        let options = Options { threads, ..Options::new(Purpose::Evaluate) };
        Ok(Evaluator { engine: Engine::new(network, options)? })
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
        let mut correct = 0;
        self.for_each(parameters, view, |index, outputs| {
            correct += u64::from(predicted(outputs) == view.label(index) as usize);
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

    /// Loss and all measures that fit the task.
    pub fn evaluate(&mut self, parameters: &[f32], view: &View) -> Result<Evaluation> {
        let task = view.dataset().task();
        let mut measures: Box<dyn Measures> = match task {
            Task::Classes(names) => Box::new(classes::Classes::new(names)),
            Task::Labels(names) => Box::new(labels::Labels::new(names)),
            Task::Values(quantities) => Box::new(values::Values::new(quantities)),
            Task::None => return Ok(Evaluation::default()),
        };
        let usual = TargetShape::of(task).usual_loss().expect("there is something to learn");
        let (mut loss, mut gradient) = (0.0, vec![0.0; self.engine.network().output().len()]);
        self.for_each(parameters, view, |index, outputs| {
            measures.note(view, index, outputs);
            loss += f64::from(usual.evaluate(outputs, view.target(index), &mut gradient));
        })?;
        let records = view.len();
        let loss = loss * (1.0 / records.max(1) as f64);
        Ok(measures.result(Evaluation { loss, records, ..Evaluation::default() }))
    }
}

/// The class with the largest output, the first among equals.
pub fn predicted(outputs: &[f32]) -> usize {
    let better = |best: usize, class: usize| if outputs[class] > outputs[best] { class } else { best };
    (0..outputs.len()).fold(0, better)
}
