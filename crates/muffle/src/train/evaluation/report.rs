//! Everything that was measured: by class, with intervals and curves, and by group.

use super::answers::Answers;
use super::calibration::Calibration;
use super::groups::{GroupedBy, Grouping};
use super::question::Question;
use super::ranking::{Area, precision_recall_with_interval, roc_with_interval};
use super::share::Share;
use super::summary::Evaluation;
use super::values::Values;
use serde::Serialize;

/// Everything that was measured on a split. Plain statistics of its records: no guarantee covers them.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Report {
    /// One figure for each measure.
    #[serde(flatten)]
    pub summary: Evaluation,
    /// The probability from which on the second of two classes is said; `null` for the most likely class.
    pub threshold: Option<f64>,
    /// How many records of each class, row by row, were taken for each class; nothing for labels and numbers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub confusion: Vec<Vec<u64>>,
    /// Each class or label against the rest.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<ClassReport>,
    /// By group of a column.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub groups: Option<GroupedBy>,
}

/// One class or label against the rest. `null` stands for a figure that these records do not have.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClassReport {
    /// Its name.
    pub name: String,
    /// How many records have it.
    pub records: u64,
    /// Of how many it is said.
    pub predicted: u64,
    /// Share of right answers among those that name it.
    pub precision: Option<Share>,
    /// Share of its records that are found.
    pub recall: Option<Share>,
    /// Harmonic mean of both.
    pub f1: Option<f64>,
    /// Of true against false positives, with the interval of DeLong.
    pub area_under_curve: Option<Area>,
    /// Of precision against recall, with a logit interval.
    pub area_under_precision_recall: Option<Area>,
    /// Stated probabilities beside what came true.
    pub calibration: Option<Calibration>,
}

impl ClassReport {
    fn of(question: &Question) -> ClassReport {
        let (counts, pairs) = (question.all_counts(), question.pairs());
        let pairs = pairs.as_deref();
        ClassReport {
            name: question.name.clone(),
            records: counts.positives(),
            predicted: counts.said(),
            precision: counts.precision(),
            recall: counts.recall(),
            f1: counts.f1(),
            area_under_curve: pairs.and_then(roc_with_interval),
            area_under_precision_recall: pairs.and_then(precision_recall_with_interval),
            calibration: pairs.and_then(Calibration::of),
        }
    }
}

impl Report {
    pub(super) fn of_answers(answers: &Answers, loss: Evaluation, grouping: Option<&Grouping>) -> Report {
        Report {
            // Which class is taken for which stands below, for any number of classes.
            summary: Evaluation { confusion: Vec::new(), ..answers.summary(loss) },
            threshold: answers.decision.threshold(),
            confusion: if answers.classes { answers.confusion() } else { Vec::new() },
            classes: answers.questions.iter().map(ClassReport::of).collect(),
            groups: grouping.map(|grouping| grouping.of_answers(answers)),
        }
    }

    pub(super) fn of_values(values: &Values, loss: Evaluation, grouping: Option<&Grouping>) -> Report {
        Report {
            summary: values.summary(loss),
            groups: grouping.map(|grouping| grouping.of_values(values)),
            ..Report::default()
        }
    }
}
