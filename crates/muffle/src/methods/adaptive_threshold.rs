//! A threshold that follows a quantile of the norms, learned from noisy counts.

/// The least that a threshold of a method's own can become: norms may vanish, and noise must not.
pub(super) const FLOOR: f64 = 1e-6;

/// The threshold of the next step.
///
/// It is kept in single precision, like everything that is saved between steps, so that a resumed run goes on exactly.
///
/// # Source
/// Andrew et al. 2021, "Differentially private learning with adaptive clipping", equation 3: C ← C·exp(−η(b̃ − γ)).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct AdaptiveThreshold {
    pub value: f32,
    /// η, how fast it follows.
    pub rate: f64,
    /// The smallest it can become.
    pub floor: f64,
}

impl AdaptiveThreshold {
    /// Moves by the noisy share of records within the threshold, less the share wanted: post-processing (R9).
    pub fn follow(&mut self, excess: f64) {
        let next = f64::from(self.value) * (-self.rate * excess).exp();
        // Noise can be far out; a threshold has to stay a number.
        self.value = next.clamp(self.floor, 1e12) as f32;
    }
}

#[cfg(test)]
mod tests {
    use super::AdaptiveThreshold;

    /// e^(−0.2 · 0.5) = 0.904837: where all are within the threshold and half are wanted, it falls; where none are, it rises.
    #[test]
    fn a_threshold_by_hand() {
        let after = |excess| {
            let mut threshold = AdaptiveThreshold { value: 2.0, rate: 0.2, floor: 1e-6 };
            threshold.follow(excess);
            threshold.value
        };
        assert!((after(0.5) - 2.0 * 0.904_837_4).abs() < 1e-6);
        assert!((after(-0.5) - 2.0 / 0.904_837_4).abs() < 1e-6);
        assert_eq!((after(1e3), after(-1e3)), (1e-6, 1e12));
    }
}
