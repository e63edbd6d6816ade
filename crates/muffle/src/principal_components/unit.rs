//! Records of unit length.

use crate::clip::MARGIN;
use muffle_nn::kernel::elementwise::squared_norm;

/// Scales a record to a length of one less a margin; a record that is not finite, or all zeros, becomes zeros.
///
/// # Guarantee
/// The length, computed exactly, is at most 1: single precision rounds every value by less than a part in 10⁷, and the
/// margin is a part in 10⁵.
pub(super) fn scale_to_unit(record: &mut [f32]) {
    let squared_norm = squared_norm(record);
    // Squares of single precision do not overflow double precision: the sum is finite if the values are.
    if !squared_norm.is_finite() || squared_norm == 0.0 {
        return record.fill(0.0);
    }
    let factor = MARGIN / squared_norm.sqrt();
    record.iter_mut().for_each(|value| *value = (f64::from(*value) * factor) as f32);
}
