//! Tails of the normal, chi-squared and Student distributions, and the points where tails begin.

use std::f64::consts::FRAC_1_SQRT_2;

/// Probability that a standard normal variable is above `x`.
pub(super) fn normal(x: f64) -> f64 {
    0.5 * libm::erfc(x * FRAC_1_SQRT_2)
}

/// Probability that a chi-squared variable is above `x`.
pub(super) fn chi_squared(x: f64, degrees: f64) -> f64 {
    if x <= 0.0 { 1.0 } else { upper_gamma(0.5 * degrees, 0.5 * x) }
}

/// Probability that a Student variable is above `x`, for `x` from zero.
pub(super) fn student(x: f64, degrees: f64) -> f64 {
    0.5 * beta(0.5 * degrees, 0.5, degrees / (degrees + x * x))
}

/// The point from zero up at which a falling tail has the given probability of at most a half.
pub(super) fn upper_point(tail: impl Fn(f64) -> f64, probability: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    while tail(high) > probability {
        high *= 2.0;
    }
    // Halving ends when no number is left between the two.
    loop {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            return high;
        }
        if tail(middle) > probability { low = middle } else { high = middle }
    }
}

/// The point above which a standard normal variable has this probability, anywhere in (0, 1).
pub(crate) fn normal_quantile_above(probability: f64) -> f64 {
    match probability <= 0.5 {
        true => upper_point(normal, probability),
        false => -upper_point(normal, 1.0 - probability),
    }
}

/// Terms after which series and fractions have converged for every argument that tests here can have.
const TERMS: u32 = 10_000;
/// Relative size of a term that no longer matters. A factor that has come this near to one may stay a rounding away from it for ever.
const SMALL: f64 = 2.0 * f64::EPSILON;
/// Stands for a denominator of zero.
const TINY: f64 = 1e-300;

/// The regularised upper incomplete gamma function Q(a, x).
///
/// # Source
/// Abramowitz and Stegun 1964, 6.5.29 (series) and 6.5.31 (continued fraction).
fn upper_gamma(a: f64, x: f64) -> f64 {
    let front = (a * x.ln() - x - libm::lgamma(a)).exp();
    if x < a + 1.0 {
        let (mut term, mut sum) = (1.0 / a, 1.0 / a);
        for count in 1..TERMS {
            term *= x / (a + f64::from(count));
            sum += term;
            if term < SMALL * sum {
                break;
            }
        }
        return 1.0 - front * sum;
    }
    let step = |count: u32| {
        let count = f64::from(count);
        (-count * (count - a), x + 2.0 * count + 1.0 - a)
    };
    front / continued_fraction(x + 1.0 - a, step)
}

/// The regularised incomplete beta function I_x(a, b).
///
/// # Source
/// Abramowitz and Stegun 1964, 26.5.8 (continued fraction) and 26.5.2 (reflection).
pub(crate) fn beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return x.clamp(0.0, 1.0);
    }
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - beta(b, a, 1.0 - x);
    }
    let logarithm = libm::lgamma(a + b) - libm::lgamma(a) - libm::lgamma(b) + a * x.ln() + b * (-x).ln_1p();
    let step = |count: u32| {
        let half = f64::from(count / 2);
        let numerator = match count % 2 {
            0 => half * (b - half) * x / ((a + 2.0 * half - 1.0) * (a + 2.0 * half)),
            _ => -(a + half) * (a + b + half) * x / ((a + 2.0 * half) * (a + 2.0 * half + 1.0)),
        };
        (numerator, 1.0)
    };
    logarithm.exp() / (a * continued_fraction(1.0, step))
}

/// `first` + n₁/(d₁ + n₂/(d₂ + …)) for pairs (nₖ, dₖ).
///
/// # Source
/// Thompson and Barnett 1986, "Coulomb and Bessel functions of complex arguments and order", §3 (Lentz's method).
fn continued_fraction(first: f64, step: impl Fn(u32) -> (f64, f64)) -> f64 {
    let nonzero = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut value = nonzero(first);
    let (mut upper, mut lower) = (value, 0.0);
    for count in 1..TERMS {
        let (numerator, denominator) = step(count);
        lower = 1.0 / nonzero(denominator + numerator * lower);
        upper = nonzero(denominator + numerator / upper);
        value *= upper * lower;
        if (upper * lower - 1.0).abs() < SMALL {
            break;
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reference values are those of SciPy 1.17.
    fn close(found: f64, expected: f64) {
        assert!((found / expected - 1.0).abs() < 1e-11, "{found} is not {expected}");
    }

    #[test]
    fn tails_are_those_of_the_reference() {
        close(normal(2.326_347_874_040_840_8), 0.01);
        close(chi_squared(0.5, 2.0), 0.778_800_783_071_404_9);
        close(chi_squared(5.0, 2.0), 0.082_084_998_623_898_8);
        close(chi_squared(63.42, 2.0), 1.692_473_895_271_466_5e-14);
        close(chi_squared(3.0, 7.0), 0.885_002_231_643_150_6);
        close(student(2.0, 1.0), 0.147_583_617_650_433_26);
        close(student(2.0, 4.0), 0.058_058_261_758_407_78);
        close(student(2.0, 30.0), 0.027_312_522_481_491_547);
        assert_eq!(student(0.0, 3.0), 0.5);
    }

    #[test]
    fn points_are_those_of_the_reference() {
        for (degrees, point) in [
            (1.0, 12.706_204_736_174_694),
            (2.0, 4.302_652_729_749_462),
            (4.0, 2.776_445_105_197_793_4),
            (30.0, 2.042_272_456_301_237_8),
        ] {
            close(upper_point(|x| student(x, degrees), 0.025), point);
        }
        close(upper_point(|x| student(x, 1.0), 0.0005), 636.619_248_768_789_7);
        close(upper_point(normal, 0.01), 2.326_347_874_040_840_8);
        close(normal_quantile_above(0.99), -2.326_347_874_040_840_8);
    }
}
