//! The private step: per-example gradients are clipped, summed, and released with noise.
//!
//! [`Clipped`] and [`Released`] can be made only here. A clipped sum is consumed by its release, and an optimizer takes
//! nothing but a released gradient, so that using a raw gradient does not compile.

use crate::noise::{GaussianNoise, Key, Purpose, Stream};
use muffle_nn::{Engine, Examples, Loss, Outcome};

/// A sum of per-example gradients, each of bounded norm. It is not private yet and shows nothing of itself.
pub struct Clipped<'a> {
    engine: &'a mut Engine,
    threshold: f32,
    outcome: Outcome,
}

/// A gradient that went through noise: free to use.
pub struct Released<'a> {
    engine: &'a Engine,
}

/// Sums the gradients of all examples, each scaled to an L2 norm of at most `threshold`.
///
/// # Source
/// Abadi et al. 2016, Algorithm 1.
///
/// # Guarantee
/// Adding or removing one example changes the sum by at most `threshold` in L2 norm; an example whose gradient is not
/// finite contributes zero.
pub fn clip<'a>(
    engine: &'a mut Engine,
    parameters: &[f32],
    examples: &dyn Examples,
    loss: Loss,
    seed: u64,
    threshold: f32,
) -> muffle_nn::Result<Clipped<'a>> {
    let weigh = |squared_norms: &[f32], factors: &mut [f32]| factors.fill(factor(squared_norms, threshold));
    let outcome = engine.weighted_sum(parameters, examples, loss, seed, &weigh)?;
    Ok(Clipped { engine, threshold, outcome })
}

/// The factor that brings a gradient with these squared tensor norms down to the threshold.
fn factor(squared_norms: &[f32], threshold: f32) -> f32 {
    let norm = squared_norms.iter().map(|norm| f64::from(*norm)).sum::<f64>().sqrt();
    // Norms are computed in single precision by another way than the sum: stay this much below the threshold.
    const MARGIN: f64 = 1.0 - 1e-5;
    (MARGIN * f64::from(threshold) / norm.max(MARGIN * f64::from(threshold))) as f32
}

impl<'a> Clipped<'a> {
    /// Adds Gaussian noise of standard deviation `noise_multiplier · threshold` to every coordinate, once, and divides by
    /// a public constant.
    ///
    /// # Guarantee
    /// One Gaussian mechanism with the given noise multiplier, whatever the number of examples, none included.
    pub fn release(
        self,
        key: &Key,
        step: u64,
        noise_multiplier: f32,
        divisor: f32,
    ) -> (Released<'a>, Outcome) {
        let noise = GaussianNoise::new(key, Stream::new(Purpose::GradientNoise, step));
        let deviation = noise_multiplier * self.threshold;
        self.engine.for_each_chunk(&|first, chunk: &mut [f32]| {
            noise.add(first as u64, deviation, chunk);
            chunk.iter_mut().for_each(|value| *value /= divisor);
        });
        (Released { engine: self.engine }, self.outcome)
    }
}

impl Released<'_> {
    /// The noisy mean gradient.
    pub fn gradient(&self) -> &[f32] {
        self.engine.gradient()
    }

    /// The threads that made it, for the work behind it.
    pub fn pool(&self) -> &rayon::ThreadPool {
        self.engine.pool()
    }
}
