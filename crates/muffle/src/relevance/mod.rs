//! Private average relevance: what matters to a network's output, over all records, at the price of one Laplace mechanism.
//!
//! The network has to be public, or itself the result of private training: its parameters are taken as known.

#[cfg(test)]
mod tests;
mod unit;

use crate::mechanism;
use crate::noise::{Key, LaplaceNoise, Purpose, Stream, coarsen};
use muffle_accounting::{Adjacency, Event};
use muffle_nn::relevance::{Propagation, Relevance};
use muffle_nn::{Examples, Result};

/// Records at a time: enough to keep all threads busy, few enough to stay small in memory.
const BLOCK: usize = 1024;

/// Whose relevance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// The values of the input.
    Inputs,
    /// The neurons.
    Neurons,
}

/// The sum of the records' absolute relevances, each record's brought to an L1 norm of one. **Not private.**
///
/// A record of several [views](Examples::views) counts with the mean over them.
///
/// # Guarantee
/// Adding or removing one record changes the sum by at most 1 in L1 norm, rounding included: records add in double
/// precision, in blocks, n of them round by at most n·(1024 + n/1024)·2⁻⁵³, for a million 2·10⁻⁷, and a record's margin is
/// 10⁻⁵. A record whose relevance is not finite, or zero everywhere, contributes nothing. The sum does not depend on the
/// number of threads.
pub fn sum(
    propagation: &Propagation,
    parameters: &[f32],
    records: &dyn Examples,
    of: Of,
) -> Result<Vec<f64>> {
    let share = 1.0 / records.views() as f64;
    let width = match of {
        Of::Inputs => propagation.network().input().len(),
        Of::Neurons => propagation.neurons().count(),
    };
    let pick = |relevance: Relevance| match of {
        Of::Inputs => relevance.inputs,
        Of::Neurons => relevance.neurons,
    };
    let mut sum = vec![0.0; width];
    for first in (0..records.len()).step_by(BLOCK) {
        let range = first..records.len().min(first + BLOCK);
        let mut block = vec![0.0; width];
        for relevance in propagation.relevances(parameters, records, range)? {
            unit::add(&mut block, share, &pick(relevance));
        }
        sum.iter_mut().zip(block).for_each(|(sum, value)| *sum += value);
    }
    Ok(sum)
}

/// The sum of relevances with Laplace noise of scale `noise_multiplier` on every coordinate.
///
/// The noise comes from the key's stream for relevance at step 0, which must serve no other release.
///
/// # Source
/// Dwork, McSherry, Nissim and Smith 2006, "Calibrating noise to sensitivity in private data analysis", on relevances of
/// bounded L1 norm.
///
/// # Guarantee
/// One Laplace mechanism with the given noise multiplier over all records (a sampling rate of one): see [`sum()`]; the event
/// says so. A multiplier of zero adds nothing, and its event is [`Event::NonPrivate`].
///
/// # Panics
/// If the multiplier is negative, not finite, or lost in single precision.
pub fn release(
    propagation: &Propagation,
    parameters: &[f32],
    records: &dyn Examples,
    of: Of,
    noise_multiplier: f64,
    key: &Key,
) -> Result<(Vec<f64>, Event)> {
    let scale = noise_multiplier as f32;
    assert!(
        scale.is_normal() && scale > 0.0 || noise_multiplier == 0.0,
        "a noise multiplier of {noise_multiplier} is no scale of noise"
    );
    let sum = sum(propagation, parameters, records, of)?;
    let mut noise = vec![0.0f32; sum.len()];
    LaplaceNoise::new(key, Stream::new(Purpose::RelevanceNoise, 0)).add(0, scale, &mut noise);
    let noisy = sum.iter().zip(noise).map(|(sum, noise)| coarsen(sum + f64::from(noise), noise_multiplier));
    Ok((noisy.collect(), mechanism::event(noise_multiplier, Event::laplace)))
}

/// The noise multiplier at which a [`release`] costs `epsilon` by itself.
///
/// # Guarantee
/// A record that is replaced moves the sum by 2 at most, one that comes, goes or is blanked by 1; the scale of the noise is
/// that over epsilon.
pub fn noise_multiplier(epsilon: f64, adjacency: Adjacency) -> f64 {
    adjacency.sensitivity() / epsilon
}
