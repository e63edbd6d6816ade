//! Clip rules: how far one record may move the sum.

mod allocation;
mod bounds;
mod choice;
mod flat;
mod grouped;
mod non_monotone;
mod normalised;
mod per_layer;

pub use allocation::Allocation;
pub use bounds::Bounds;
pub use choice::{ClipRule, Group};
pub use flat::Flat;
pub use grouped::Grouped;
pub use non_monotone::NonMonotone;
pub use normalised::Normalised;
pub use per_layer::PerLayer;

/// Decides, for one record at a time, the factor of each of its gradient's tensors.
///
/// # Guarantee
/// The scaled tensors of a group together have at most the L2 norm of the group's threshold in
/// [`bounds`](Clip::bounds). A rule that breaks its own bounds does not get far: the mechanism checks every record and
/// panics.
pub trait Clip: Sync {
    /// Which tensors are bounded together, and by what. Public constants or released values only (R1).
    fn bounds(&self) -> &Bounds;

    /// Writes a factor for every tensor, from the squared L2 norms of one record's gradient.
    fn factors(&self, squared_norms: &[f64], factors: &mut [f32]);
}

/// Norms are at least those of the gradients up to a relative 2.5e-6, and factors are rounded to single precision: rules stay this
/// much below their thresholds, which also covers the rounding of the noise scale.
pub const MARGIN: f64 = 1.0 - 1e-5;

/// The factor that brings a vector of this squared norm down to the threshold; one for shorter vectors.
///
/// # Source
/// Abadi et al. 2016, Algorithm 1: 1 / max(1, norm / threshold).
pub fn factor(squared_norm: f64, threshold: f64) -> f32 {
    let limit = MARGIN * threshold;
    quotient(limit, squared_norm.sqrt().max(limit))
}

/// Shortest length that a gradient is divided by. The values of a shorter one lie where single precision rounds coarsely, and
/// a factor that makes up for it could be too large for what it meets on its way into the sum.
const SHORTEST: f64 = 1.0 / (1u128 << 64) as f64;

/// The factor that brings a vector of this length to the limit, and shorter ones than [`SHORTEST`] to less.
///
/// # Guarantee
/// A finite number that is at most `limit / length`, up to a rounding of single precision, whatever the two are.
fn quotient(limit: f64, length: f64) -> f32 {
    let factor = (limit / length.max(SHORTEST)).min(f64::from(f32::MAX)) as f32;
    // Of a number below the normal ones, too few digits are left to keep to a limit.
    if factor.is_normal() { factor } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From gradients that are almost nothing to the largest that an engine passes on.
    #[test]
    fn no_rule_exceeds_its_bound_at_any_magnitude() {
        let (thresholds, group_of_tensor) = (vec![0.5, 2.0], vec![0, 1, 0]);
        let rules: Vec<(&str, Box<dyn Clip>)> = vec![
            ("flat", Box::new(Flat::new(1.0))),
            ("large", Box::new(Flat::new(1e30))),
            ("small", Box::new(Flat::new(1e-30))),
            ("per-layer", Box::new(PerLayer::even(1.0, 3))),
            ("grouped", Box::new(Grouped::new(group_of_tensor, thresholds))),
            ("auto-v", Box::new(Normalised::new(1.0, 0.0))),
            ("auto-v of great length", Box::new(Normalised::new(1e30, 0.0))),
            ("auto-v of small length", Box::new(Normalised::new(1e-30, 0.0))),
            ("auto-s", Box::new(Normalised::new(1.0, 0.01))),
            ("non-monotone", Box::new(NonMonotone::new(1.0, 0.1))),
            ("non-monotone of small radius", Box::new(NonMonotone::new(1e20, 1e-60))),
        ];
        for (name, rule) in &rules {
            for exponent in (-300..=38).step_by(7) {
                let square = 10f64.powi(exponent);
                for norms in [[square, 0.0, 0.0], [square, 0.3 * square, 1e-12 * square]] {
                    let mut factors = [f32::NAN; 3];
                    rule.factors(&norms, &mut factors);
                    assert!(
                        factors.iter().all(|factor| factor.is_finite()),
                        "{name}, {norms:?}: {factors:?}"
                    );
                    assert!(rule.bounds().hold(&norms, &factors), "{name}, {norms:?}: {factors:?}");
                }
            }
            let mut factors = [f32::NAN; 3];
            rule.factors(&[0.0; 3], &mut factors);
            assert!(factors.iter().all(|factor| factor.is_finite()), "{name}: nothing to scale");
        }
    }

    /// Where single precision has no squares any more, gradients still have their length.
    #[test]
    fn short_gradients_are_normalised_like_long_ones() {
        let mut factors = [0.0];
        Normalised::new(1.0, 0.0).factors(&[1e-38], &mut factors);
        assert!((f64::from(factors[0]) * 1e-19 / MARGIN - 1.0).abs() < 1e-6, "{factors:?}");
    }
}
