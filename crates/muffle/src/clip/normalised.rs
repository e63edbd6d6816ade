//! Every gradient brought to about the same length.

use super::{Bounds, Clip, MARGIN, quotient};

/// Divides a record's gradient by its norm plus a constant.
///
/// # Source
/// Bu et al. 2022, "Automatic clipping": g/(‖g‖ + γ); with γ = 0 the zero gradient stays zero.
///
/// # Guarantee
/// Adding or removing one record changes the sum by at most the length given in L2 norm.
#[derive(Clone, Debug, PartialEq)]
pub struct Normalised {
    bounds: Bounds,
    stability: f64,
}

impl Normalised {
    /// Gradients of at most this length.
    ///
    /// # Panics
    /// If the length is not a positive finite number or the stability constant is negative or not finite.
    pub fn new(length: f64, stability: f64) -> Normalised {
        assert!(stability >= 0.0 && stability.is_finite(), "a stability constant of {stability}");
        Normalised { bounds: Bounds::whole(length), stability }
    }
}

impl Clip for Normalised {
    fn bounds(&self) -> &Bounds {
        &self.bounds
    }

    fn factors(&self, squared_norms: &[f64], factors: &mut [f32]) {
        let norm = squared_norms.iter().sum::<f64>().sqrt();
        factors.fill(quotient(MARGIN * self.bounds.thresholds()[0], norm + self.stability));
    }
}
