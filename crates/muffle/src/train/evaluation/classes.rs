//! One class per record.

use super::ranking::{area_under_curve, calibration_error};
use super::{Evaluation, Measures, predicted};
use crate::data::View;

/// Right answers by class; for two classes also how sure the model was of the second.
pub(super) struct Classes<'a> {
    names: &'a [String],
    /// Right answers and records.
    counts: Vec<(u64, u64)>,
    /// The second output over the first, and whether the record is of the second class.
    sureness: Vec<(f32, bool)>,
}

impl<'a> Classes<'a> {
    pub fn new(names: &'a [String]) -> Classes<'a> {
        Classes { names, counts: vec![(0, 0); names.len()], sureness: Vec::new() }
    }
}

impl Measures for Classes<'_> {
    fn note(&mut self, view: &View, index: usize, outputs: &[f32]) {
        let label = view.label(index) as usize;
        let (correct, records) = &mut self.counts[label];
        *correct += u64::from(predicted(outputs) == label);
        *records += 1;
        if let [first, second] = outputs {
            self.sureness.push((second - first, label == 1));
        }
    }

    fn result(self: Box<Self>, evaluation: Evaluation) -> Evaluation {
        let correct: u64 = self.counts.iter().map(|(correct, _)| correct).sum();
        let share =
            |(correct, records): &(u64, u64)| (*records > 0).then(|| *correct as f64 / *records as f64);
        Evaluation {
            accuracy: Some(correct as f64 * (1.0 / evaluation.records.max(1) as f64)),
            by_class: self.names.iter().cloned().zip(self.counts.iter().map(share)).collect(),
            area_under_curve: area_under_curve(&self.sureness),
            calibration_error: (!self.sureness.is_empty()).then(|| calibration_error(&self.sureness)),
            ..evaluation
        }
    }
}
