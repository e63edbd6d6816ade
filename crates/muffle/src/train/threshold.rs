//! From which probability on the second of two classes is said.

use super::evaluation::{Evaluator, probability};
use super::validation::ValidationRecords;
use crate::data::View;
use crate::error::Result;
use serde::{Deserialize, Serialize};

/// The probability from which on the second of two classes is said, or how it is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "threshold is a number between 0 and 1, or { goal = \"balanced-accuracy\" or \"f1\" or { recall = 0.8 }, records = { .. } }"
)]
pub enum Threshold {
    /// A public number.
    Number(f64),
    /// What serves a goal best on some records, after the last step.
    Chosen(ChosenThreshold),
}

/// A threshold that is chosen after the last step.
///
/// # Guarantee
/// It depends on the released model and on public records, or on counts of held-out records that were released once and paid for
/// (R6); choosing by them is free (R9).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChosenThreshold {
    /// What it is to serve.
    pub goal: Goal,
    /// On which records.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub records: Option<ValidationRecords>,
}

/// What a threshold is to serve.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Goal {
    /// The largest mean of the recalls of both classes.
    BalancedAccuracy,
    /// The largest harmonic mean of precision and recall of the second class.
    F1,
    /// The largest threshold at which so large a share of the second class is found.
    Recall(f64),
}

impl Threshold {
    pub(super) fn check(&self) -> std::result::Result<(), String> {
        match self {
            Threshold::Number(number) if !(*number > 0.0 && *number < 1.0) => {
                Err(format!("threshold = {number} is outside (0, 1)"))
            }
            Threshold::Number(_) => Ok(()),
            Threshold::Chosen(ChosenThreshold { goal: Goal::Recall(recall), .. })
                if !(*recall > 0.0 && *recall <= 1.0) =>
            {
                Err(format!("threshold.goal.recall = {recall} is outside (0, 1]"))
            }
            Threshold::Chosen(ChosenThreshold { records: None, .. }) => Err(
                "threshold.records is missing: a threshold that is chosen on private records gives something away of them. Declare \
                 the test split public with records = { kind = \"public-test\" }, or pay for a part of the training records with \
                 records = { kind = \"held-out\", share = 0.1, epsilon = 0.2 }"
                    .to_string(),
            ),
            Threshold::Chosen(ChosenThreshold { records: Some(records), .. }) => records.check("threshold"),
        }
    }

    /// The number, if it is given.
    pub fn number(&self) -> Option<f64> {
        match self {
            Threshold::Number(number) => Some(*number),
            Threshold::Chosen(_) => None,
        }
    }

    /// The choice, if there is one to make.
    pub fn chosen(&self) -> Option<ChosenThreshold> {
        match self {
            Threshold::Number(_) => None,
            Threshold::Chosen(chosen) => Some(*chosen),
        }
    }
}

/// Bins of probabilities: a public grid.
pub(super) const BINS: usize = 50;

/// How many records of each of two classes have a probability of the second class in each bin: those of the first class, then those
/// of the second.
///
/// # Guarantee
/// A record counts in one bin whatever its outputs are: one more or less changes the numbers by one in L1 norm.
pub(super) fn histogram(evaluator: &mut Evaluator, parameters: &[f32], view: &View) -> Result<Vec<f64>> {
    let mut counts = vec![0.0; 2 * BINS];
    evaluator.for_each(parameters, view, |index, outputs| {
        // What is no number becomes zero.
        let bin = (probability(outputs[1] - outputs[0]) * BINS as f64) as usize;
        counts[view.label(index) as usize * BINS + bin.min(BINS - 1)] += 1.0;
    })?;
    Ok(counts)
}

