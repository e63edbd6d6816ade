//! Squared norms from Gram matrices, made safe against cancellation.

/// Rounding of a Gram norm, and of the gradient itself, relative to the size of what cancels in it.
const ROUNDING: f32 = 3e-7;

/// A squared norm that is not too small.
///
/// The gradient is a sum of outer products of inputs and upstream gradients. Where they cancel, its norm comes out of
/// differences of large numbers, and single precision could report a norm far below the truth; whoever clips by it would
/// let too much through. `size` is `Σ_p |input_p| · |upstream_p|`, the most the norm could be: its rounding is added.
///
/// # Guarantee
/// The result is at least the squared norm of the gradient that is then summed, up to a relative 2e-5.
pub(super) fn guarded(sum: f32, size: f32) -> f32 {
    // A comparison that NaN passes.
    let sum = if sum < 0.0 { 0.0 } else { sum };
    sum + ROUNDING * size * size
}
