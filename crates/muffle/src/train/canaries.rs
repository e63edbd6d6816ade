//! Records planted in the training data to measure what a run gives away.

use super::evaluation::Evaluator;
use crate::bounds::{OneRun, needed_guesses};
use crate::data::{Dataset, Split};
use crate::error::Result;
use crate::noise::{Key, Purpose, Stream, Uniform};
use crate::run::CanaryMeasurement;
use muffle_accounting::Adjacency;
use serde::{Deserialize, Serialize};

/// How many canaries, and what is done with them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CanaryChoice {
    /// Records that become canaries.
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
        records: usize,
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
        if self.canaries > records as u64 / 2 {
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
/// A canary is a record like any other: it is sampled, clipped and noised as they are, so planting changes no sensitivity.
/// The bound that is measured is a statistic of the coins and of these records; it is for their holder.
pub struct Canaries {
    training: Dataset,
    /// The canaries alone, in and out, with their wrong labels.
    planted: Dataset,
    present: Vec<bool>,
    choice: CanaryChoice,
}

impl Canaries {
    /// Plants canaries by the choice's seed: the same again after an interruption.
    pub fn plant(dataset: &Dataset, choice: CanaryChoice) -> Result<Canaries> {
        let split = dataset.train().split();
        let mut uniform = Uniform::new(&Key::from_seed(choice.seed), Stream::new(Purpose::Audit, 0));
        let mut order: Vec<usize> = (0..split.len()).collect();
        uniform.shuffle(&mut order);
        let (chosen, others) = order.split_at(choice.canaries as usize);
        let mut others = others.to_vec();
        // Which records are left is no news; in which order they stand would be.
        others.sort_unstable();
        let classes = dataset.classes().len();
        let mut mislabelled = |record: &usize| {
            ((*record, uniform.wrong_class(split.labels()[*record], classes)), uniform.chance(0.5))
        };
        let (canaries, present): (Vec<(usize, u32)>, Vec<bool>) = chosen.iter().map(&mut mislabelled).unzip();
        let honest = others.into_iter().map(|record| (record, split.labels()[record]));
        let planted =
            canaries.iter().zip(&present).filter(|(_, present)| **present).map(|(canary, _)| *canary);
        let training: Vec<(usize, u32)> = honest.chain(planted).collect();
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
        let CanaryChoice { canaries, guesses, confidence, .. } = self.choice;
        let epsilon = OneRun { canaries, guesses, correct }.epsilon(delta, confidence);
        Ok(CanaryMeasurement { canaries, guesses, correct, epsilon, delta, confidence })
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

    fn dataset(records: usize) -> Dataset {
        let split = Split::classified(
            Records::Floats((0..2 * records).map(|value| value as f32).collect()),
            (0..records as u32).map(|record| record % 3).collect(),
        );
        let classes = ["a", "b", "c"].map(String::from).to_vec();
        let scaling = Scaling::identity("as they are");
        Dataset::new("small", Shape::Vector(2), classes, scaling, Visibility::Private, split.clone(), split)
            .unwrap()
    }

    const CHOICE: CanaryChoice = CanaryChoice { canaries: 40, guesses: 10, confidence: 0.95, seed: 3 };

    #[test]
    fn canaries_are_in_or_out_and_have_a_wrong_label() {
        let (dataset, canaries) = (dataset(100), Canaries::plant(&dataset(100), CHOICE).unwrap());
        let inside = canaries.present.iter().filter(|present| **present).count();
        assert!(inside > 5 && inside < 35, "{inside} of 40 by fair coins");
        let training = canaries.training().train().split();
        assert_eq!(training.len(), 60 + inside);
        assert_eq!(canaries.training().test().split(), dataset.test().split());
        let Records::Floats(values) = &training.records else { panic!("values stay what they are") };
        // A record is known by its first value; its label was that number over two, modulo three.
        let wrong = training
            .labels()
            .iter()
            .enumerate()
            .filter(|(place, label)| (values[2 * place] as u32 / 2) % 3 != **label)
            .count();
        assert_eq!(wrong, inside);
        let again = Canaries::plant(&dataset, CHOICE).unwrap();
        assert_eq!((&again.present, again.training().train().split()), (&canaries.present, training));
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
