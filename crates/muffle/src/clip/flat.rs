//! One threshold for the whole gradient.

use super::{Bounds, Clip, factor};

/// Scales the gradient of a record as a whole.
///
/// # Source
/// Abadi et al. 2016, Algorithm 1.
///
/// # Guarantee
/// Adding or removing one record changes the sum by at most the threshold in L2 norm.
#[derive(Clone, Debug, PartialEq)]
pub struct Flat {
    bounds: Bounds,
}

impl Flat {
    /// A rule with this threshold.
    ///
    /// # Panics
    /// If the threshold is not a positive finite number.
    pub fn new(threshold: f64) -> Flat {
        Flat { bounds: Bounds::whole(threshold) }
    }
}

impl Clip for Flat {
    fn bounds(&self) -> &Bounds {
        &self.bounds
    }

    fn factors(&self, squared_norms: &[f64], factors: &mut [f32]) {
        factors.fill(factor(squared_norms.iter().sum(), self.bounds.thresholds()[0]));
    }
}
