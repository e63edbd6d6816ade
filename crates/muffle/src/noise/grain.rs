//! Sums in double precision under noise in single precision.

/// Noisy values are rounded to this part of the noise's scale. The noise is drawn in single precision, and below its last bits
/// those of the sum in double precision would show; this lies well above them, and well below the noise.
const GRAIN: f64 = 1.0 / 65_536.0;

/// Rounds a noisy value to a part of the noise's scale; without noise it stays as it is.
pub(crate) fn coarsen(value: f64, scale: f64) -> f64 {
    if scale > 0.0 {
        let grain = GRAIN * scale;
        (value / grain).round() * grain
    } else {
        value
    }
}
