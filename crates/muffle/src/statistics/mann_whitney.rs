//! Whether one of two samples tends to be larger.

use super::error::{StatisticsError, check_finite};
use super::ranks::shared_ranks;
use super::tails;

/// The rank-sum test of two samples.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct MannWhitney {
    /// Pairs in which the value of the second sample is larger; equal values count a half.
    pub u: f64,
    /// Sum of the ranks of the second sample.
    pub rank_sum: f64,
    /// `u` in standard deviations from its mean, corrected for ties, without continuity correction.
    pub z: f64,
    /// Probability of a `z` at least as far from zero if both samples have one distribution.
    pub p: f64,
}

/// Compares two samples by ranks; a positive `z` says that the second tends to be larger.
///
/// # Source
/// Mann and Whitney 1947, "On a test of whether one of two random variables is stochastically larger than the other"; the
/// correction for ties is that of Lehmann 1975, "Nonparametrics", §1.4.
pub fn mann_whitney(first: &[f64], second: &[f64]) -> Result<MannWhitney, StatisticsError> {
    const TEST: &str = "the Mann-Whitney test";
    let shorter = first.len().min(second.len());
    if shorter == 0 {
        return Err(StatisticsError::Size { test: TEST, allowed: "two samples of 1 or more", given: 0 });
    }
    check_finite(TEST, first.iter().chain(second))?;
    let (ranks, ties) = shared_ranks(&[first, second].concat());
    let (n1, n2) = (first.len() as f64, second.len() as f64);
    let all = n1 + n2;
    let rank_sum = ranks[first.len()..].iter().sum::<f64>();
    let u = rank_sum - 0.5 * n2 * (n2 + 1.0);
    let variance = n1 * n2 / 12.0 * (all + 1.0 - ties / (all * (all - 1.0)));
    if variance <= 0.0 {
        return Err(StatisticsError::AllEqual { test: TEST });
    }
    let z = (u - 0.5 * n1 * n2) / variance.sqrt();
    Ok(MannWhitney { u, rank_sum, z, p: 2.0 * tails::normal(z.abs()) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_the_reference_on_ties_and_unequal_sizes() {
        // scipy.stats.mannwhitneyu(second, first, use_continuity=False, method="asymptotic")
        let test = mann_whitney(&[1.0, 2.0, 3.0, 3.0], &[2.0, 2.0, 5.0, 7.0, 9.0]).unwrap();
        assert_eq!((test.u, test.rank_sum), (15.0, 30.0));
        assert!((test.p - 0.210_902_926_056_610_43).abs() < 1e-14);
    }

    #[test]
    fn exchanging_the_samples_turns_the_sign() {
        let (a, b) = ([0.5, 0.7, 0.1], [0.6, 0.9, 0.8, 0.7]);
        let (one, other) = (mann_whitney(&a, &b).unwrap(), mann_whitney(&b, &a).unwrap());
        assert_eq!(one.u + other.u, 12.0);
        assert!((one.z + other.z).abs() < 1e-12 && (one.p - other.p).abs() < 1e-12);
    }

    #[test]
    fn what_cannot_be_compared_is_refused() {
        assert!(mann_whitney(&[], &[1.0]).unwrap_err().to_string().contains("1 or more"));
        assert!(mann_whitney(&[2.0], &[2.0, 2.0]).unwrap_err().to_string().contains("all values are equal"));
        assert!(mann_whitney(&[2.0], &[f64::NAN]).is_err());
    }
}
