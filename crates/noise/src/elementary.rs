//! Logarithm and circular functions of random bits, written so that the compiler vectorises them.
//!
//! # Source
//!
//! The polynomials are those of Moshier's Cephes library (`logf`, `sinf`, `cosf`), on the same intervals.
//!
//! # Guarantee
//!
//! Only operations that IEEE 754 defines to the bit, fused multiply-add among them, and none that the compiler may fuse on
//! its own: every processor, with or without vector instructions, gets the same bits. One without fused multiply-add
//! computes it by other means and takes much longer.

/// −ln u of the 64-bit uniform number u = (bits + ½) / 2⁶⁴, with relative error below 2⁻²¹ everywhere.
///
/// The smallest u is 2⁻⁶⁵, and numbers close to one are kept as 1 − u: a plain conversion to `f32` would cut
/// the tail at 2⁻²⁴ and, at the other end, make one radius in 2²⁵ zero.
#[inline(always)]
pub(super) fn negative_logarithm(high: u32, low: u32) -> f32 {
    // Fold u at one half: `folded` is the smaller of u and 1 − u, to full relative precision.
    let upper_half = (high as i32) >> 31;
    let high = ((high as i32) ^ upper_half) as f32;
    let low = (low ^ upper_half as u32) as f32;
    let folded = (low + 0.5).mul_add(EXPONENT_MINUS_32, high) * EXPONENT_MINUS_32;
    let uniform = if upper_half != 0 { 1.0 - folded } else { folded };

    // uniform = mantissa · 2^exponent with mantissa in [√½, √2).
    let bits = uniform.to_bits();
    let exponent = (bits.wrapping_sub(SQUARE_ROOT_OF_HALF_BITS) as i32) >> 23;
    let mantissa = f32::from_bits(bits.wrapping_sub((exponent as u32) << 23));
    // Close to one the mantissa has lost the digits that the folded number still has.
    let x = if upper_half != 0 && exponent == 0 { -folded } else { mantissa - 1.0 };

    let mut series: f32 = 7.037_683_6e-2;
    series = series.mul_add(x, -1.151_461e-1);
    series = series.mul_add(x, 1.167_699_87e-1);
    series = series.mul_add(x, -1.242_014_1e-1);
    series = series.mul_add(x, 1.424_932_3e-1);
    series = series.mul_add(x, -1.666_805_8e-1);
    series = series.mul_add(x, 2.000_071_5e-1);
    series = series.mul_add(x, -2.499_999_4e-1);
    series = series.mul_add(x, 3.333_333e-1);
    let square = x * x;
    let exponent = exponent as f32;
    // ln 2 in two parts, the first short enough for an exact product with the exponent.
    let small = series.mul_add(x, -0.5).mul_add(square, exponent * -2.121_944_4e-4);
    -exponent.mul_add(355.0 / 512.0, x + small)
}

/// Cosine and sine of the angle (bits + ½) / 2³² of a turn, with absolute error below 2⁻²³.
#[inline(always)]
pub(super) fn circle(bits: u32) -> (f32, f32) {
    // The nearest quarter turn, and what is left: between −1/8 and 1/8 of a turn.
    let quarter = bits.wrapping_add(1 << 29) >> 30;
    let rest = bits.wrapping_sub(quarter << 30) as i32;
    let x = (rest as f32 + 0.5) * RADIANS;
    let square = x * x;

    let mut sine: f32 = -1.951_529_6e-4;
    sine = sine.mul_add(square, 8.332_161e-3);
    sine = sine.mul_add(square, -1.666_665_5e-1);
    let sine = (sine * square).mul_add(x, x);

    let mut cosine: f32 = 2.443_315_7e-5;
    cosine = cosine.mul_add(square, -1.388_731_6e-3);
    cosine = cosine.mul_add(square, 4.166_664_6e-2);
    let cosine = cosine.mul_add(square, -0.5).mul_add(square, 1.0);

    let (cosine, sine) = if quarter & 1 != 0 { (sine, cosine) } else { (cosine, sine) };
    let cosine_sign = quarter.wrapping_add(1) >> 1 << 31;
    let sine_sign = quarter >> 1 << 31;
    (f32::from_bits(cosine.to_bits() ^ cosine_sign), f32::from_bits(sine.to_bits() ^ sine_sign))
}

const EXPONENT_MINUS_32: f32 = 1.0 / 4_294_967_296.0;
const SQUARE_ROOT_OF_HALF_BITS: u32 = std::f32::consts::FRAC_1_SQRT_2.to_bits();
/// Radians in 2⁻³² of a turn.
const RADIANS: f32 = (std::f64::consts::TAU / 4_294_967_296.0) as f32;

#[cfg(test)]
mod tests {
    use super::*;

    /// Random bits, and the bits near every power of two and every quarter turn.
    fn probes() -> impl Iterator<Item = u64> {
        let mut state = 1u64;
        let random = (0..2_000_000).map(move |_| {
            // Knuth's linear congruential generator; its high bits are good enough to probe with.
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state ^ state >> 29
        });
        let edges = (0..64).flat_map(|power| {
            (0..64).flat_map(move |near| {
                let edge = 1u64 << power;
                [
                    edge.wrapping_add(near),
                    edge.wrapping_sub(near),
                    !edge.wrapping_add(near),
                    !edge.wrapping_sub(near),
                ]
            })
        });
        random.chain(edges)
    }

    #[test]
    fn logarithm_is_accurate() {
        let mut worst = 0.0f64;
        for bits in probes() {
            let exact = if bits >> 63 == 0 {
                -((bits as f64 + 0.5) / 2f64.powi(64)).ln()
            } else {
                -(-(!bits as f64 + 0.5) / 2f64.powi(64)).ln_1p()
            };
            let here = f64::from(negative_logarithm((bits >> 32) as u32, bits as u32));
            worst = worst.max((here / exact - 1.0).abs());
        }
        assert!(worst < 2f64.powi(-21), "relative error {worst:e}");
    }

    #[test]
    fn circle_is_accurate() {
        let mut worst = 0.0f64;
        for bits in probes().flat_map(|bits| [bits as u32, (bits >> 32) as u32]) {
            let angle = (f64::from(bits) + 0.5) / 2f64.powi(32) * std::f64::consts::TAU;
            let (cosine, sine) = circle(bits);
            worst = worst.max((f64::from(cosine) - angle.cos()).abs());
            worst = worst.max((f64::from(sine) - angle.sin()).abs());
        }
        assert!(worst < 2f64.powi(-23), "absolute error {worst:e}");
    }

    #[test]
    fn extremes_are_reached_and_finite() {
        let largest = f64::from(negative_logarithm(0, 0));
        assert!((largest - 65.0 * std::f64::consts::LN_2).abs() < 1e-5, "{largest}");
        let smallest = f64::from(negative_logarithm(u32::MAX, u32::MAX));
        assert_eq!(smallest, 2f64.powi(-65));
    }
}
