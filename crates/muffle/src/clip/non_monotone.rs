//! Gradients brought to about the same length, but for the smallest.

use super::{Bounds, Clip, MARGIN, quotient};

/// Scales a record's gradient by C/(‖g‖ + r/(‖g‖ + r)).
///
/// # Source
/// Xia et al. 2022, "Differentially private learning with per-sample adaptive clipping" (DP-PSAC).
///
/// # Guarantee
/// Adding or removing one record changes the sum by less than the threshold in L2 norm: ‖g‖/(‖g‖ + r/(‖g‖ + r)) < 1.
#[derive(Clone, Debug, PartialEq)]
pub struct NonMonotone {
    bounds: Bounds,
    radius: f64,
}

impl NonMonotone {
    /// A rule with this threshold and radius r.
    ///
    /// # Panics
    /// If one of them is not a positive finite number.
    pub fn new(threshold: f64, radius: f64) -> NonMonotone {
        assert!(radius > 0.0 && radius.is_finite(), "a radius of {radius} is not a positive finite number");
        NonMonotone { bounds: Bounds::whole(threshold), radius }
    }
}

impl Clip for NonMonotone {
    fn bounds(&self) -> &Bounds {
        &self.bounds
    }

    fn factors(&self, squared_norms: &[f64], factors: &mut [f32]) {
        let norm = squared_norms.iter().sum::<f64>().sqrt();
        let length = norm + self.radius / (norm + self.radius);
        factors.fill(quotient(MARGIN * self.bounds.thresholds()[0], length));
    }
}
