//! The student: learns from the answers and from the rest of the public pool, and is all that is published.

use super::propagation::{Opinion, Propagation};
use crate::data::{View, Views};
use crate::error::Result;
use crate::learner::{Batches, Learner, Pupil};
use crate::train::Evaluator;
use muffle_nn::{Examples, Network, Target};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// How the student learns from records without an answer: after a while on answers alone, the classes it is sure of become the targets
/// of augmented views. Answers are noisy: one that the student is sure to be wrong is set aside until it changes its mind.
///
/// # Source
/// Sohn et al. 2020, "FixMatch": the class that a model is sure of without augmentation is the target with it. The model that is
/// asked is the moving average of the weights where there is one, as in Tarvainen and Valpola 2017, "Mean teachers are better role
/// models", and what it says can be averaged over its looks, as in Laine and Aila 2017, "Temporal ensembling for semi-supervised
/// learning".
///
/// # Guarantee
/// The pool is public and the answers are released: all of it is post-processing (R9).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SelfTraining {
    /// Records of a batch that the teachers have answered, once there are others.
    pub answered: usize,
    /// Steps on answers alone, or on what they say of their neighbours, before the first look.
    pub begin: u64,
    /// Steps between looks at the pool.
    pub refresh: u64,
    /// From which probability on the student takes its own word.
    pub confidence: f64,
    /// The share of its earlier opinions in the one that counts.
    #[serde(default)]
    pub memory: f64,
    /// How answers spread over the pool before the first step; they do not if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub propagation: Option<Propagation>,
}

impl SelfTraining {
    /// Whether the pool is looked at before this step.
    fn looks(&self, step: u64) -> bool {
        step >= self.begin && (step - self.begin).is_multiple_of(self.refresh)
    }

    /// Checks the range of every number by itself.
    pub(super) fn check(&self, batch_size: usize) -> std::result::Result<(), String> {
        if !(1..=batch_size).contains(&self.answered) {
            return Err(format!("self_training.answered = {} is outside 1 to the batch size", self.answered));
        }
        if self.refresh == 0 {
            return Err("self_training.refresh = 0 is outside 1 and above".to_string());
        }
        if !(0.0..1.0).contains(&self.memory) {
            return Err(format!("self_training.memory = {} is outside [0, 1)", self.memory));
        }
        if !(0.0..=1.0).contains(&self.confidence) {
            return Err(format!("self_training.confidence = {} is outside [0, 1]", self.confidence));
        }
        let prefixed = |reason| format!("self_training.propagation.{reason}");
        self.propagation.as_ref().map_or(Ok(()), |propagation| propagation.check().map_err(prefixed))
    }
}

/// Records of the pool with classes that are answered or guessed.
struct Labelled<'a> {
    views: Views<'a>,
    classes: Vec<u32>,
}

impl Examples for Labelled<'_> {
    fn len(&self) -> usize {
        self.views.len()
    }

    fn read(&self, index: usize, input: &mut [f32]) {
        self.views.read(index, input);
    }

    fn target(&self, index: usize) -> Target<'_> {
        Target::Class(self.classes[index])
    }

    fn identity(&self, record: usize) -> u64 {
        self.views.identity(record)
    }
}

/// What a student learns from.
pub(super) struct Lesson<'a> {
    /// How it learns.
    pub learner: &'a Learner,
    /// How it learns from records without an answer, if it does.
    pub self_training: Option<&'a SelfTraining>,
    /// The network.
    pub network: &'a Arc<Network>,
    /// The public pool.
    pub pool: &'a View<'a>,
    /// Answers, by the position of their record. There have to be some.
    pub answers: &'a [(usize, u32)],
    /// Threads; the machine's cores if absent.
    pub threads: Option<usize>,
}

/// A record of the pool and its class.
type Labels = Vec<(usize, u32)>;

