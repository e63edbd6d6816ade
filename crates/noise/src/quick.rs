//! Integers from 32 random bits each, where so few decide which it is.
//!
//! The first 32 digits of a uniform number leave it in an interval; logarithm, root and circle carry the interval along. If all of it
//! rounds to one integer, that is the integer, whatever the other digits are. If not, the result is NaN, and somebody with more
//! digits decides.
//!
//! # Guarantee
//!
//! What is decided is right: the bounds below hold for every number in the interval, rounding of the arithmetic included. They are
//! derived in docs/floating-point.md.

/// Half the interval that 32 digits leave.
const HALF: f64 = 1.0 / 8_589_934_592.0;
/// Bits below which an interval is too wide for its size to be bounded by its middle.
const FEWEST: u32 = 64;
/// Logarithms below which the same holds for the root.
const SMALLEST: f64 = 1.0 / 67_108_864.0;
const EXPONENT: u64 = 0x7ff0_0000_0000_0000;
const ONE: u64 = 1.0f64.to_bits();
const ROOT_OF_HALF: u64 = std::f64::consts::FRAC_1_SQRT_2.to_bits();
/// 2⁵², whose last bit is one: numbers below it stand in its last bits.
const LARGE: f64 = 4_503_599_627_370_496.0;
/// Radians in 2⁻³² of a turn.
const RADIANS: f64 = std::f64::consts::TAU / 4_294_967_296.0;

/// An interval: its middle, and a bound on half its width.
#[derive(Clone, Copy)]
struct Interval {
    middle: f64,
    half: f64,
}

/// The integer that a whole interval rounds to, or NaN.
#[inline(always)]
fn decided(middle: f64, half: f64) -> f64 {
    // Adding and taking away 1.5 · 2⁵² rounds numbers below 2⁵¹ to integers.
    let nearest = (middle + 1.5 * LARGE) - 1.5 * LARGE;
    if 0.5 - (middle - nearest).abs() > half { nearest } else { f64::NAN }
}

/// −ln u for u within `HALF · scale` of (bits + ½) · 2⁻³² · scale, where scale is 1 or 2.
#[inline(always)]
fn negative_logarithm(bits: u32, scale: f64) -> Interval {
    let uniform = (f64::from(bits) + 0.5) * (2.0 * HALF * scale);
    // uniform = mantissa · 2^exponent with mantissa in [√½, √2).
    let raw = uniform.to_bits();
    let biased = (raw + (ONE - ROOT_OF_HALF)) >> 52;
    let mantissa = f64::from_bits(raw.wrapping_sub(biased << 52).wrapping_add(ONE));
    let exponent = f64::from_bits(LARGE.to_bits() | biased) - (LARGE + 1023.0);
    // ln m = 2 artanh s.
    let x = mantissa - 1.0;
    let s = x / (mantissa + 1.0);
    let square = s * s;
    let mut series: f64 = 2.0 / 15.0;
    for coefficient in [2.0 / 13.0, 2.0 / 11.0, 2.0 / 9.0, 2.0 / 7.0, 2.0 / 5.0, 2.0 / 3.0, 2.0] {
        series = series.mul_add(square, coefficient);
    }
    let middle = -exponent.mul_add(std::f64::consts::LN_2, s * series);
    // 1/u is at most the power of two below u, inverted.
    let inverse = inverse_bound(uniform);
    let good = bits >= FEWEST && middle > SMALLEST;
    let half = if good { 1.03 * HALF * scale * inverse } else { f64::INFINITY };
    Interval { middle, half }
}

/// A power of two that is at least the inverse of a positive normal number.
#[inline(always)]
fn inverse_bound(value: f64) -> f64 {
    f64::from_bits((2 * ONE).wrapping_sub(value.to_bits() & EXPONENT))
}

/// Cosine and sine of the angle (bits + ½) / 2³² of a turn, with absolute error below 2⁻⁴³.
#[inline(always)]
fn circle(bits: u32) -> (f64, f64) {
    // The nearest quarter turn, and what is left: between −1/8 and 1/8 of a turn.
    let quarter = bits.wrapping_add(1 << 29) >> 30;
    let rest = bits.wrapping_sub(quarter << 30) as i32;
    let x = (f64::from(rest) + 0.5) * RADIANS;
    let square = x * x;
    let mut sine: f64 = 1.0 / 6_227_020_800.0;
    for coefficient in [-1.0 / 39_916_800.0, 1.0 / 362_880.0, -1.0 / 5040.0, 1.0 / 120.0, -1.0 / 6.0] {
        sine = sine.mul_add(square, coefficient);
    }
    let sine = (sine * square).mul_add(x, x);
    let mut cosine: f64 = -1.0 / 87_178_291_200.0;
    for coefficient in
        [1.0 / 479_001_600.0, -1.0 / 3_628_800.0, 1.0 / 40_320.0, -1.0 / 720.0, 1.0 / 24.0, -0.5, 1.0]
    {
        cosine = cosine.mul_add(square, coefficient);
    }
    let (cosine, sine) = if quarter & 1 != 0 { (sine, cosine) } else { (cosine, sine) };
    let cosine_sign = u64::from(quarter.wrapping_add(1) >> 1 << 31) << 32;
    let sine_sign = u64::from(quarter >> 1 << 31) << 32;
    (f64::from_bits(cosine.to_bits() ^ cosine_sign), f64::from_bits(sine.to_bits() ^ sine_sign))
}

