//! The normal distribution, accurate far into its tails.

use std::f64::consts::{FRAC_1_SQRT_2, PI};

/// `ln √(2π)`.
pub(crate) const LOG_SQRT_TAU: f64 = 0.918_938_533_204_672_8;

/// Density of the standard normal.
pub(crate) fn density(x: f64) -> f64 {
    (-0.5 * x * x).exp() / (2.0 * PI).sqrt()
}

/// Probability of lying below `x`.
pub(crate) fn cdf(x: f64) -> f64 {
    0.5 * libm::erfc(-x * FRAC_1_SQRT_2)
}

/// Probability of lying above `x`, without cancellation for large `x`.
pub(crate) fn survival(x: f64) -> f64 {
    0.5 * libm::erfc(x * FRAC_1_SQRT_2)
}

/// Probability of lying between `lower` and `upper`, from whichever tail loses fewer digits.
pub(crate) fn between(lower: f64, upper: f64) -> f64 {
    if lower > 0.0 {
        survival(lower) - survival(upper)
    } else {
        cdf(upper) - cdf(lower)
    }
}

/// Logarithm of [`survival`], finite for all finite `x`.
pub(crate) fn log_survival(x: f64) -> f64 {
    if x < 30.0 {
        return survival(x).ln();
    }
    // Beyond this point five terms of the asymptotic series are exact to double precision.
    let inverse_square = 1.0 / (x * x);
    let series = 1.0
        - inverse_square
            * (1.0 - 3.0 * inverse_square * (1.0 - 5.0 * inverse_square * (1.0 - 7.0 * inverse_square)));
    -0.5 * x * x - x.ln() - LOG_SQRT_TAU + series.ln()
}

/// The Mills ratio: survival over density.
pub(crate) fn mills(x: f64) -> f64 {
    (log_survival(x) + 0.5 * x * x + LOG_SQRT_TAU).exp()
}

/// The point above which the standard normal has probability `exp(log_probability)`, for probabilities up to ½.
pub(crate) fn upper_quantile(log_probability: f64) -> f64 {
    // The log-survival function is concave and the start lies to the right of the root, so Newton's method
    // descends to it without overshooting.
    let mut x = (-2.0 * log_probability).max(0.0).sqrt();
    for _ in 0..60 {
        let value = log_survival(x);
        let hazard = (-0.5 * x * x - LOG_SQRT_TAU - value).exp();
        let next = x + (value - log_probability) / hazard;
        if (next - x).abs() <= 1e-15 * x.abs().max(1e-3) {
            return next;
        }
        x = next;
    }
    x
}

/// The point above which the standard normal has this probability, anywhere in (0, 1).
pub(crate) fn quantile_above(probability: f64) -> f64 {
    if probability <= 0.5 {
        upper_quantile(probability.ln())
    } else {
        -upper_quantile((-probability).ln_1p())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tails_and_quantiles_agree() {
        for log_probability in [-std::f64::consts::LN_2, -1.0, -5.0, -40.0, -400.0, -2000.0] {
            let x = upper_quantile(log_probability);
            assert!((log_survival(x) - log_probability).abs() < 1e-12 * log_probability.abs().max(1.0));
        }
        // Both branches meet at the switch.
        assert!((log_survival(30.0) - survival(30.0_f64).ln()).abs() < 1e-11);
        // Abramowitz and Stegun, table 26.1.
        assert!((cdf(1.0) - 0.841344746068543).abs() < 1e-15);
        assert!((survival(5.0) - 2.866515718791939e-7).abs() < 1e-21);
    }
}
