//! How good a model is on records that were set aside.

use super::error::Result;
use crate::data::View;
use muffle_nn::{Engine, Examples, Loss, Network, Options, Purpose};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Accuracy and loss on a split. Plain statistics of its records: no guarantee covers them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evaluation {
    /// Share of records whose largest output is their class.
    pub accuracy: f64,
    /// Mean softmax cross-entropy.
    pub loss: f64,
    /// Number of records.
    pub records: usize,
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

    /// Accuracy and loss.
    pub fn evaluate(&mut self, parameters: &[f32], view: &View) -> Result<Evaluation> {
        let (mut correct, mut loss) = (0u64, 0.0);
        let mut gradient = vec![0.0; self.engine.network().output().len()];
        self.for_each(parameters, view, |index, outputs| {
            correct += u64::from(predicted(outputs) == view.label(index) as usize);
            loss += f64::from(Loss::SoftmaxCrossEntropy.evaluate(outputs, view.target(index), &mut gradient));
        })?;
        let records = view.len();
        let share = 1.0 / records.max(1) as f64;
        Ok(Evaluation { accuracy: correct as f64 * share, loss: loss * share, records })
    }
}

/// The class with the largest output, the first among equals.
pub fn predicted(outputs: &[f32]) -> usize {
    let better = |best: usize, class: usize| if outputs[class] > outputs[best] { class } else { best };
    (0..outputs.len()).fold(0, better)
}
