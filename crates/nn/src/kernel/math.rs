//! Exponentials that vectorise: short polynomials without branches, accurate to a few units in the last place.

/// `e^x`; overflows and underflows at the edges of single precision and keeps NaN.
#[inline(always)]
pub fn exp(x: f32) -> f32 {
    let (power, rest) = exp_parts(x);
    power + power * rest
}

/// `e^x - 1`, as accurate near zero as elsewhere.
#[inline(always)]
pub fn exp_m1(x: f32) -> f32 {
    let (power, rest) = exp_parts(x);
    power.mul_add(rest, power - 1.0)
}

/// A power of two and what is left, such that `e^x = power · (1 + rest)`.
///
/// # Source
/// Range reduction by powers of two and the degree-six polynomial of the Cephes library (`expf`).
#[inline(always)]
fn exp_parts(x: f32) -> (f32, f32) {
    // Adding this number rounds to an integer and leaves it in the low bits.
    const ROUNDER: f32 = 12_582_912.0;
    const LN2_HIGH: f32 = 0.693_359_4;
    const LN2_LOW: f32 = -2.121_944_4e-4;
    // Written as comparisons because `clamp`, `min` and `max` would swallow a NaN or stop the loop vectorising.
    let x = if x < -87.0 { -87.0 } else { x };
    let x = if x > 88.0 { 88.0 } else { x };
    let rounded = x.mul_add(std::f32::consts::LOG2_E, ROUNDER);
    let power = rounded - ROUNDER;
    let rest = power.mul_add(-LN2_LOW, power.mul_add(-LN2_HIGH, x));
    let mut sum = 1.987_569_1e-4_f32;
    sum = sum.mul_add(rest, 1.398_199_9e-3);
    sum = sum.mul_add(rest, 8.333_452e-3);
    sum = sum.mul_add(rest, 4.166_579_6e-2);
    sum = sum.mul_add(rest, 1.666_666_5e-1);
    sum = sum.mul_add(rest, 0.5);
    sum = sum.mul_add(rest * rest, rest);
    (f32::from_bits(rounded.to_bits().wrapping_add(127) << 23), sum)
}

/// Logistic function `1 / (1 + e^-x)`.
#[inline(always)]
pub fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + exp(-x))
}

/// Hyperbolic tangent, as accurate near zero as elsewhere.
#[inline(always)]
pub fn tanh(x: f32) -> f32 {
    let grown = exp_m1(2.0 * x);
    grown / (grown + 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agree_with_double_precision() {
        for step in -8700..=8800 {
            let x = step as f32 / 100.0;
            let expected = f64::from(x).exp();
            assert!((f64::from(exp(x)) / expected - 1.0).abs() < 3e-7, "exp({x})");
            let expected = f64::from(x).tanh();
            assert!((f64::from(tanh(x)) - expected).abs() < 2e-7, "tanh({x})");
            let expected = 1.0 / (1.0 + (-f64::from(x)).exp());
            assert!((f64::from(sigmoid(x)) - expected).abs() < 2e-7, "sigmoid({x})");
        }
    }

    /// Where `e^x` is close to one, a difference from one keeps its digits.
    #[test]
    fn small_numbers_keep_their_digits() {
        for exponent in -40..=0 {
            for mantissa in [-1.9, -1.3, -1.0, 1.0, 1.1, 1.7f32] {
                let x = mantissa * 2f32.powi(exponent);
                let (grown, squashed) = (f64::from(x).exp_m1(), f64::from(x).tanh());
                assert!((f64::from(exp_m1(x)) / grown - 1.0).abs() < 4e-7, "exp_m1({x})");
                assert!((f64::from(tanh(x)) / squashed - 1.0).abs() < 4e-7, "tanh({x})");
            }
        }
    }

    #[test]
    fn keeps_what_is_not_a_number() {
        assert!(exp(f32::NAN).is_nan() && tanh(f32::NAN).is_nan() && sigmoid(f32::NAN).is_nan());
        assert_eq!(tanh(f32::INFINITY), 1.0);
        assert_eq!(tanh(f32::NEG_INFINITY), -1.0);
    }
}
