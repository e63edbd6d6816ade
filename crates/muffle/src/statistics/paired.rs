//! Whether pairs differ by more than chance.

use super::error::{StatisticsError, check_finite};
use super::mean::Mean;
use super::tails;

/// Student's test of pairs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Paired {
    /// The second value of each pair less the first.
    pub difference: Mean,
    /// The mean difference in standard errors.
    pub t: f64,
    /// Probability of a `t` at least as far from zero if the differences are independent and normal with mean zero.
    pub p: f64,
}

/// Compares values that belong together in pairs, as two methods with the same seeds; a positive `t` says that the second are larger.
///
/// Of n pairs a test by ranks cannot give a p below 2^(1−n), 0.06 for five: this one can.
///
/// # Source
/// Student 1908, "The probable error of a mean", section IX (two drugs on the same ten patients).
///
/// # Panics
/// If there are not as many values of one kind as of the other.
pub fn paired(first: &[f64], second: &[f64]) -> Result<Paired, StatisticsError> {
    const TEST: &str = "the test of pairs";
    assert_eq!(first.len(), second.len(), "values in pairs");
    if first.len() < 2 {
        return Err(StatisticsError::Size { test: TEST, allowed: "2 or more pairs of", given: first.len() });
    }
    check_finite(TEST, first.iter().chain(second))?;
    let differences: Vec<f64> = first.iter().zip(second).map(|(first, second)| second - first).collect();
    let difference = Mean::of(&differences)?;
    let error = difference.standard_error().filter(|error| *error > 0.0);
    let error = error.ok_or(StatisticsError::AllEqual { test: TEST })?;
    let t = difference.mean / error;
    Ok(Paired { difference, t, p: 2.0 * tails::student(t.abs(), first.len() as f64 - 1.0) })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Student's own ten patients, hours of sleep gained by one drug and by the other: t = 4.06, and scipy.stats.ttest_rel gives
    /// p = 0.002832890197384256.
    #[test]
    fn students_ten_patients() {
        let first = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0];
        let second = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4];
        let found = paired(&first, &second).unwrap();
        assert!((found.difference.mean - 1.58).abs() < 1e-12);
        assert!((found.t - 4.062_127_683_382_037).abs() < 1e-9, "{found:?}");
        assert!((found.p - 0.002_832_890_197_384_256).abs() < 1e-9, "{found:?}");
        let turned = paired(&second, &first).unwrap();
        assert!((turned.t + found.t).abs() < 1e-12 && (turned.p - found.p).abs() < 1e-15);
    }

    #[test]
    fn what_says_nothing_is_refused() {
        assert!(
            paired(&[1.0], &[2.0])
                .unwrap_err()
                .to_string()
                .contains("2 or more pairs of values, there are 1")
        );
        assert!(paired(&[1.0, 2.0], &[2.0, 3.0]).unwrap_err().to_string().contains("all values are equal"));
        assert!(paired(&[1.0, f64::NAN], &[2.0, 3.0]).is_err());
    }
}
