//! A yes or no about every record: whether it is of a class, or has a label.

use super::share::Share;
use serde::Serialize;

/// What was asked, what is true, and what the model said, record by record.
pub(super) struct Question {
    /// The class or label.
    pub name: String,
    /// The logarithm of the odds of yes.
    pub margins: Vec<f32>,
    /// What is true.
    pub holds: Vec<bool>,
    /// What the model said.
    pub said: Vec<bool>,
}

impl Question {
    /// Before the first record.
    pub fn new(name: &str) -> Question {
        Question { name: name.to_string(), margins: Vec::new(), holds: Vec::new(), said: Vec::new() }
    }

    /// Notes one record.
    pub fn note(&mut self, margin: f32, holds: bool, said: bool) {
        self.margins.push(margin);
        self.holds.push(holds);
        self.said.push(said);
    }

    /// How often it came out which way among some records.
    pub fn counts(&self, records: impl Iterator<Item = usize>) -> Counts {
        let mut counts = Counts::default();
        for record in records {
            *match (self.holds[record], self.said[record]) {
                (true, true) => &mut counts.true_positives,
                (false, true) => &mut counts.false_positives,
                (true, false) => &mut counts.false_negatives,
                (false, false) => &mut counts.true_negatives,
            } += 1;
        }
        counts
    }

    /// The same among all.
    pub fn all_counts(&self) -> Counts {
        self.counts(0..self.holds.len())
    }

    /// Margins with what is true; nothing if a margin is no number, which has no place among others.
    pub fn pairs(&self) -> Option<Vec<(f32, bool)>> {
        let pairs = self.margins.iter().copied().zip(self.holds.iter().copied());
        self.margins.iter().all(|margin| !margin.is_nan()).then(|| pairs.collect())
    }
}

/// How a yes or no came out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Yes, and rightly.
    pub true_positives: u64,
    /// Yes, and wrongly.
    pub false_positives: u64,
    /// No, and wrongly.
    pub false_negatives: u64,
    /// No, and rightly.
    pub true_negatives: u64,
}

impl Counts {
    /// Records of which it is true.
    pub fn positives(&self) -> u64 {
        self.true_positives + self.false_negatives
    }

    /// Records of which the model said yes.
    pub fn said(&self) -> u64 {
        self.true_positives + self.false_positives
    }

    /// All records.
    pub fn records(&self) -> u64 {
        self.positives() + self.negatives()
    }

    fn negatives(&self) -> u64 {
        self.false_positives + self.true_negatives
    }

    /// Share of right answers.
    pub fn accuracy(&self) -> Option<Share> {
        Share::new(self.true_positives + self.true_negatives, self.records())
    }

    /// Share of yeses that are right; `None` if there is no yes.
    pub fn precision(&self) -> Option<Share> {
        Share::new(self.true_positives, self.said())
    }

    /// Share of the true ones that are found, also called true positive rate or sensitivity.
    pub fn recall(&self) -> Option<Share> {
        Share::new(self.true_positives, self.positives())
    }

    /// Share of the others of which the model said yes all the same.
    pub fn false_positive_rate(&self) -> Option<Share> {
        Share::new(self.false_positives, self.negatives())
    }

    /// Share of all records of which the model said yes.
    pub fn positive_rate(&self) -> Option<Share> {
        Share::new(self.said(), self.records())
    }

    /// The harmonic mean of precision and recall; `None` if it is true of no record, and said of none.
    ///
    /// # Source
    /// van Rijsbergen 1979, "Information retrieval", chapter 7, with both alike.
    pub fn f1(&self) -> Option<f64> {
        let either = 2 * self.true_positives + self.false_positives + self.false_negatives;
        (either > 0).then(|| 2.0 * self.true_positives as f64 / either as f64)
    }
}
