//! Sums of gradients of which every coordinate is measured in a unit of its own.

use super::written_out::sum_bounded;
use super::{Mechanism, Released, Unbounded, Unprotected, event, runs};
use crate::clip::factor;
use crate::noise::GaussianNoise;
use crate::optimizer::chunks::CHUNK;
use muffle_accounting::Event;
use muffle_nn::{Engine, Examples, Loss, Result};
use rayon::prelude::*;

/// Coordinates that get their noise at a time.
const AT_A_TIME: usize = 256;

/// A sum of per-example gradients, each of bounded L2 norm when every coordinate is measured in its unit. It is not private
/// yet and shows nothing of itself.
#[must_use = "a clipped sum is of use only to a release"]
pub struct ClippedInUnits<'a> {
    engine: &'a mut Engine,
    units: Vec<f32>,
    threshold: f64,
}

impl<'a> ClippedInUnits<'a> {
    pub(super) fn new(engine: &'a mut Engine, units: Vec<f32>, threshold: f64) -> ClippedInUnits<'a> {
        ClippedInUnits { engine, units, threshold }
    }
}

/// Sums the gradients of all examples, each scaled so that its values over `units` have an L2 norm of at most `threshold`.
///
/// Every gradient is written out: the engine has to be one for [`Purpose::Plain`](muffle_nn::Purpose::Plain).
///
/// # Guarantee
/// Adding or removing one example, with all its [views](Examples::views), changes the sum over the units by at most
/// `threshold` in L2 norm; an example whose gradient is not finite contributes zero.
///
/// # Panics
/// If the threshold is not a positive finite number, or there is not one such unit for every parameter.
pub fn clip_in_units<'a>(
    engine: &'a mut Engine,
    parameters: &[f32],
    examples: &dyn Examples,
    loss: Loss,
    seed: u64,
    units: Vec<f32>,
    threshold: f64,
) -> Result<(ClippedInUnits<'a>, Unprotected)> {
    check_units(engine, &units);
    assert!(
        (threshold as f32).is_normal() && threshold > 0.0,
        "a clip threshold of {threshold} is not a positive finite number"
    );
    let bound = |_: usize, gradient: &mut [f32]| {
        let measured = gradient.iter().zip(&units).map(|(value, unit)| f64::from(*value) / f64::from(*unit));
        let factor = factor(measured.map(|value| value * value).sum(), threshold);
        gradient.iter_mut().for_each(|value| *value *= factor);
    };
    let unprotected = sum_bounded(engine, parameters, examples, loss, seed, &bound)?;
    Ok((ClippedInUnits::new(engine, units, threshold), unprotected))
}

/// Panics unless there is a positive finite unit for every parameter.
pub(super) fn check_units(engine: &Engine, units: &[f32]) {
    assert_eq!(units.len(), engine.network().parameter_len(), "one unit for every parameter");
    let good = |unit: &f32| unit.is_normal() && *unit > 0.0;
    assert!(extremes(engine, units).iter().all(good), "limits and units are positive finite numbers");
}

/// The smallest and the largest of the units, on all threads; if one is not a positive number, then one of the two is not.
fn extremes(engine: &Engine, units: &[f32]) -> [f32; 2] {
    // Positive numbers are in the order of their bits; infinity, NaN and whatever has a sign come behind them.
    let both = |[least, most]: [u32; 2], [first, second]: [u32; 2]| [least.min(first), most.max(second)];
    let bits = |units: &[f32]| units.iter().map(|unit| [unit.to_bits(); 2]).fold([u32::MAX, 0], both);
    let found = engine.pool().install(|| units.par_chunks(CHUNK).map(bits).reduce(|| [u32::MAX, 0], both));
    if units.is_empty() { [1.0; 2] } else { found.map(f32::from_bits) }
}

impl Mechanism {
    /// Adds Gaussian noise to every coordinate in proportion to its unit, τ = σ·C·u for the threshold C, and divides by the
    /// public constant.
    ///
    /// # Source
    /// Xu et al. 2020 (ADADP), Lemma 9 in the numbering of Li et al. 2024: the Gaussian mechanism on the sum over its units.
    ///
    /// # Guarantee
    /// One Gaussian mechanism with the given noise multiplier, whatever the units. A multiplier of zero adds nothing, and its
    /// event is [`Event::NonPrivate`].
    ///
    /// # Panics
    /// As [`release`](Mechanism::release).
    pub fn release_in_units<'a>(
        &mut self,
        clipped: ClippedInUnits<'a>,
        noise_multiplier: f64,
    ) -> (Released<'a>, Event) {
        let ClippedInUnits { engine, units, threshold } = clipped;
        let scale = noise_multiplier * threshold;
        for unit in extremes(engine, &units) {
            runs::single(scale * f64::from(unit), noise_multiplier);
        }
        let released = self.noise_by_coordinate(engine, runs::single(scale, noise_multiplier), &units);
        (released, event(noise_multiplier, Event::gaussian))
    }

    /// [`publish`](Mechanism::publish) with a deviation for every coordinate.
    ///
    /// # Guarantee
    /// None, as there.
    ///
    /// # Panics
    /// If the claim is not one, or there is not one deviation for every parameter.
    pub fn publish_by_coordinate<'a>(
        &mut self,
        sum: Unbounded<'a>,
        deviations: Vec<f32>,
        claim: Event,
    ) -> (Released<'a>, Event) {
        assert!(matches!(claim, Event::Claimed { .. }), "an unproved release is a claim");
        assert_eq!(
            deviations.len(),
            sum.engine.network().parameter_len(),
            "one deviation for every parameter"
        );
        (self.noise_by_coordinate(sum.engine, 1.0, &deviations), claim)
    }

    /// Adds noise of deviation `scale` times the unit to every coordinate, and divides.
    fn noise_by_coordinate<'a>(&mut self, engine: &'a mut Engine, scale: f32, units: &[f32]) -> Released<'a> {
        let stream = self.next_stream();
        let noise = GaussianNoise::new(&self.key, stream).draws(self.draws);
        let share = 1.0 / self.divisor;
        engine.for_each_chunk(&|first, chunk: &mut [f32]| {
            let mut normals = [0.0; AT_A_TIME];
            for (part, values) in chunk.chunks_mut(AT_A_TIME).enumerate() {
                let begin = first + part * AT_A_TIME;
                let normals = &mut normals[..values.len()];
                noise.fill(begin as u64, 1.0, normals);
                let noisy = values.iter_mut().zip(normals).zip(&units[begin..]);
                noisy.for_each(|((value, normal), unit)| {
                    *value = share * (*value + scale * *unit * *normal);
                });
            }
        });
        Released { engine }
    }
}
