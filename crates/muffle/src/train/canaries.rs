//! Records planted in the training data to measure what a run gives away.

use super::evaluation::Evaluator;
use super::validation::content_hash;
use crate::bounds::{OneRun, needed_guesses};
use crate::data::{Dataset, Split, View};
use crate::error::{Error, Result};
use crate::run::CanaryMeasurement;
use muffle_accounting::Adjacency;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::HashMap;

/// How many canaries, and what is done with them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CanaryChoice {
    /// Records that are expected to become canaries: each does with this probability over the public number of records.
    pub canaries: u64,
    /// Coins that are guessed: half of them heads, half tails. Fixed before anything is seen.
    pub guesses: u64,
    /// Of the lower bound.
    #[serde(default = "confidence")]
    pub confidence: f64,
    /// Chooses canaries, labels and coins.
    pub seed: u64,
}

fn confidence() -> f64 {
    0.95
}

impl CanaryChoice {
    /// Refuses what could show nothing.
    pub(super) fn check(
        &self,
        records: u64,
        adjacency: Adjacency,
        components: bool,
    ) -> std::result::Result<(), String> {
        if !(self.confidence > 0.0 && self.confidence < 1.0) {
            return Err(format!("audit.confidence = {} is outside (0, 1)", self.confidence));
        }
        // Guesses come in pairs.
        let needed = needed_guesses(self.confidence).next_multiple_of(2);
        if self.guesses < needed || !self.guesses.is_multiple_of(2) {
            return Err(format!(
                "audit.guesses = {}: with confidence {} even right guesses show nothing unless there are {needed} of them, or \
                 more; their number has to be even",
                self.guesses, self.confidence
            ));
        }
        if self.canaries < self.guesses {
            return Err(format!(
                "audit.canaries = {} are too few for {} guesses; plant at least as many as are guessed",
                self.canaries, self.guesses
            ));
        }
        if self.canaries > records / 2 {
            return Err(format!(
                "audit.canaries = {} is more than half of the {records} records; plant fewer",
                self.canaries
            ));
        }
        if adjacency != Adjacency::AddRemove {
            return Err(format!(
                "audit: canaries are in or out by coins, which is what add_remove protects, not {adjacency}; set sampler = \
                 \"poisson\" or \"balls-and-bins\""
            ));
        }
        if components {
            return Err(
                "audit: canaries are planted in the records as they are; remove principal_components"
                    .to_string(),
            );
        }
        Ok(())
    }
}

/// Training records of which some have a wrong label and are there or not by a coin of their own.
///
/// # Source
/// Steinke, Nasr and Jagielski 2023, "Privacy auditing with one (1) training run"; mislabelled records as canaries, since a
/// model that gets them right has learned them by heart.
///
/// # Guarantee
/// Whether a record is a canary, which label it has then, and whether it is there are coins of that record alone: one record
/// more or less changes nothing for the others, so that what is proved of the planted set holds for the records as they were. A
/// canary is sampled, clipped and noised like any other record, so planting changes no sensitivity. The bound that is measured
/// is a statistic of the coins and of these records, outside every guarantee; it is for their holder.
pub struct Canaries {
    training: Dataset,
    /// The canaries alone, in and out, with their wrong labels.
    planted: Dataset,
    present: Vec<bool>,
    choice: CanaryChoice,
}

impl Canaries {
    /// Plants canaries by the choice's seed, the same again after an interruption; `records` is the public number of records.
    pub fn plant(dataset: &Dataset, choice: CanaryChoice, records: u64) -> Result<Canaries> {
        let split = dataset.train().split();
        let coins = Coins { choice, records, classes: dataset.classes().len() };
        let fates = coins.toss(&dataset.train());
        let (mut training, mut canaries, mut present) = (Vec::new(), Vec::new(), Vec::new());
        for (record, fate) in fates.into_iter().enumerate() {
            let Some(Canary { label, inside }) = fate else {
                training.push((record, split.labels()[record]));
                continue;
            };
            canaries.push((record, label));
            present.push(inside);
            if inside {
                training.push((record, label));
            }
        }
        if (canaries.len() as u64) < choice.guesses {
            return Err(Error::Plan(format!(
                "audit.canaries = {}: coins made canaries of fewer records than the {} that are guessed; plant more, or correct \
                 records = {records}",
                choice.canaries, choice.guesses
            )));
        }
        let with = |records: &[(usize, u32)], test: Split| {
            let (positions, labels): (Vec<usize>, Vec<u32>) = records.iter().copied().unzip();
            dataset.with_splits(Split::classified(split.select(&positions).records, labels), test)
        };
        let test = dataset.test().split().clone();
        Ok(Canaries {
            training: with(&training, test.clone())?,
            planted: with(&canaries, test)?,
            present,
            choice,
        })
    }

