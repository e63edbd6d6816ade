//! Sums as papers print them, without a bound that holds. Their events are claims.

use super::runs::Runs;
use super::{Mechanism, Released};
use crate::ledger::Receipt;
use crate::noise::{GaussianNoise, IntegerNoise, Purpose, Stream};
use muffle_accounting::Event;
use muffle_nn::Engine;

/// Coordinates that get their noise at a time where each has a scale of its own.
const AT_A_TIME: usize = 256;

/// A sum of per-example gradients of which nothing is proved.
#[must_use = "a sum is of use only to a release"]
pub struct Unbounded<'a> {
    pub(super) engine: &'a mut Engine,
}

/// The scale of noise that nobody vouches for.
pub enum Deviations {
    /// One for each tensor; zero adds nothing.
    Tensors(Vec<f32>),
    /// One for each coordinate.
    Coordinates(Vec<f32>),
}

impl Unbounded<'_> {
    /// Number of tensors, for their noise.
    pub fn tensors(&self) -> usize {
        self.engine.network().parameters().len()
    }

    /// L2 norms of the sum's tensors, for papers that scale their noise by them. **Not private.**
    pub fn norms(&self) -> Vec<f64> {
        let sum = self.engine.gradient();
        let norm = |values: &[f32]| values.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>().sqrt();
        self.engine.network().parameters().iter().map(|tensor| norm(&sum[tensor.range.clone()])).collect()
    }

    /// Adds numbers to the coordinates of the sum from one on: noise that a paper makes from what it knows of the sum.
    pub fn add(&mut self, first: usize, values: &[f32]) {
        self.engine.for_each_chunk(&|begin, chunk: &mut [f32]| {
            let end = (first + values.len()).min(begin + chunk.len());
            for place in first.max(begin)..end {
                chunk[place - begin] += values[place - first];
            }
        });
    }

    /// Moves every coordinate of the sum into ± its tensor's limit.
    pub fn clamp(&mut self, limits: &[f32]) {
        let ends: Vec<usize> =
            self.engine.network().parameters().iter().map(|tensor| tensor.range.end).collect();
        self.engine.for_each_chunk(&|first, chunk: &mut [f32]| {
            for (place, value) in chunk.iter_mut().enumerate() {
                let limit = limits[ends.partition_point(|end| *end <= first + place)];
                *value = value.clamp(-limit, limit);
            }
        });
    }
}

/// Laplace noise for numbers of which nothing is proved, by coordinate.
pub struct LaplaceNoise {
    integers: IntegerNoise,
}

/// Integers to a unit: as good as real numbers.
const UNIT: f64 = 1_048_576.0;

impl LaplaceNoise {
    /// Writes noise of this scale for the coordinates from one on.
    pub fn fill(&self, first_coordinate: u64, scale: f64, values: &mut [f64]) {
        values.fill(0.0);
        self.integers.add(first_coordinate, values);
        values.iter_mut().for_each(|value| *value *= scale / UNIT);
    }
}

impl Mechanism {
    /// Laplace noise for papers that add it to inputs and coefficients in a step, beside the release.
    pub fn published_laplace(&self, receipt: &Receipt) -> LaplaceNoise {
        LaplaceNoise { integers: IntegerNoise::laplace(&self.key, receipt.beside(), UNIT) }
    }

    /// Laplace noise for papers that draw it once for each record and use it in every step. The first stream of this purpose is that of
    /// the release before training.
    pub fn published_once(&self) -> LaplaceNoise {
        LaplaceNoise {
            integers: IntegerNoise::laplace(&self.key, Stream::new(Purpose::RelevanceNoise, 1), UNIT),
        }
    }

    /// Adds Laplace noise of a scale that nobody vouches for to numbers of which nothing is proved.
    ///
    /// # Guarantee
    /// None: the receipt is for a claim, or for no privacy at all.
    ///
    /// # Panics
    /// If the receipt is for a mechanism that is proved.
    pub fn publish_numbers(&self, mut values: Vec<f64>, scale: f64, receipt: Receipt) -> Vec<f64> {
        let paid = receipt.release().clone();
        assert!(matches!(paid, Event::Claimed { .. } | Event::NonPrivate), "an unproved release is a claim");
        let (stream, _) = receipt.redeem(&paid);
        let mut noise = vec![0.0; values.len()];
        LaplaceNoise { integers: IntegerNoise::laplace(&self.key, stream, UNIT) }.fill(0, scale, &mut noise);
        values.iter_mut().zip(noise).for_each(|(value, noise)| *value += noise);
        values
    }

