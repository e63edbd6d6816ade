//! A mean, and how sure it is.

use super::error::{StatisticsError, check_finite};
use super::tails;

/// Mean and spread of a sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mean {
    /// How many values.
    pub count: usize,
    /// Their mean.
    pub mean: f64,
    /// Their standard deviation with n − 1 in the denominator; `None` for a single value.
    pub standard_deviation: Option<f64>,
}

/// Where a mean lies with some confidence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Mean {
    /// Of at least one value.
    pub fn of(values: &[f64]) -> Result<Mean, StatisticsError> {
        if values.is_empty() {
            return Err(StatisticsError::Size { test: "a mean", allowed: "1 or more", given: 0 });
        }
        check_finite("a mean", values)?;
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
        let standard_deviation = (values.len() > 1).then(|| (squares / (count - 1.0)).sqrt());
        Ok(Mean { count: values.len(), mean, standard_deviation })
    }

    /// Standard deviation of the mean itself.
    pub fn standard_error(&self) -> Option<f64> {
        Some(self.standard_deviation? / (self.count as f64).sqrt())
    }

    /// Where the mean of the distribution lies with this confidence, if the values are independent and normal.
    ///
    /// # Source
    /// Student 1908, "The probable error of a mean".
    ///
    /// # Panics
    /// If the confidence is outside (0, 1).
    pub fn interval(&self, confidence: f64) -> Option<Interval> {
        assert!(confidence > 0.0 && confidence < 1.0, "confidence {confidence} is outside (0, 1)");
        let degrees = self.count as f64 - 1.0;
        let error = self.standard_error()?;
        let reach = error * tails::upper_point(|x| tails::student(x, degrees), 0.5 * (1.0 - confidence));
        Some(Interval { low: self.mean - reach, high: self.mean + reach })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_is_students() {
        let mean = Mean::of(&[0.91, 0.93, 0.92, 0.95, 0.94]).unwrap();
        assert!((mean.mean - 0.93).abs() < 1e-12);
        let error = mean.standard_error().unwrap();
        assert!((error - 0.015_811_388_300_841_9 / 5_f64.sqrt()).abs() < 1e-12);
        let interval = mean.interval(0.95).unwrap();
        // scipy.stats.t.interval(0.95, 4, 0.93, error)
        assert!((interval.high - mean.mean - 2.776_445_105_197_793_4 * error).abs() < 1e-12);
        assert!((interval.high + interval.low - 2.0 * mean.mean).abs() < 1e-12);
    }

    #[test]
    fn one_value_has_no_spread_and_none_has_no_mean() {
        let single = Mean::of(&[3.0]).unwrap();
        assert_eq!((single.mean, single.standard_error(), single.interval(0.95)), (3.0, None, None));
        assert!(Mean::of(&[]).unwrap_err().to_string().contains("1 or more"));
        assert!(Mean::of(&[f64::NAN]).is_err());
    }

    #[test]
    fn the_interval_holds_the_mean_as_often_as_it_says() {
        // 2000 samples of 5 uniform numbers: a binomial count of mean 1900 and standard deviation 9.7, so that a correct
        // interval fails by leaving (1840, 1960) with probability below 1e-8. Uniform values are close enough to normal.
        let mut state = 3u64;
        let mut uniform = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        let held = (0..2000)
            .filter(|_| {
                let sample: Vec<f64> = (0..5).map(|_| uniform()).collect();
                let interval = Mean::of(&sample).unwrap().interval(0.95).unwrap();
                interval.low <= 0.5 && 0.5 <= interval.high
            })
            .count();
        assert!((1840..=1960).contains(&held), "{held}");
    }
}