/// Two rounded normals of this deviation from the first 32 digits of a radius and an angle.
#[inline(always)]
pub(super) fn gaussian(radius: u32, angle: u32, deviation: f64) -> (f64, f64) {
    let logarithm = negative_logarithm(radius, 1.0);
    let length = (2.0 * logarithm.middle).sqrt();
    // d√(2L) = dL/√(2L); then the angle's share, and that of the arithmetic.
    let half = 1.03 * logarithm.half * inverse_bound(length) + 6.4 * HALF * length;
    let (cosine, sine) = circle(angle);
    let (length, half) = (deviation * length, deviation * half);
    (decided(length * cosine, half), decided(length * sine, half))
}

/// A rounded Laplace number of this scale: a sign, and the first 31 digits of a uniform number.
#[inline(always)]
pub(super) fn laplace(bits: u32, scale: f64) -> f64 {
    let logarithm = negative_logarithm(bits & 0x7fff_ffff, 2.0);
    let sign = if bits >> 31 == 0 { 1.0 } else { -1.0 };
    let half = scale * (logarithm.half + HALF * logarithm.middle);
    decided(sign * scale * logarithm.middle, half)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Random words, and those near every power of two and every quarter turn.
    fn words() -> impl Iterator<Item = u32> {
        let mut state = 1u64;
        let random = (0..300_000).map(move |_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 32) as u32
        });
        let edges = (0..32)
            .flat_map(|power| (0..64).map(move |near| (1u32 << power).wrapping_add(near).wrapping_sub(32)));
        random.chain(edges)
    }

    #[test]
    fn logarithm_and_circle_are_as_accurate_as_they_say() {
        let (mut worst, mut worst_circle) = (0.0f64, 0.0f64);
        for bits in words() {
            let uniform = (f64::from(bits) + 0.5) / 2f64.powi(32);
            let interval = negative_logarithm(bits, 1.0);
            let exact = if uniform < 0.5 { -uniform.ln() } else { -(-(1.0 - uniform)).ln_1p() };
            worst = worst.max((interval.middle / exact - 1.0).abs());
            let (cosine, sine) = circle(bits);
            let angle = uniform * std::f64::consts::TAU;
            worst_circle = worst_circle.max((cosine - angle.cos()).abs()).max((sine - angle.sin()).abs());
        }
        assert!(worst < 2f64.powi(-43), "{worst:e}");
        assert!(worst_circle < 2f64.powi(-43), "{worst_circle:e}");
    }

    /// Both ends of the uniform interval lie within the interval of the logarithm.
    #[test]
    fn intervals_hold_what_they_stand_for() {
        for (bits, scale) in words().map(|bits| (bits, 1.0)).chain(words().map(|bits| (bits >> 1, 2.0))) {
            let interval = negative_logarithm(bits, scale);
            let unit = scale / 2f64.powi(32);
            for end in [f64::from(bits) * unit, (f64::from(bits) + 1.0) * unit] {
                let exact = if end < 0.5 { -end.ln() } else { -(-(1.0 - end)).ln_1p() };
                assert!((exact - interval.middle).abs() <= interval.half + exact * 2f64.powi(-43), "{bits}");
            }
        }
    }

    #[test]
    fn nothing_is_decided_at_the_ends_or_between_integers() {
        for bits in [0, 63, u32::MAX] {
            assert!(gaussian(bits, 12_345, 1000.0).0.is_nan());
            assert!(laplace(bits & 0x7fff_ffff, 1000.0).is_nan() || bits == u32::MAX);
        }
        assert!(decided(3.5, 0.0).is_nan() && decided(3.4999, 0.001).is_nan());
        assert_eq!(decided(3.49, 0.001), 3.0);
        assert_eq!(decided(-3.51, 0.001), -4.0);
        assert!(decided(3.0, f64::INFINITY).is_nan() && decided(f64::NAN, 0.0).is_nan());
    }
}