    /// What to train on.
    pub fn training(&self) -> &Dataset {
        &self.training
    }

    /// The losses of a model on the canaries that are out and on those that are in.
    pub fn losses(&self, evaluator: &mut Evaluator, parameters: &[f32]) -> Result<[Vec<f64>; 2]> {
        let losses = evaluator.losses(parameters, &self.planted.train())?;
        Ok([false, true].map(|wanted| {
            let coins = losses.iter().zip(&self.present).filter(|(_, present)| **present == wanted);
            coins.map(|(loss, _)| f64::from(*loss)).collect()
        }))
    }

    /// Guesses the coins from the loss of the model on every canary: low for those it was trained on.
    pub fn measure(
        &self,
        evaluator: &mut Evaluator,
        parameters: &[f32],
        delta: f64,
    ) -> Result<CanaryMeasurement> {
        let losses = evaluator.losses(parameters, &self.planted.train())?;
        let correct = correct_guesses(&losses, &self.present, self.choice.guesses as usize);
        let CanaryChoice { guesses, confidence, .. } = self.choice;
        let canaries = self.present.len() as u64;
        let epsilon = OneRun { canaries, guesses, correct }.epsilon(delta, confidence);
        Ok(CanaryMeasurement { canaries, guesses, correct, epsilon, delta, confidence })
    }
}

/// A record with a wrong label.
struct Canary {
    label: u32,
    /// Whether it is trained on.
    inside: bool,
}

/// The coins of every record.
struct Coins {
    choice: CanaryChoice,
    /// The public number of records.
    records: u64,
    classes: usize,
}

impl Coins {
    /// What becomes of every record; `None` if it stays as it is.
    fn toss(&self, records: &View) -> Vec<Option<Canary>> {
        // Equal records are told apart by their number, so that their coins are independent.
        let mut seen: HashMap<[u8; 32], u64> = HashMap::new();
        let split = records.split();
        (0..split.len())
            .map(|record| {
                let content = content_hash(records, record);
                let number = seen.entry(content).or_default();
                *number += 1;
                self.fate(content, *number, split.labels()[record])
            })
            .collect()
    }

    fn fate(&self, content: [u8; 32], number: u64, label: u32) -> Option<Canary> {
        let mut hash = Sha256::new();
        hash.update(b"muffle canary");
        hash.update(self.choice.seed.to_le_bytes());
        hash.update(content);
        hash.update(number.to_le_bytes());
        let digest = hash.finalize();
        let word = |place: usize| u64::from_le_bytes(std::array::from_fn(|byte| digest[8 * place + byte]));
        let chosen = (word(0) as f64) < self.choice.canaries as f64 / self.records as f64 * 2f64.powi(64);
        chosen.then(|| {
            let shift = 1 + word(1) % (self.classes as u64 - 1);
            let label = ((u64::from(label) + shift) % self.classes as u64) as u32;
            Canary { label, inside: word(2) % 2 == 1 }
        })
    }
}

/// How many guesses are right if the lowest half of `guesses` losses is said to be in, and the highest half out.
fn correct_guesses(losses: &[f32], present: &[bool], guesses: usize) -> u64 {
    let mut order: Vec<usize> = (0..losses.len()).collect();
    order.sort_by(|one, two| losses[*one].total_cmp(&losses[*two]));
    let said_in = order[..guesses / 2].iter().filter(|canary| present[**canary]).count();
    let said_out = order[order.len() - guesses / 2..].iter().filter(|canary| !present[**canary]).count();
    (said_in + said_out) as u64
}