/// The threshold that serves a goal best by such counts, with noise or without: the lower end of a bin, the nearest to one half of
/// several, as its bin.
pub(super) fn choose(counts: &[f64], goal: Goal) -> usize {
    let (others, ours) = counts.split_at(BINS);
    let above = |counts: &[f64], bin: usize| counts[bin..].iter().sum::<f64>();
    let share = |part: f64, whole: f64| (part / whole.max(1.0)).clamp(0.0, 1.0);
    let value = |bin: usize| {
        let (found, wrong) = (above(ours, bin), above(others, bin));
        let (ours, others) = (above(ours, 0), above(others, 0));
        let recall = share(found, ours);
        match goal {
            Goal::BalancedAccuracy => recall - share(wrong, others),
            Goal::F1 => share(2.0 * found, found + wrong + ours),
            // All that reach it serve alike but for their height; of the others the one that comes nearest.
            Goal::Recall(wanted) if recall >= wanted => 1.0 + bin as f64,
            Goal::Recall(_) => recall,
        }
    };
    let distance = |bin: usize| bin.abs_diff(BINS / 2);
    let better = |best: usize, bin: usize| {
        let (one, other) = (value(best), value(bin));
        if other > one || (other == one && distance(bin) < distance(best)) { bin } else { best }
    };
    (1..BINS).reduce(better).expect("there are bins")
}

/// The lower end of a bin.
pub(super) fn lower_end(bin: usize) -> f64 {
    bin as f64 / BINS as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Others: 60 at 0.1, 30 at 0.4, 10 at 0.7. Ours: 2 at 0.1, 8 at 0.5, 10 at 0.9.
    fn counts() -> Vec<f64> {
        let mut counts = vec![0.0; 2 * BINS];
        for (class, share, count) in
            [(0, 0.1, 60.0), (0, 0.4, 30.0), (0, 0.7, 10.0), (1, 0.1, 2.0), (1, 0.5, 8.0), (1, 0.9, 10.0)]
        {
            counts[class * BINS + (share * BINS as f64) as usize] = count;
        }
        counts
    }

    /// Above one half: 18 of 20 and 10 of 100. Above 0.72: 10 of 20 and none.
    #[test]
    fn the_threshold_serves_its_goal() {
        for (goal, threshold) in [
            (Goal::BalancedAccuracy, 0.5),
            (Goal::F1, 0.5),
            (Goal::Recall(0.5), 0.9),
            (Goal::Recall(0.6), 0.5),
            (Goal::Recall(0.95), 0.1),
        ] {
            assert_eq!(lower_end(choose(&counts(), goal)), threshold, "{goal:?}");
        }
        // Nothing but noise: some threshold, and one that is none of the ends.
        let noise: Vec<f64> = (0..2 * BINS).map(|bin| ((bin * 37) % 11) as f64 - 5.0).collect();
        for goal in [Goal::BalancedAccuracy, Goal::F1, Goal::Recall(1.0)] {
            assert!((1..BINS).contains(&choose(&noise, goal)));
        }
        assert_eq!(choose(&[0.0; 2 * BINS], Goal::F1), BINS / 2);
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_the_remedy() {
        let held_out = |share, epsilon| Some(ValidationRecords::HeldOut { share, epsilon });
        let chosen = |goal, records| Threshold::Chosen(ChosenThreshold { goal, records });
        for (threshold, part) in [
            (Threshold::Number(1.0), "threshold = 1 is outside (0, 1)"),
            (Threshold::Number(f64::NAN), "threshold = NaN"),
            (chosen(Goal::F1, None), "records = { kind = \"public-test\" }"),
            (chosen(Goal::Recall(0.0), Some(ValidationRecords::PublicTest {})), "threshold.goal.recall = 0"),
            (chosen(Goal::F1, held_out(1.0, 0.1)), "threshold.records.share = 1"),
            (chosen(Goal::F1, held_out(0.1, 0.0)), "threshold.records.epsilon = 0"),
        ] {
            let message = threshold.check().unwrap_err();
            assert!(message.contains(part), "{message}");
        }
        assert_eq!(chosen(Goal::Recall(0.8), held_out(0.1, 0.1)).check(), Ok(()));
    }
}