    /// Adds noise of a scale that nobody vouches for, as a paper prints it, and divides by the public constant.
    ///
    /// # Guarantee
    /// None: the event is the claim that the receipt is for, and its price is infinite.
    ///
    /// # Panics
    /// If the receipt is for a mechanism that is proved, or there is not one deviation for every tensor or coordinate.
    pub fn publish<'a>(&self, sum: Unbounded<'a>, deviations: &Deviations, receipt: Receipt) -> Released<'a> {
        let claim = receipt.release().clone();
        assert!(matches!(claim, Event::Claimed { .. }), "an unproved release is a claim");
        let (stream, claim) = receipt.redeem(&claim);
        let noise = GaussianNoise::new(&self.key, stream);
        let engine = sum.engine;
        match deviations {
            Deviations::Coordinates(deviations) => {
                let parameters = engine.network().parameter_len();
                assert_eq!(deviations.len(), parameters, "one deviation for every parameter");
                self.add_by_coordinate(engine, &noise, deviations);
            }
            Deviations::Tensors(deviations) => {
                let tensors = engine.network().parameters();
                assert_eq!(deviations.len(), tensors.len(), "one deviation for every tensor");
                let lens: Vec<usize> = tensors.iter().map(|tensor| tensor.range.len()).collect();
                self.add_by_runs(engine, &noise, &Runs::of(deviations.iter().copied(), &lens));
            }
        }
        Released::new(engine, claim)
    }

    /// Divides by the public constant, for a run without privacy.
    ///
    /// # Guarantee
    /// None: the event is [`Event::NonPrivate`], and its price is infinite.
    ///
    /// # Panics
    /// If the receipt is for anything private.
    pub fn divide<'a>(&self, sum: Unbounded<'a>, receipt: Receipt) -> Released<'a> {
        let (_, event) = receipt.redeem(&Event::NonPrivate);
        let mut released = Released::new(sum.engine, event);
        released.scale(1.0 / self.divisor);
        released
    }

    /// Adds noise with the deviation of each stretch of coordinates, and divides.
    fn add_by_runs(&self, engine: &mut Engine, noise: &GaussianNoise, runs: &Runs) {
        let share = 1.0 / self.divisor;
        engine.for_each_chunk(&|first, chunk: &mut [f32]| {
            runs.within(first, chunk, |coordinate, deviation, values| {
                if deviation > 0.0 {
                    noise.add(coordinate, deviation, values);
                }
            });
            chunk.iter_mut().for_each(|value| *value *= share);
        });
    }

    /// Adds noise with a deviation for every coordinate, and divides.
    fn add_by_coordinate(&self, engine: &mut Engine, noise: &GaussianNoise, deviations: &[f32]) {
        let share = 1.0 / self.divisor;
        engine.for_each_chunk(&|first, chunk: &mut [f32]| {
            let mut normals = [0.0; AT_A_TIME];
            for (part, values) in chunk.chunks_mut(AT_A_TIME).enumerate() {
                let begin = first + part * AT_A_TIME;
                let normals = &mut normals[..values.len()];
                noise.fill(begin as u64, 1.0, normals);
                let noisy = values.iter_mut().zip(normals).zip(&deviations[begin..]);
                noisy.for_each(|((value, normal), deviation)| {
                    *value = share * (*value + *deviation * *normal)
                });
            }
        });
    }

    /// Noise for papers that add it to every example of a step; example `e` takes its coordinates from `e` times the number of
    /// parameters on. It has a stream beside that of the release.
    pub fn published_noise(&self, receipt: &Receipt) -> GaussianNoise {
        GaussianNoise::new(&self.key, receipt.beside())
    }
}
