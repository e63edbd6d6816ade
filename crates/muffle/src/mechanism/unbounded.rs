//! Sums as papers print them, without a bound that holds. Their events are claims.

use super::runs::Runs;
use super::{Mechanism, Released};
use crate::ledger::Receipt;
use crate::noise::GaussianNoise;
use muffle_accounting::Event;
use muffle_nn::Engine;

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

impl Mechanism {
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
        let noise = self.gaussian(stream);
        let engine = sum.engine;
        match deviations {
            Deviations::Coordinates(deviations) => {
                let parameters = engine.network().parameter_len();
                assert_eq!(deviations.len(), parameters, "one deviation for every parameter");
                self.add_by_coordinate(engine, &noise, 1.0, deviations);
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

    /// Noise for papers that add it to every example of a step; example `e` takes its coordinates from `e` times the number of
    /// parameters on. It has a stream beside that of the release.
    pub fn published_noise(&self, receipt: &Receipt) -> GaussianNoise {
        GaussianNoise::new(&self.key, receipt.beside())
    }
}
