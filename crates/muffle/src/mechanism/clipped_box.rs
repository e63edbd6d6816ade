//! Sums of gradients of which every coordinate has a bound of its own.

use super::written_out::{shorten, sum_bounded};
use super::{Clipped, Mechanism, Released, Unprotected, event, runs};
use crate::clip::{Bounds, MARGIN};
use crate::noise::GaussianNoise;
use muffle_accounting::Event;
use muffle_nn::{Engine, Examples, Loss, Result};

/// Coordinates that get their noise at a time.
const AT_A_TIME: usize = 256;

/// A sum of per-example gradients, each within a box. It is not private yet and shows nothing of itself.
#[must_use = "a clipped sum is of use only to a release"]
pub struct ClippedBox<'a> {
    engine: &'a mut Engine,
    limits: Vec<f32>,
}

/// Sums the gradients of all examples, coordinate `i` of each moved into ±`limits[i]`.
///
/// Every gradient is written out: the engine has to be one for [`Purpose::Plain`](muffle_nn::Purpose::Plain).
///
/// # Guarantee
/// Adding or removing one example, with all its [views](Examples::views), changes coordinate `i` of the sum by at most
/// `limits[i]`; an example whose gradient is not finite contributes zero.
///
/// # Panics
/// If there is not one positive finite limit for every parameter.
pub fn clip_box<'a>(
    engine: &'a mut Engine,
    parameters: &[f32],
    examples: &dyn Examples,
    loss: Loss,
    seed: u64,
    limits: Vec<f32>,
) -> Result<(ClippedBox<'a>, Unprotected)> {
    assert_eq!(limits.len(), parameters.len(), "one limit for every parameter");
    assert!(
        limits.iter().all(|limit| limit.is_normal() && *limit > 0.0),
        "limits are positive finite numbers"
    );
    let bound = |_: usize, gradient: &mut [f32]| {
        for (value, limit) in gradient.iter_mut().zip(&limits) {
            let limit = MARGIN as f32 * limit;
            *value = value.clamp(-limit, limit);
        }
    };
    let unprotected = sum_bounded(engine, parameters, examples, loss, seed, &bound)?;
    Ok((ClippedBox { engine, limits }, unprotected))
}

/// [`clip`](super::clip) at one threshold for an engine that writes gradients out, so that a method can begin with a norm
/// and go on with a box.
///
/// # Guarantee
/// As [`clip`](super::clip) with [`Flat`](crate::clip::Flat).
///
/// # Panics
/// If the threshold is not a positive finite number.
pub fn clip_written_out<'a>(
    engine: &'a mut Engine,
    parameters: &[f32],
    examples: &dyn Examples,
    loss: Loss,
    seed: u64,
    threshold: f64,
) -> Result<(Clipped<'a>, Unprotected)> {
    let bounds = Bounds::whole(threshold);
    let bound = |_: usize, gradient: &mut [f32]| shorten(gradient, threshold);
    let unprotected = sum_bounded(engine, parameters, examples, loss, seed, &bound)?;
    Ok((Clipped::new(engine, bounds), unprotected))
}

impl Mechanism {
    /// Adds Gaussian noise to every coordinate in proportion to its limit, τ = σ·√m·s for m coordinates, and divides by the
    /// public constant.
    ///
    /// # Source
    /// Xu et al. 2020 (ADADP), Lemma 9 in the numbering of Li et al. 2024; rule R5 with every coordinate a group.
    ///
    /// # Guarantee
    /// Σ s²/τ² = 1/`noise_multiplier`²: one Gaussian mechanism with that multiplier, whatever the limits. A multiplier of
    /// zero adds nothing, and its event is [`Event::NonPrivate`].
    ///
    /// # Panics
    /// As [`release`](Mechanism::release).
    pub fn release_box<'a>(
        &mut self,
        clipped: ClippedBox<'a>,
        noise_multiplier: f64,
    ) -> (Released<'a>, Event) {
        let ClippedBox { engine, limits } = clipped;
        let scale = noise_multiplier * (limits.len() as f64).sqrt();
        let deviations: Vec<f32> =
            limits.iter().map(|limit| runs::single(scale * f64::from(*limit), noise_multiplier)).collect();
        let stream = self.next_stream();
        let noise = GaussianNoise::new(&self.key, stream).draws(self.draws);
        let share = 1.0 / self.divisor;
        engine.for_each_chunk(&|first, chunk: &mut [f32]| {
            let mut normals = [0.0; AT_A_TIME];
            for (part, values) in chunk.chunks_mut(AT_A_TIME).enumerate() {
                let begin = first + part * AT_A_TIME;
                let normals = &mut normals[..values.len()];
                noise.fill(begin as u64, 1.0, normals);
                let noisy = values.iter_mut().zip(normals).zip(&deviations[begin..]);
                noisy
                    .for_each(|((value, normal), deviation)| *value = share * (*value + deviation * *normal));
            }
        });
        (Released { engine }, event(noise_multiplier, Event::gaussian))
    }
}
