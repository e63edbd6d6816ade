//! What is known of every method in one place: what its paper prints and what was reached here, and what a step of it takes.

use crate::methods::Mode;
use serde::{Deserialize, Serialize};

/// Accuracies that were measured, beside those in print: each is a row of docs/results.md or of the page it names.
static ACCURACIES: &str = include_str!("../../../docs/accuracies.jsonl");

/// The last `muffle bench --workload w1 --methods NAMES --json`.
static STEPS: &str = include_str!("../../../docs/steps.jsonl");

/// An accuracy that was reached here, in per cent of the test records.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Accuracy {
    /// Method.
    pub method: String,
    /// Its form.
    pub mode: Mode,
    /// Data set.
    pub data: String,
    /// Proved of a sound form, claimed of a published one; none if the paper claims none.
    pub epsilon: Option<f64>,
    /// What the paper prints.
    pub paper: Option<f64>,
    /// The epsilon that the paper prints it for, where that is another.
    pub paper_epsilon: Option<f64>,
    /// The mean over seeds.
    pub here: f64,
    /// Standard deviation over seeds; none of a single one.
    pub deviation: Option<f64>,
    /// Seeds.
    pub seeds: u32,
    /// How long training was, beside the paper's.
    pub length: String,
    /// The table in print.
    pub source: String,
}

/// What a step of a form takes, over one of `dp-sgd`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct StepCost {
    /// Method.
    pub method: String,
    /// Its form.
    pub mode: Mode,
    /// Median step time over that of `dp-sgd`.
    pub ratio: f64,
}

/// All accuracies of a form.
pub fn accuracies(method: &str, mode: Mode) -> Vec<Accuracy> {
    let all = ACCURACIES.lines().filter_map(|line| serde_json::from_str::<Accuracy>(line).ok());
    all.filter(|found| found.method == method && found.mode == mode).collect()
}

/// What a step of a form takes, if it was measured.
pub fn step_cost(method: &str, mode: Mode) -> Option<StepCost> {
    let mut all = STEPS.lines().filter_map(|line| serde_json::from_str::<StepCost>(line).ok());
    all.find(|found| found.method == method && found.mode == mode)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::find_method;

    /// A line that could not be read would be left out in silence.
    #[test]
    fn every_line_is_about_a_form_that_there_is() {
        for line in ACCURACIES.lines() {
            let found: Accuracy = serde_json::from_str(line).unwrap();
            let (_, entry) = find_method(&found.method).unwrap();
            assert!(entry.modes.contains(&found.mode), "{line}");
            assert!((0.0..=100.0).contains(&found.here) && found.seeds > 0, "{line}");
            assert_eq!(found.deviation.is_none(), found.seeds == 1, "{line}");
            assert!(accuracies(&found.method, found.mode).contains(&found));
        }
        for line in STEPS.lines() {
            let found: StepCost = serde_json::from_str(line).unwrap();
            assert_eq!(step_cost(&found.method, found.mode), Some(found), "{line}");
        }
        assert!(ACCURACIES.lines().count() > 20 && STEPS.lines().count() > 20);
    }
}
