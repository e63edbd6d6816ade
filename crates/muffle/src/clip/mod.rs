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
    fn factors(&self, squared_norms: &[f32], factors: &mut [f32]);
}

/// Norms are computed in single precision by another way than the sum: rules stay this much below their thresholds,
/// which also covers the rounding of the noise scale.
pub const MARGIN: f64 = 1.0 - 1e-5;

/// The factor that brings a vector of this squared norm down to the threshold; one for shorter vectors.
///
/// # Source
/// Abadi et al. 2016, Algorithm 1: 1 / max(1, norm / threshold).
pub fn factor(squared_norm: f64, threshold: f64) -> f32 {
    let limit = MARGIN * threshold;
    (limit / squared_norm.sqrt().max(limit)) as f32
}