/// The choice of so many canaries, a fifth of which are guessed.
pub fn usual_choice(canaries: u64, seed: u64) -> CanaryChoice {
    let guesses = (canaries / 5).next_multiple_of(2);
    CanaryChoice { canaries, guesses, confidence: confidence(), seed }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Records, Scaling, Visibility};
    use muffle_nn::Shape;

    /// Records of two values each, known by the first of them, from a number up.
    fn dataset(records: std::ops::Range<u32>) -> Dataset {
        let split = Split::classified(
            Records::Floats(records.clone().flat_map(|record| [record as f32, 0.5]).collect()),
            records.map(|record| record % 3).collect(),
        );
        let classes = ["a", "b", "c"].map(String::from).to_vec();
        let scaling = Scaling::identity("as they are");
        Dataset::new("small", Shape::Vector(2), classes, scaling, Visibility::Private, split.clone(), split)
            .unwrap()
    }

    const CHOICE: CanaryChoice = CanaryChoice { canaries: 40, guesses: 10, confidence: 0.95, seed: 3 };

    /// The records that are trained on, with their labels.
    fn trained_on(canaries: &Canaries) -> Vec<(u32, u32)> {
        let training = canaries.training().train().split();
        let Records::Floats(values) = &training.records else { panic!("values stay what they are") };
        let records = values.chunks(2).map(|record| record[0] as u32);
        records.zip(training.labels().iter().copied()).collect()
    }

    /// 40 of 100 expected: standard deviation 4.9 of their number, and five of them are allowed.
    #[test]
    fn canaries_are_in_or_out_and_have_a_wrong_label() {
        let canaries = Canaries::plant(&dataset(0..100), CHOICE, 100).unwrap();
        let (all, inside) = (canaries.present.len(), canaries.present.iter().filter(|it| **it).count());
        assert!((16..64).contains(&all), "{all} canaries");
        assert!(inside > all / 5 && inside < all - all / 5, "{inside} of {all} by fair coins");
        let training = trained_on(&canaries);
        assert_eq!(training.len(), 100 - all + inside);
        assert_eq!(canaries.training().test().split(), dataset(0..100).test().split());
        assert_eq!(training.iter().filter(|(record, label)| record % 3 != *label).count(), inside);
        assert_eq!(trained_on(&Canaries::plant(&dataset(0..100), CHOICE, 100).unwrap()), training);
    }

    /// What is proved of the planted records is to hold for the records as they were.
    #[test]
    fn one_record_more_changes_nothing_for_the_others() {
        let trained_on = |records| trained_on(&Canaries::plant(&dataset(records), CHOICE, 100).unwrap());
        let mut without_first = trained_on(0..100);
        without_first.retain(|(record, _)| *record > 0);
        assert_eq!(without_first, trained_on(1..100));
        let mut without_last = trained_on(0..100);
        without_last.retain(|(record, _)| *record < 99);
        assert_eq!(without_last, trained_on(0..99));
    }

    /// Equal records have coins of their own.
    #[test]
    fn equal_records_are_not_all_in_or_all_out() {
        let split = Split::classified(Records::Floats(vec![0.5; 200]), vec![1; 100]);
        let equal = dataset(0..100).with_splits(split.clone(), split).unwrap();
        let canaries = Canaries::plant(&equal, CHOICE, 100).unwrap();
        assert!(canaries.present.contains(&true) && canaries.present.contains(&false));
        assert!(canaries.present.len() < 70);
    }

    #[test]
    fn guesses_by_hand() {
        let losses = [0.1, 5.0, 0.2, 4.0, 1.0, 2.0];
        let present = [true, false, false, true, true, false];
        // Said to be in: 0 and 2; out: 1 and 3. Right: 0 and 1.
        assert_eq!(correct_guesses(&losses, &present, 4), 2);
        assert_eq!(correct_guesses(&losses, &present, 2), 2);
    }

    #[test]
    fn too_few_canaries_are_refused_with_the_number_needed() {
        let check = |choice: CanaryChoice| choice.check(100, Adjacency::AddRemove, false).unwrap_err();
        assert_eq!(CHOICE.check(100, Adjacency::AddRemove, false), Ok(()));
        let strict = check(CanaryChoice { guesses: 6, confidence: 0.999, ..CHOICE });
        assert!(strict.contains("unless there are 10 of them"), "{strict}");
        assert!(check(CanaryChoice { canaries: 8, ..CHOICE }).contains("too few for 10 guesses"));
        assert!(check(CanaryChoice { canaries: 60, ..CHOICE }).contains("more than half"));
        assert!(CHOICE.check(100, Adjacency::ZeroOut, false).unwrap_err().contains("poisson"));
    }
}
