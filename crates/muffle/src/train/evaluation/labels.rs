//! Several labels per record.

use super::ranking::area_under_curve;
use super::{Evaluation, Measures};
use crate::data::View;
use muffle_nn::{Examples, Target};

/// Labels on the right side, and how sure the model was of each.
pub(super) struct Labels<'a> {
    names: &'a [String],
    correct: Vec<u64>,
    sureness: Vec<Vec<(f32, bool)>>,
}

impl<'a> Labels<'a> {
    pub fn new(names: &'a [String]) -> Labels<'a> {
        Labels { names, correct: vec![0; names.len()], sureness: vec![Vec::new(); names.len()] }
    }
}

impl Measures for Labels<'_> {
    fn note(&mut self, view: &View, index: usize, outputs: &[f32]) {
        let Target::Values(labels) = view.target(index) else { return };
        for (label, (&output, &target)) in outputs.iter().zip(labels).enumerate() {
            let holds = target > 0.5;
            self.correct[label] += u64::from((output > 0.0) == holds);
            self.sureness[label].push((output, holds));
        }
    }

    fn result(self: Box<Self>, evaluation: Evaluation) -> Evaluation {
        let share = 1.0 / evaluation.records.max(1) as f64;
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len().max(1) as f64;
        let accuracies: Vec<f64> = self.correct.iter().map(|correct| *correct as f64 * share).collect();
        let areas: Vec<f64> = self.sureness.iter().filter_map(|pairs| area_under_curve(pairs)).collect();
        Evaluation {
            accuracy: Some(mean(&accuracies)),
            by_class: self.names.iter().cloned().zip(accuracies.iter().copied().map(Some)).collect(),
            area_under_curve: (!areas.is_empty()).then(|| mean(&areas)),
            ..evaluation
        }
    }
}
