//! Sums of gradients of which every coordinate has a bound of its own.

use super::clipped_in_units::check_units;
use super::written_out::{shorten, sum_bounded};
use super::{Clipped, ClippedInUnits, Unprotected};
use crate::clip::{Bounds, MARGIN};
use muffle_nn::{Engine, Examples, Loss, Result};

/// Sums the gradients of all examples, coordinate `i` of each moved into ±`limits[i]`.
///
/// The engine has to be one for [`Purpose::Plain`](muffle_nn::Purpose::Plain).
///
/// # Guarantee
/// Adding or removing one example, with all its [views](Examples::views), changes coordinate `i` of the sum by at most
/// `limits[i]`, and so the sum over the limits by at most √m in L2 norm for m coordinates, to which the noise adds a
/// [`MARGIN`]. An example whose gradient is not finite contributes zero.
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
) -> Result<(ClippedInUnits<'a>, Unprotected)> {
    check_units(engine, &limits);
    let outcome = engine.limited_sum_apart(parameters, examples, loss, seed, &limits)?;
    let threshold = (limits.len() as f64).sqrt() / MARGIN;
    Ok((ClippedInUnits::new(engine, limits, threshold), Unprotected(outcome)))
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
