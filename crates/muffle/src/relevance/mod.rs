//! Private average relevance: what matters to a network's output, over all records, at the price of one Laplace mechanism.
//!
//! The network has to be public, or itself the result of private training: its parameters are taken as known.

mod mean;
mod regions;
mod shares;
#[cfg(test)]
mod tests;
mod unit;

pub use mean::{ORIGIN, PURPOSE, Released, release};
pub use regions::{Regions, Until};
pub use shares::shares;

use crate::mechanism::BoundedVector;
use muffle_accounting::Adjacency;
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

/// [`sum()`] for a release with Laplace noise.
///
/// # Guarantee
/// One record changes the numbers by at most 1 in L1 norm.
pub fn bounded(
    propagation: &Propagation,
    parameters: &[f32],
    records: &dyn Examples,
    of: Of,
) -> Result<BoundedVector> {
    Ok(BoundedVector::l1(sum(propagation, parameters, records, of)?, 1.0))
}

/// The noise multiplier at which a release of [`bounded`] relevance costs `epsilon` by itself.
///
/// # Guarantee
/// A record that is replaced moves the sum by 2 at most, one that comes, goes or is blanked by 1; the scale of the noise is
/// that over epsilon.
pub fn noise_multiplier(epsilon: f64, adjacency: Adjacency) -> f64 {
    adjacency.sensitivity() / epsilon
}
