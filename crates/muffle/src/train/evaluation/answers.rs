//! What a model said of classes or labels.

use super::MOST_CONFUSED;
use super::calibration::Calibration;
use super::decision::{Decision, margins};
use super::question::{Counts, Question};
use super::ranking::{area_under_precision_recall, area_under_roc};
use super::share::Share;
use super::summary::{Confusion, Evaluation};
use muffle_nn::Target;
use std::collections::BTreeMap;

/// One question for each class or label.
pub(super) struct Answers {
    pub questions: Vec<Question>,
    /// Whether a record has one class, and not any number of labels.
    pub classes: bool,
    pub decision: Decision,
}

impl Answers {
    /// Before the first record.
    pub fn new(names: &[String], classes: bool, decision: Decision) -> Answers {
        Answers { questions: names.iter().map(|name| Question::new(name)).collect(), classes, decision }
    }

    /// Notes the outputs for one record.
    pub fn note(&mut self, target: Target, outputs: &[f32]) {
        match target {
            Target::Class(label) => {
                let (said, margins) = (self.decision.class(outputs), margins(outputs));
                for (class, (question, margin)) in self.questions.iter_mut().zip(margins).enumerate() {
                    question.note(margin, class == label as usize, class == said);
                }
            }
            Target::Values(labels) => {
                for (question, (&output, &target)) in
                    self.questions.iter_mut().zip(outputs.iter().zip(labels))
                {
                    question.note(output, target > 0.5, output > 0.0);
                }
            }
            Target::None => {}
        }
    }

    /// Each class with how often it was said of records of each: a row for every true class.
    pub fn confusion(&self) -> Vec<Vec<u64>> {
        let count = |truth: &Question, said: &Question| {
            truth.holds.iter().zip(&said.said).filter(|(holds, said)| **holds && **said).count() as u64
        };
        self.questions
            .iter()
            .map(|truth| self.questions.iter().map(|said| count(truth, said)).collect())
            .collect()
    }

    /// The same with the names of the true classes.
    fn by_class(&self) -> Vec<Confusion> {
        let names = self.questions.iter().map(|question| question.name.clone());
        names.zip(self.confusion()).map(|(class, said)| Confusion { class, said }).collect()
    }

    /// How many answers are right, and of how many: one for each record, or one for each of its labels.
    pub fn right(&self, counts: &[Counts]) -> (u64, u64) {
        let records: u64 = counts.iter().map(Counts::records).sum();
        let right = counts.iter().map(|counts| counts.true_positives).sum::<u64>();
        let rightly_not = counts.iter().map(|counts| counts.true_negatives).sum::<u64>();
        match self.classes {
            true => (right, records / counts.len() as u64),
            false => (right + rightly_not, records),
        }
    }

    /// The question that one figure is about: the second of two classes. All of them otherwise.
    pub fn asked(&self) -> &[Question] {
        match self.classes && self.questions.len() == 2 {
            true => &self.questions[1..],
            false => &self.questions,
        }
    }

    /// One figure for each measure, added to the loss.
    pub fn summary(&self, evaluation: Evaluation) -> Evaluation {
        let counts: Vec<Counts> = self.questions.iter().map(Question::all_counts).collect();
        let (right, all) = self.right(&counts);
        let recalls = || counts.iter().filter_map(|counts| counts.recall());
        let balanced = |counts: &Counts| {
            let specificity = counts.false_positive_rate().map(|rate| 1.0 - rate.share);
            Some(0.5 * (counts.recall()?.share + specificity?))
        };
        let by_name = |figure: &dyn Fn(&Counts) -> Option<f64>| -> BTreeMap<String, Option<f64>> {
            let names = self.questions.iter().map(|question| question.name.clone());
            names.zip(counts.iter().map(figure)).collect()
        };
        let mean_asked = |figure: fn(&[(f32, bool)]) -> Option<f64>| {
            mean(self.asked().iter().filter_map(|question| figure(&question.pairs()?)))
        };
        let share = |share: Share| share.share;
        let never = self.questions.iter().zip(&counts).filter(|(_, it)| it.positives() > 0 && it.said() == 0);
        let numbers = |record: usize| self.questions.iter().any(|question| question.margins[record].is_nan());
        Evaluation {
            accuracy: (all > 0).then(|| right as f64 / all as f64),
            by_class: match self.classes {
                true => by_name(&|counts| counts.recall().map(share)),
                false => by_name(&|counts| counts.accuracy().map(share)),
            },
            precision: by_name(&|counts| counts.precision().map(share)),
            recall: by_name(&|counts| counts.recall().map(share)),
            confusion: if self.classes && self.questions.len() <= MOST_CONFUSED {
                self.by_class()
            } else {
                Vec::new()
            },
            balanced_accuracy: match self.classes {
                true => mean(recalls().map(share)),
                false => mean(counts.iter().filter_map(balanced)),
            },
            f1: mean(self.asked().iter().filter_map(|question| question.all_counts().f1())),
            area_under_curve: mean_asked(area_under_roc),
            area_under_precision_recall: mean_asked(area_under_precision_recall),
            calibration_error: mean_asked(|pairs| Calibration::of(pairs).map(|found| found.error)),
            never_predicted: never.map(|(question, _)| question.name.clone()).collect(),
            not_numbers: (0..evaluation.records).filter(|&record| numbers(record)).count(),
            ..evaluation
        }
    }
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let values: Vec<f64> = values.collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}
