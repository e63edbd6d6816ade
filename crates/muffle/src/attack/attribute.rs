//! Attribute inference: a column of a record that the attacker does not know, from all the others and the model's answer.

use super::Entry;
use super::membership::Suspects;
use crate::bounds::interval;
use crate::data::{Records, Split, View};
use crate::error::{Error, Result};
use crate::train::Evaluator;
use muffle_nn::Examples;
use std::ops::Range;

/// Its row of the table.
pub static ENTRY: Entry = Entry {
    name: "attribute inference",
    command: "attribute",
    paper: "Fredrikson, Lantz, Jha, Lin, Page, Ristenpart, Privacy in pharmacogenetics, USENIX Security; members beside others \
            after Yeom et al. 2018",
    year: 2014,
    question: "what does the model tell of a column that is not known?",
    needs: "the attacker knows all columns of a row but one, which has categories, and its class, and sees the model's \
            probabilities",
    steps: "ask the model about the row with every category in turn, and say the one with the largest product of the model's \
            probability of the class and the share of the category in the test split",
    figure: "how often that is right, of training rows, of test rows, and by always saying the most frequent category, with \
             intervals of Clopper and Pearson at 95 %. Being right of everybody is what the model learned of the population, \
             and no epsilon forbids it; what the model gives away of its records is the difference between the first two",
};

/// How often the attacker was right.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Guesses {
    /// Records whose value was guessed.
    pub right: u64,
    /// Records that were asked about.
    pub records: u64,
}

impl Guesses {
    /// Share of records whose value was guessed.
    pub fn rate(&self) -> f64 {
        self.right as f64 / self.records as f64
    }

    /// Ends of the interval of Clopper and Pearson for this share, at a confidence of 95 %.
    pub fn interval(&self) -> [f64; 2] {
        interval(self.right, self.records)
    }
}

/// What came of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AttributeInference {
    /// Of records that the model was trained on.
    pub members: Guesses,
    /// Of records that it never saw: what the attack learns of anybody.
    pub others: Guesses,
    /// By always saying the most frequent value, of the members.
    pub most_frequent: Guesses,
}

/// Guesses a column with categories: the value v with the largest P(v) · p(class of the record | the record with v), where p
/// is the model's probability and P the shares of the values in the test split.
///
/// The attacker knows all other columns and the class. Being right is not the harm: an attacker who is right of everybody has
/// learned of the population. The harm is being right more often of members than of others.
///
/// # Source
/// Fredrikson, Lantz, Jha, Lin, Page and Ristenpart 2014, "Privacy in pharmacogenetics", Figure 2; the comparison of
/// members with others after Yeom et al. 2018, §5.
pub fn infer_attribute(
    evaluator: &mut Evaluator,
    parameters: &[f32],
    suspects: &Suspects,
    column: &str,
) -> Result<AttributeInference> {
    let dataset = suspects.members.dataset();
    let inputs = dataset.category_inputs(column).map_err(Error::Plan)?;
    let shares = shares(&dataset.test().categories(&inputs), inputs.len());
    let most =
        (0..shares.len()).fold(0, |most, value| if shares[value] > shares[most] { value } else { most });
    let mut guess = |view: &View| -> Result<Guesses> {
        let true_values = view.categories(&inputs);
        let mut best = vec![(f64::NEG_INFINITY, 0); view.len()];
        for (value, share) in shares.iter().enumerate() {
            let with = with_value(view, &inputs, value);
            let changed = dataset.with_splits(with.clone(), with)?;
            let losses = evaluator.losses(parameters, &changed.test())?;
            for (best, loss) in best.iter_mut().zip(losses) {
                let score = share.ln() - f64::from(loss);
                if score > best.0 {
                    *best = (score, value);
                }
            }
        }
        Ok(count(best.iter().map(|(_, guess)| *guess), &true_values))
    };
    let (members, others) = (guess(&suspects.members)?, guess(&suspects.others)?);
    let always = std::iter::repeat(most);
    let most_frequent = count(always, &suspects.members.categories(&inputs));
    Ok(AttributeInference { members, others, most_frequent })
}

fn count(guesses: impl Iterator<Item = usize>, truth: &[usize]) -> Guesses {
    let right = guesses.zip(truth).filter(|(guess, truth)| guess == *truth).count();
    Guesses { right: right as u64, records: truth.len() as u64 }
}

/// The share of each value, with one record of each kind added so that none is impossible.
fn shares(values: &[usize], kinds: usize) -> Vec<f64> {
    let mut counts = vec![1.0; kinds];
    values.iter().for_each(|value| counts[*value] += 1.0);
    let all: f64 = counts.iter().sum();
    counts.into_iter().map(|count| count / all).collect()
}

/// The records of a view, all with the same value.
fn with_value(view: &View, inputs: &Range<usize>, value: usize) -> Split {
    let width = view.dataset().input().len();
    let places: Vec<usize> = (0..view.len()).map(|index| view.record(index)).collect();
    let Split { records, targets } = view.split().select(&places);
    let mut records = records.into_floats();
    for record in records.chunks_exact_mut(width) {
        record[inputs.clone()].fill(0.0);
        record[inputs.start + value] = 1.0;
    }
    Split { records: Records::Floats(records), targets }
}
