//! Whether any of several samples tends to be larger.

use super::error::{StatisticsError, check_finite};
use super::ranks::shared_ranks;
use super::tails;

/// The rank test of several samples.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct KruskalWallis {
    /// The statistic, corrected for ties.
    pub h: f64,
    /// Number of samples less one.
    pub degrees: usize,
    /// Probability of at least this `h` if all samples have one distribution, by the chi-squared approximation.
    pub p: f64,
}

/// Compares several samples by ranks.
///
/// # Source
/// Kruskal and Wallis 1952, "Use of ranks in one-criterion variance analysis", (1.1) to (1.3).
pub fn kruskal_wallis(samples: &[&[f64]]) -> Result<KruskalWallis, StatisticsError> {
    const TEST: &str = "the Kruskal-Wallis test";
    if samples.len() < 2 || samples.iter().any(|sample| sample.is_empty()) {
        let given = samples.iter().map(|sample| sample.len()).min().unwrap_or(0);
        return Err(StatisticsError::Size { test: TEST, allowed: "two or more samples of 1 or more", given });
    }
    let values = samples.concat();
    check_finite(TEST, &values)?;
    let (ranks, ties) = shared_ranks(&values);
    let all = values.len() as f64;
    let (mut between, mut begin) = (0.0, 0);
    for sample in samples {
        let sum = ranks[begin..begin + sample.len()].iter().sum::<f64>();
        between += sum * sum / sample.len() as f64;
        begin += sample.len();
    }
    let correction = 1.0 - ties / (all.powi(3) - all);
    if correction.is_nan() || correction <= 0.0 {
        return Err(StatisticsError::AllEqual { test: TEST });
    }
    let h = (12.0 / (all * (all + 1.0)) * between - 3.0 * (all + 1.0)) / correction;
    let degrees = samples.len() - 1;
    Ok(KruskalWallis { h, degrees, p: tails::chi_squared(h, degrees as f64) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::mann_whitney;

    #[test]
    fn agrees_with_the_reference_on_ties_and_unequal_sizes() {
        // scipy.stats.kruskal
        let samples: [&[f64]; 3] = [&[1.0, 2.0, 2.0, 3.0], &[2.0, 4.0, 5.0], &[6.0, 7.0, 7.0, 8.0, 1.0]];
        let test = kruskal_wallis(&samples).unwrap();
        assert!((test.h - 4.073_601_190_476_192).abs() < 1e-12);
        assert!((test.p - 0.130_445_391_564_845_53).abs() < 1e-12);
        assert_eq!(test.degrees, 2);
    }

    #[test]
    fn of_two_samples_it_is_the_square_of_the_other_test() {
        let (a, b) = ([0.5, 0.7, 0.1], [0.6, 0.9, 0.8, 0.7]);
        let (several, two) = (kruskal_wallis(&[&a, &b]).unwrap(), mann_whitney(&a, &b).unwrap());
        assert!((several.h - two.z * two.z).abs() < 1e-12 && (several.p - two.p).abs() < 1e-12);
    }

    #[test]
    fn what_cannot_be_compared_is_refused() {
        assert!(kruskal_wallis(&[&[1.0]]).is_err());
        assert!(kruskal_wallis(&[&[1.0], &[]]).is_err());
        assert!(kruskal_wallis(&[&[1.0], &[1.0]]).unwrap_err().to_string().contains("all values are equal"));
    }
}