impl Lesson<'_> {
    /// Trains a student.
    pub fn study(&self, seed: u64) -> Result<Vec<f32>> {
        let learner = self.learner;
        let mut pupil = Pupil::new(learner, self.network.clone(), self.threads, seed)?;
        let mut evaluator = Evaluator::new(self.network.clone(), self.threads)?;
        let (trusted, guesses) = self.spread()?;
        let mut answered = Deck::new(trusted, seed);
        let mut guessed = Deck::of_some(guesses, seed ^ 1);
        let mut opinions = Opinions::new(self.pool.len(), self.network.output().len());
        while pupil.step() < learner.steps {
            let step = pupil.step();
            if let Some(rule) = self.self_training.filter(|rule| rule.looks(step)) {
                opinions.hear(&evaluator.outputs(pupil.result(), self.pool)?, rule.memory);
                let (trusted, guesses) = self.sort(opinions.classes(), rule.confidence);
                answered = Deck::new(trusted, seed ^ step);
                guessed = Deck::of_some(guesses, seed ^ (step + 1));
            }
            let mut batch: Labels = Vec::with_capacity(learner.batch_size);
            if let (Some(guessed), Some(rule)) = (&mut guessed, self.self_training) {
                batch.extend(guessed.take(learner.batch_size - rule.answered));
            }
            batch.extend(answered.take(learner.batch_size - batch.len()));
            let (records, classes): (Vec<usize>, Vec<u32>) = batch.into_iter().unzip();
            let augmentation = learner.augmentation.augmentation();
            let views = Views::new(self.pool.select(records), augmentation, seed, step, 1);
            pupil.learn(&Labelled { views, classes })?;
        }
        Ok(pupil.result().to_vec())
    }

    /// What the student begins with: answers and, where they spread, classes of records that are like those of the answers.
    fn spread(&self) -> Result<(Labels, Labels)> {
        let Some(rule) = self.self_training.and_then(|rule| rule.propagation.as_ref()) else {
            return Ok((self.answers.to_vec(), Vec::new()));
        };
        let classes = self.network.output().len();
        let opinions = rule.opinions(self.pool, self.answers, classes, self.threads)?;
        let sure = rule.sure(&opinions);
        Ok(self.sort(opinions.into_iter(), sure))
    }

    /// The answers that the opinions do not contradict, and what they are sure of beside them.
    fn sort(&self, opinions: impl Iterator<Item = Opinion>, confidence: f64) -> (Labels, Labels) {
        let mut answers = vec![None; self.pool.len()];
        self.answers.iter().for_each(|(record, class)| answers[*record] = Some(*class));
        let (mut trusted, mut guesses) = (Vec::new(), Vec::new());
        for (record, (class, probability)) in opinions.enumerate() {
            match answers[record] {
                Some(answer) if answer == class || probability < confidence => trusted.push((record, answer)),
                _ if probability >= confidence => guesses.push((record, class)),
                _ => {}
            }
        }
        // Who doubts everything has learned nothing.
        (if trusted.is_empty() { self.answers.to_vec() } else { trusted }, guesses)
    }
}

/// What a student thinks of every record of the pool: probabilities by class, averaged over its looks.
struct Opinions {
    sums: Vec<f64>,
    weight: f64,
    classes: usize,
}

impl Opinions {
    fn new(records: usize, classes: usize) -> Opinions {
        Opinions { sums: vec![0.0; records * classes], weight: 0.0, classes }
    }

    /// Takes in the outputs of one more look, beside this share of what was thought before.
    fn hear(&mut self, outputs: &[f32], memory: f64) {
        for (sums, outputs) in
            self.sums.chunks_exact_mut(self.classes).zip(outputs.chunks_exact(self.classes))
        {
            for (sum, probability) in sums.iter_mut().zip(probabilities(outputs)) {
                *sum = memory * *sum + (1.0 - memory) * f64::from(probability);
            }
        }
        self.weight = memory * self.weight + (1.0 - memory);
    }

    /// The most likely class of every record, and its probability.
    fn classes(&self) -> impl Iterator<Item = Opinion> + '_ {
        self.sums.chunks_exact(self.classes).map(|sums| {
            let better = |best: usize, class: usize| if sums[class] > sums[best] { class } else { best };
            let class = (0..sums.len()).fold(0, better);
            (class as u32, sums[class] / self.weight)
        })
    }
}

/// Labelled records that are dealt out in a random order, again and again.
struct Deck {
    labels: Labels,
    order: Batches,
}

impl Deck {
    /// Of these, which have to be some.
    fn new(labels: Labels, seed: u64) -> Deck {
        let order = Batches::new((0..labels.len()).collect(), seed);
        Deck { labels, order }
    }

    /// The same of what may be none.
    fn of_some(labels: Labels, seed: u64) -> Option<Deck> {
        (!labels.is_empty()).then(|| Deck::new(labels, seed))
    }

    fn take(&mut self, count: usize) -> impl Iterator<Item = (usize, u32)> {
        self.order.take(count).into_iter().map(|place| self.labels[place])
    }
}

/// The probabilities that outputs stand for.
pub(super) fn probabilities(outputs: &[f32]) -> Vec<f32> {
    let largest = outputs.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let odds: Vec<f32> = outputs.iter().map(|output| (output - largest).exp()).collect();
    let sum: f32 = odds.iter().sum();
    odds.into_iter().map(|odds| odds / sum).collect()
}

/// The most likely class and its probability.
pub(super) fn most_likely(outputs: &[f32]) -> (u32, f64) {
    let class = crate::train::evaluation::predicted(outputs);
    (class as u32, f64::from(probabilities(outputs)[class]))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Outputs are logarithms of odds: of three to one, then of one to three.
    #[test]
    fn opinions_are_averaged_over_looks() {
        let mut opinions = Opinions::new(1, 2);
        opinions.hear(&[3f32.ln(), 0.0], 0.5);
        let said = |opinions: &Opinions| opinions.classes().next().unwrap();
        assert_eq!(said(&opinions).0, 0);
        assert!((said(&opinions).1 - 0.75).abs() < 1e-6);
        opinions.hear(&[0.0, 3f32.ln()], 0.5);
        // The second look counts twice as much as the first: (0.25 + 2·0.75)/3.
        assert_eq!(said(&opinions).0, 1);
        assert!((said(&opinions).1 - 7.0 / 12.0).abs() < 1e-6, "{:?}", said(&opinions));
        // Without memory only the last look counts.
        opinions.hear(&[3f32.ln(), 0.0], 0.0);
        assert!((said(&opinions).1 - 0.75).abs() < 1e-6);
    }
}
