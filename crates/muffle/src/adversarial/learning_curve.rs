//! What records are worth by their number: classifiers that learn from few of them and from many.

use super::generator::Generator;
use super::measure::classify;
use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::learner::{Batches, Learner};
use crate::statistics::Mean;
use muffle_nn::Examples;
use muffle_nn::initialise::SplitMix;

/// How classifiers learn from so many records, generated or real, and on what they are tested. Plain statistics of real records: no
/// epsilon covers them.
///
/// What is random at a point follows from the seed, the number of records and that of the repeat alone: other points change nothing, and
/// curves of several generators are made of the same random numbers.
pub struct LearningCurve<'a> {
    /// Real records: those of the training split to learn from, those of the test split to be tested on.
    pub dataset: &'a Dataset,
    /// How a classifier learns.
    pub classifier: &'a Learner,
    /// Numbers of records.
    pub counts: &'a [usize],
    /// Classifiers for each number, every one with records and first weights of its own.
    pub repeats: u64,
    /// Threads; the machine's cores if absent.
    pub threads: Option<usize>,
    /// Of everything random.
    pub seed: u64,
    /// Is told of every classifier that was tested.
    pub after_each: &'a dyn Fn(),
}

/// A point of a curve.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// Records that each classifier learned from.
    pub count: usize,
    /// The accuracy of each on real test records.
    pub accuracies: Vec<f64>,
    /// Their mean.
    pub mean: Mean,
}

impl LearningCurve<'_> {
    /// Whether classifiers can learn from what a generator makes, and be tested on these records.
    pub fn check(&self, generator: &Generator) -> Result<()> {
        let refuse = |reason: String| Err(Error::file(&generator.path, reason));
        if generator.asked.classes == 0 {
            return refuse(
                "the generator knows no classes, so that no classifier can learn from its records; train it on records with classes, \
                 with generator.conditional = true and without generator.class"
                    .to_string(),
            );
        }
        let (made, real) = (&generator.schema, self.dataset);
        if made.shape() != real.input() || made.task.classes() != real.classes() {
            return refuse(format!(
                "its records have the shape {} and {} classes, those of `{}` the shape {} and {}; take a generator of the same data",
                made.shape(),
                made.task.classes().len(),
                real.name(),
                real.input(),
                real.classes().len()
            ));
        }
        Ok(())
    }

    /// By records that are generated anew for every classifier.
    pub fn of_generated(&self, generator: &mut Generator) -> Result<Vec<Point>> {
        self.check(generator)?;
        let made = |count, seed| generator.in_place_of(self.dataset, count, seed);
        self.points(usize::MAX, made)
    }

    /// By training records that are drawn anew for every classifier; it ends where there are no more of them.
    pub fn of_real(&self) -> Result<Vec<Point>> {
        let (train, test) = (self.dataset.train(), self.dataset.test());
        let drawn = |count, seed| {
            let positions = Batches::new((0..train.len()).collect(), seed).take(count);
            Ok(self.dataset.with_splits(train.split().select(&positions), test.split().clone())?)
        };
        self.points(train.len(), drawn)
    }

    /// All points of at most so many records, which are made from a number and a seed.
    fn points(
        &self,
        most: usize,
        mut records: impl FnMut(usize, u64) -> Result<Dataset>,
    ) -> Result<Vec<Point>> {
        let classes = self.dataset.classes().len();
        let (_, network) = self.classifier.network(self.dataset.input(), classes)?;
        // Neighbouring seeds would have repeats in common if they were taken as they are.
        let seed = SplitMix::new(self.seed).bits();
        let mut points = Vec::new();
        for &count in self.counts.iter().filter(|count| **count <= most) {
            let mut accuracies = Vec::new();
            for repeat in 0..self.repeats {
                let mut seeds = SplitMix::new(seed ^ (count as u64).rotate_left(32) ^ repeat);
                let learned_from = records(count, seeds.bits())?;
                let (tested, _) =
                    classify(self.classifier, &network, &learned_from, self.threads, seeds.bits())?;
                accuracies.push(tested.accuracy.expect("records with classes have an accuracy"));
                (self.after_each)();
            }
            let mean = Mean::of(&accuracies).map_err(|error| Error::Plan(error.to_string()))?;
            points.push(Point { count, accuracies, mean });
        }
        Ok(points)
    }
}
