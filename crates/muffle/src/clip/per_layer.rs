//! One threshold for each tensor.

use super::{Bounds, Clip, factor};

/// Scales every tensor of a record's gradient by itself.
///
/// # Source
/// McMahan et al. 2018, "Learning differentially private recurrent language models", per-layer clipping.
///
/// # Guarantee
/// Adding or removing one record changes the sum by at most √Σ C² in L2 norm (R5).
#[derive(Clone, Debug, PartialEq)]
pub struct PerLayer {
    bounds: Bounds,
}

impl PerLayer {
    /// Thresholds in the order of the network's tensors.
    ///
    /// # Panics
    /// If a threshold is not a positive finite number.
    pub fn new(thresholds: Vec<f64>) -> PerLayer {
        PerLayer { bounds: Bounds::listed((0..thresholds.len()).collect(), thresholds) }
    }

    /// The same threshold for each of `tensors` tensors, with `sensitivity` for all together: C/√tensors.
    ///
    /// # Panics
    /// If the sensitivity is not a positive finite number or there are no tensors.
    pub fn even(sensitivity: f64, tensors: usize) -> PerLayer {
        assert!(tensors > 0, "there are no tensors to clip");
        PerLayer::new(vec![sensitivity / (tensors as f64).sqrt(); tensors])
    }
}

impl Clip for PerLayer {
    fn bounds(&self) -> &Bounds {
        &self.bounds
    }

    fn factors(&self, squared_norms: &[f64], factors: &mut [f32]) {
        let tensors = squared_norms.iter().zip(self.bounds.thresholds());
        for (factor_of_tensor, (norm, threshold)) in factors.iter_mut().zip(tensors) {
            *factor_of_tensor = factor(*norm, *threshold);
        }
    }
}
