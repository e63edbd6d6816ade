//! Relevances of unit length.

use crate::clip::MARGIN;

/// Adds the absolute values, brought to an L1 norm of `share` less a margin; values that are not finite, or all zeros, add
/// nothing.
pub(super) fn add(sum: &mut [f64], share: f64, relevance: &[f32]) {
    let norm: f64 = relevance.iter().map(|value| f64::from(value.abs())).sum();
    // The sum of numbers in single precision does not overflow double precision: it is finite if they are.
    if !norm.is_finite() || norm == 0.0 {
        return;
    }
    let factor = share * MARGIN / norm;
    sum.iter_mut().zip(relevance).for_each(|(sum, value)| *sum += factor * f64::from(value.abs()));
}
