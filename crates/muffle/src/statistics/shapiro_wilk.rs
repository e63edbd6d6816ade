//! Whether a sample may be normal.

use super::error::{StatisticsError, check_finite};
use super::tails;
use std::f64::consts::{FRAC_1_SQRT_2, FRAC_PI_3, PI};

/// The test of a sample.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct ShapiroWilk {
    /// Near one for a sample that looks normal.
    pub w: f64,
    /// Probability of at most this `w` if the sample is normal.
    pub p: f64,
}

/// Tests 3 to 5000 values.
///
/// # Source
/// Royston 1995, "Remark AS R94: A remark on algorithm AS 181: The W-test for normality".
pub fn shapiro_wilk(values: &[f64]) -> Result<ShapiroWilk, StatisticsError> {
    const TEST: &str = "the Shapiro-Wilk test";
    let count = values.len();
    if !(3..=5000).contains(&count) {
        return Err(StatisticsError::Size { test: TEST, allowed: "3 to 5000", given: count });
    }
    check_finite(TEST, values)?;
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    if sorted[0] == sorted[count - 1] {
        return Err(StatisticsError::AllEqual { test: TEST });
    }
    let mean = sorted.iter().sum::<f64>() / count as f64;
    let squares = sorted.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
    let expected = half_coefficients(count);
    let spread: f64 = expected
        .iter()
        .enumerate()
        .map(|(place, factor)| factor * (sorted[count - 1 - place] - sorted[place]))
        .sum();
    // The coefficients have unit length up to rounding.
    let length = 2.0 * expected.iter().map(|factor| factor * factor).sum::<f64>();
    let w = (spread * spread / (length * squares)).min(1.0);
    Ok(ShapiroWilk { w, p: significance(w, count) })
}

/// Coefficients of the largest value downwards; the smallest values have the same with the other sign.
fn half_coefficients(count: usize) -> Vec<f64> {
    if count == 3 {
        return vec![FRAC_1_SQRT_2];
    }
    let size = count as f64;
    // Approximate means of the ordered values of a normal sample (Blom).
    let scores: Vec<f64> = (1..=count / 2)
        .map(|place| tails::upper_point(tails::normal, (place as f64 - 0.375) / (size + 0.25)))
        .collect();
    let total = 2.0 * scores.iter().map(|score| score * score).sum::<f64>();
    let (length, inverse_root) = (total.sqrt(), 1.0 / size.sqrt());
    // The outermost coefficients are fitted; the rest are the scores, scaled to unit length.
    let fitted: &[[f64; 6]] = if count > 5 { &[OUTERMOST, SECOND] } else { &[OUTERMOST] };
    let mut coefficients: Vec<f64> = fitted
        .iter()
        .zip(&scores)
        .map(|(fit, score)| polynomial(fit, inverse_root) + score / length)
        .collect();
    let squares = |numbers: &[f64]| 2.0 * numbers.iter().map(|number| number * number).sum::<f64>();
    let scale = ((total - squares(&scores[..fitted.len()])) / (1.0 - squares(&coefficients))).sqrt();
    coefficients.extend(scores[fitted.len()..].iter().map(|score| score / scale));
    coefficients
}

/// Fits in one over the root of the sample size.
const OUTERMOST: [f64; 6] = [0.0, 0.221157, -0.147981, -2.07119, 4.434685, -2.706056];
const SECOND: [f64; 6] = [0.0, 0.042981, -0.293762, -1.752461, 5.682633, -3.582633];

/// A function of w that is about normal, by mean and standard deviation that were fitted in the sample size.
fn significance(w: f64, count: usize) -> f64 {
    if count == 3 {
        // Exact.
        return (6.0 / PI * (w.sqrt().asin() - FRAC_PI_3)).clamp(0.0, 1.0);
    }
    let (size, shortfall) = (count as f64, (1.0 - w).ln());
    let logarithm = size.ln();
    let (value, mean, deviation) = if count <= 11 {
        let limit = polynomial(&[-2.273, 0.459], size);
        if shortfall >= limit {
            return 0.0;
        }
        (
            -(limit - shortfall).ln(),
            polynomial(&[0.544, -0.39978, 0.025054, -6.714e-4], size),
            polynomial(&[1.3822, -0.77857, 0.062767, -0.0020322], size).exp(),
        )
    } else {
        (
            shortfall,
            polynomial(&[-1.5861, -0.31082, -0.083751, 0.0038915], logarithm),
            polynomial(&[-0.4803, -0.082676, 0.0030302], logarithm).exp(),
        )
    };
    tails::normal((value - mean) / deviation)
}

/// c₀ + c₁x + c₂x² + …
fn polynomial(coefficients: &[f64], x: f64) -> f64 {
    coefficients.iter().rev().fold(0.0, |value, coefficient| value * x + coefficient)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reference values are those of SciPy 1.17.
    fn check(values: &[f64], w: f64, p: f64) {
        let test = shapiro_wilk(values).unwrap();
        assert!((test.w - w).abs() < 1e-9, "W {} is not {w}", test.w);
        assert!((test.p / p - 1.0).abs() < 1e-6, "p {} is not {p}", test.p);
    }

    #[test]
    fn agrees_with_the_reference_at_every_branch() {
        check(&[1.0, 2.0, 4.0], 0.964_285_714_285_714_2, 0.636_886_845_028_968_9);
        check(&[1.0, 2.0, 3.0, 5.0], 0.971_373_665_499_926_3, 0.849_970_818_958_186_7);
        check(&[0.3, 1.1, -2.0, 0.4, 3.0, 0.9], 0.934_310_570_578_275_7, 0.613_776_751_176_939_4);
        let weights = [148.0, 154.0, 158.0, 160.0, 161.0, 162.0, 166.0, 170.0, 182.0, 195.0, 236.0];
        check(&weights, 0.788_814_694_863_171_6, 0.006_703_814_061_898_823);
        let powers: Vec<f64> = (1..=50).map(|value| f64::from(value).powf(1.5)).collect();
        check(&powers, 0.931_786_989_644_061_6, 0.006_461_088_351_257_112);
        let squares: Vec<f64> = (1..=5000).map(|value| f64::from(value * 37 % 5000).powi(2)).collect();
        check(&squares, 0.895_202_015_337_867_1, 5.301_944_001_343_23e-50);
    }

    #[test]
    fn what_cannot_be_tested_is_refused() {
        assert!(shapiro_wilk(&[1.0, 2.0]).unwrap_err().to_string().contains("3 to 5000"));
        assert!(shapiro_wilk(&[1.0; 4]).unwrap_err().to_string().contains("all values are equal"));
        assert!(shapiro_wilk(&[1.0, 2.0, f64::INFINITY]).is_err());
    }
}
