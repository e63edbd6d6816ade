//! The student: learns from the answers and from the rest of the public pool, and is all that is published.

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
/// models".
///
/// # Guarantee
/// The pool is public and the answers are released: all of it is post-processing (R9).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SelfTraining {
    /// Records of a batch that the teachers have answered, once there are others.
    pub answered: usize,
    /// Steps on answers alone.
    pub begin: u64,
    /// Steps between looks at the pool.
    pub refresh: u64,
    /// From which probability on the student takes its own word.
    pub confidence: f64,
}

impl SelfTraining {
    /// Checks the range of every number by itself.
    pub(super) fn check(&self, batch_size: usize) -> std::result::Result<(), String> {
        if !(1..=batch_size).contains(&self.answered) {
            return Err(format!("self_training.answered = {} is outside 1 to the batch size", self.answered));
        }
        if self.refresh == 0 {
            return Err("self_training.refresh = 0 is outside 1 and above".to_string());
        }
        match (0.0..=1.0).contains(&self.confidence) {
            true => Ok(()),
            false => Err(format!("self_training.confidence = {} is outside [0, 1]", self.confidence)),
        }
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
    pub self_training: Option<SelfTraining>,
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
        let mut answered = Deck::new(self.answers.to_vec(), seed);
        let mut guessed: Option<Deck> = None;
        while pupil.step() < learner.steps {
            let step = pupil.step();
            if self.looks(step) {
                let (trusted, guesses) = self.look(&mut evaluator, pupil.result())?;
                answered = Deck::new(trusted, seed ^ step);
                guessed = (!guesses.is_empty()).then(|| Deck::new(guesses, seed ^ (step + 1)));
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

    /// Whether the pool is looked at before this step.
    fn looks(&self, step: u64) -> bool {
        let due = |rule: SelfTraining| step >= rule.begin && (step - rule.begin).is_multiple_of(rule.refresh);
        self.self_training.is_some_and(due)
    }

    /// The answers that these weights do not doubt, and what they are sure of beside them.
    fn look(&self, evaluator: &mut Evaluator, parameters: &[f32]) -> Result<(Labels, Labels)> {
        let confidence = self.self_training.map_or(1.0, |rule| rule.confidence);
        let mut answers = vec![None; self.pool.split().len()];
        self.answers.iter().for_each(|(record, class)| answers[*record] = Some(*class));
        let (mut trusted, mut guesses) = (Vec::new(), Vec::new());
        evaluator.for_each(parameters, self.pool, |record, outputs| {
            let (class, probability) = most_likely(outputs);
            match answers[record] {
                Some(answer) if answer == class || probability < confidence => trusted.push((record, answer)),
                _ if probability >= confidence => guesses.push((record, class)),
                _ => {}
            }
        })?;
        // Who doubts everything has learned nothing.
        Ok((if trusted.is_empty() { self.answers.to_vec() } else { trusted }, guesses))
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
