//! What was measured, in one figure for each measure.

use crate::run::Measurements;
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;

/// Figures that no guarantee covers, in words.
pub const NOT_COVERED: &str = "Plain statistics of the records they are measured on: no epsilon covers them. If these records are \
                               private, so are the figures, and publishing them is a release of its own.";

/// What was measured on a split. Plain statistics of its records: no guarantee covers them.
///
/// With two classes figures of a yes or no are those of the second class; with more, and with labels, they are means over the
/// classes or labels for which they exist, each against the rest.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Evaluation {
    /// Share of records whose class is right, or of labels on the right side; absent for numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accuracy: Option<f64>,
    /// Mean of the usual loss of the task.
    #[serde(deserialize_with = "number")]
    pub loss: f64,
    /// Number of records.
    pub records: usize,
    /// Accuracy by class, which is its recall, or by label; `null` for a class that no record has.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub by_class: BTreeMap<String, Option<f64>>,
    /// Share of right answers among those that name the class or label; `null` if none does.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub precision: BTreeMap<String, Option<f64>>,
    /// Share of the records of a class or with a label that are found; `null` if there is none.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub recall: BTreeMap<String, Option<f64>>,
    /// Of how many records of each class each class is said; absent for labels, for numbers and beyond
    /// [`MOST_CONFUSED`](super::MOST_CONFUSED) classes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub confusion: Vec<Confusion>,
    /// Mean of the recalls of all classes; for labels, of the recalls of yes and of no.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub balanced_accuracy: Option<f64>,
    /// Harmonic mean of precision and recall.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub f1: Option<f64>,
    /// Area under the curve of true against false positives.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub area_under_curve: Option<f64>,
    /// Area under the curve of precision against recall.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub area_under_precision_recall: Option<f64>,
    /// How far stated probabilities are from shares that came true: expected calibration error in 15 bins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calibration_error: Option<f64>,
    /// Classes or labels that some records have and the model names for none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub never_predicted: Vec<String>,
    /// Records for which an output is no number.
    #[serde(skip_serializing_if = "is_zero")]
    pub not_numbers: usize,
    /// Mean absolute error of each number, in its own units; `null` if an output is no number.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", deserialize_with = "numbers")]
    pub mean_absolute_error: BTreeMap<String, f64>,
    /// Root of the mean squared error of each number, in its own units; `null` if an output is no number.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", deserialize_with = "numbers")]
    pub root_mean_squared_error: BTreeMap<String, f64>,
}

/// What is said of the records of one class.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confusion {
    /// The class.
    pub class: String,
    /// How often each class is said of its records, in the order of all classes.
    pub said: Vec<u64>,
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// A number; JSON has none for a loss that is not finite, and says `null`.
fn number<'de, D: Deserializer<'de>>(deserializer: D) -> std::result::Result<f64, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or(f64::NAN))
}

/// Numbers by name, likewise.
fn numbers<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> std::result::Result<BTreeMap<String, f64>, D::Error> {
    let read = BTreeMap::<String, Option<f64>>::deserialize(deserializer)?;
    Ok(read.into_iter().map(|(name, number)| (name, number.unwrap_or(f64::NAN))).collect())
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

    /// What an accuracy alone would hide, in sentences.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        if !self.never_predicted.is_empty() {
            warnings.push(format!(
                "never predicted: {}; an accuracy says nothing of such a class. Class weights or a threshold help \
                 (docs/measures.md)",
                self.never_predicted.join(", ")
            ));
        }
        if self.not_numbers > 0 {
            warnings.push(format!(
                "the outputs of {} of {} records are not numbers: the first class is taken for them, and there are no areas",
                self.not_numbers, self.records
            ));
        }
        warnings
    }
}
