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

/// Logistic function `1 / (1 + e^-x)`; zero below -60, where it is less than 1e-26.
///
/// A slope of so little is worth nothing, and its products with weights fall below the smallest normal number, with which
/// processors are far slower: steps of a network whose neurons are saturated would be too.
#[inline(always)]
pub fn sigmoid(x: f32) -> f32 {
    let value = 1.0 / (1.0 + exp(-x));
    // A comparison that NaN fails.
    if x < -60.0 { 0.0 } else { value }
}

/// Hyperbolic tangent, as accurate near zero as elsewhere.
#[inline(always)]
pub fn tanh(x: f32) -> f32 {
    let grown = exp_m1(2.0 * x);
    grown / (grown + 2.0)
}

/// Error function.
///
/// # Source
/// The rational approximation of the Eigen library (`generic_fast_erf_float`), on [-4, 4]; beyond, it is ±1 in single
/// precision.
#[inline(always)]
pub fn erf(x: f32) -> f32 {
    let square = x * x;
    let mut above = -2.726_142_3e-10_f32;
    above = above.mul_add(square, 2.770_681_4e-8);
    above = above.mul_add(square, -2.101_024e-6);
    above = above.mul_add(square, -5.692_506_4e-5);
    above = above.mul_add(square, -7.349_906_4e-4);
    above = above.mul_add(square, -2.954_6e-3);
    above = above.mul_add(square, -1.609_603_3e-2);
    let mut below = -1.456_607_15e-5_f32;
    below = below.mul_add(square, -2.133_740_5e-4);
    below = below.mul_add(square, -1.682_827e-3);
    below = below.mul_add(square, -7.373_329_3e-3);
    below = below.mul_add(square, -1.426_473_9e-2);
    let inside = x * above / below;
    // Comparisons that NaN fails.
    let inside = if x > 4.0 { 1.0 } else { inside };
    if x < -4.0 { -1.0 } else { inside }
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

    /// Against the series `2/√π Σ (-1)^k x^(2k+1) / (k! (2k+1))`, whose terms double precision holds up to here.
    #[test]
    fn the_error_function_agrees_with_its_series() {
        for step in -400..=400 {
            let x = f64::from(step as f32 / 100.0);
            let (mut term, mut sum) = (x, x);
            for k in 1..200 {
                term *= -x * x / f64::from(k);
                sum += term / f64::from(2 * k + 1);
            }
            let expected = sum * std::f64::consts::FRAC_2_SQRT_PI;
            assert!((f64::from(erf(x as f32)) - expected).abs() < 3e-7, "erf({x})");
        }
        assert_eq!((erf(1e30), erf(f32::NEG_INFINITY)), (1.0, -1.0));
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
        assert!(erf(f32::NAN).is_nan());
        assert_eq!(tanh(f32::INFINITY), 1.0);
        assert_eq!(tanh(f32::NEG_INFINITY), -1.0);
    }

    /// Neurons far from zero have no slope at all, so that no subnormal number is computed with.
    #[test]
    fn saturated_neurons_are_exactly_so() {
        assert!(sigmoid(-59.9) > 1e-27);
        for x in [-60.1, -100.0, -1e30, f32::NEG_INFINITY] {
            assert_eq!(sigmoid(x), 0.0, "{x}");
            assert_eq!(sigmoid(-x), 1.0, "{x}");
        }
    }
}
