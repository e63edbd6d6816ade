//! What went through noise, and what did not.

use muffle_accounting::Event;
use muffle_nn::{Engine, Outcome};

/// What was computed on the way and is **not** private: the loss and the examples left out.
///
/// It is for whoever holds the records. Publishing it, or steering training by it, is outside every guarantee (R6).
#[derive(Debug)]
pub struct Unprotected(pub Outcome);

/// A gradient that went through noise: free to use (R9).
pub struct Released<'a> {
    engine: &'a mut Engine,
    event: Event,
    counts: Vec<f64>,
}

impl<'a> Released<'a> {
    pub(super) fn new(engine: &'a mut Engine, event: Event) -> Released<'a> {
        Released { engine, event, counts: Vec::new() }
    }

    pub(super) fn with_counts(self, counts: Vec<f64>) -> Released<'a> {
        Released { counts, ..self }
    }

    /// The noisy mean gradient.
    pub fn gradient(&self) -> &[f32] {
        self.engine.gradient()
    }

    /// What was released, before sampling.
    pub fn event(&self) -> &Event {
        &self.event
    }

    /// The noisy counts that were released with it, if any were taken.
    pub fn counts(&self) -> &[f64] {
        &self.counts
    }

    /// Scales the gradient, for instance back to a length: post-processing (R9).
    pub fn scale(&mut self, factor: f32) {
        self.engine
            .for_each_chunk(&|_, chunk: &mut [f32]| chunk.iter_mut().for_each(|value| *value *= factor));
    }

    /// Adds numbers that owe nothing to the records but through earlier releases: post-processing (R9).
    ///
    /// # Panics
    /// If there is not one for every coordinate.
    pub fn add(&mut self, values: &[f32], factor: f32) {
        assert_eq!(values.len(), self.engine.network().parameter_len(), "a number for every coordinate");
        self.engine.for_each_chunk(&|first, chunk: &mut [f32]| {
            let values = &values[first..][..chunk.len()];
            chunk.iter_mut().zip(values).for_each(|(sum, value)| *sum += factor * value);
        });
    }

    /// The threads that made it, for the work behind it.
    pub fn pool(&self) -> &rayon::ThreadPool {
        self.engine.pool()
    }

    /// A gradient made up for a test of what comes after release.
    #[cfg(test)]
    pub(crate) fn made_up(engine: &'a mut Engine) -> Released<'a> {
        Released::new(engine, Event::NonPrivate)
    }
}
