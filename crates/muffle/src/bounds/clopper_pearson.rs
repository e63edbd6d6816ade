//! Where the rate of a coin lies that showed so many heads.

use crate::statistics::tails::beta;

/// The rate lies above this with probability `level` at most.
///
/// # Source
/// Clopper and Pearson 1934, "The use of confidence or fiducial limits illustrated in the case of the binomial".
///
/// # Guarantee
/// Whatever the rate is, the bound is below it with probability `level` at most. Tested by simulation.
///
/// # Panics
/// If there are more successes than trials, or no trials.
pub fn upper_rate(successes: u64, trials: u64, level: f64) -> f64 {
    assert!(trials > 0 && successes <= trials, "{successes} successes of {trials} trials");
    if successes == trials {
        return 1.0;
    }
    // The rate at which so few successes have probability `level`: Pr[at most k of n] = 1 − I(k + 1, n − k).
    let (above, left) = ((successes + 1) as f64, (trials - successes) as f64);
    let (mut low, mut high) = (successes as f64 / trials as f64, 1.0);
    // Halving ends when no number is left between the two.
    loop {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            return high;
        }
        if beta(left, above, 1.0 - middle) > level { low = middle } else { high = middle }
    }
}

/// The rate lies below this with probability `level` at most: see [`upper_rate`].
///
/// # Panics
/// As [`upper_rate`].
pub fn lower_rate(successes: u64, trials: u64, level: f64) -> f64 {
    assert!(trials > 0 && successes <= trials, "{successes} successes of {trials} trials");
    1.0 - upper_rate(trials - successes, trials, level)
}

/// Both ends at a confidence of 95 %.
///
/// # Panics
/// As [`upper_rate`].
pub fn interval(successes: u64, trials: u64) -> [f64; 2] {
    [lower_rate(successes, trials, 0.025), upper_rate(successes, trials, 0.025)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::{Key, Purpose, Stream, Uniform};

    #[test]
    fn rates_by_hand() {
        // No success in n trials: (1 − p)^n = level.
        assert!((upper_rate(0, 1000, 0.025) - (1.0 - 0.025f64.powf(1e-3))).abs() < 1e-12);
        assert!((lower_rate(1000, 1000, 0.025) - 0.025f64.powf(1e-3)).abs() < 1e-12);
        assert_eq!((lower_rate(0, 7, 0.025), upper_rate(7, 7, 0.025)), (0.0, 1.0));
        // The binomial sums, added up term by term and solved by bisection.
        assert!((lower_rate(5, 1000, 0.025) - 0.001_625_419_518).abs() < 1e-11);
        assert!((upper_rate(5, 1000, 0.025) - 0.011_629_470_560).abs() < 1e-11);
    }

    /// A bound of level 0.05 fails in more than 276 of 4000 trials, 5.5 deviations above 200, with probability below 1e-6.
    #[test]
    fn a_bound_fails_no_more_often_than_it_says() {
        let mut uniform = Uniform::new(&Key::from_seed(1), Stream::new(Purpose::Audit, 0));
        let bounds: Vec<(f64, f64)> = (0..=60)
            .map(|successes| (lower_rate(successes, 60, 0.05), upper_rate(successes, 60, 0.05)))
            .collect();
        for rate in [0.002, 0.1, 0.5, 0.93] {
            let (mut above, mut below) = (0, 0);
            for _ in 0..4000 {
                let (low, high) = bounds[(0..60).filter(|_| uniform.chance(rate)).count()];
                above += u32::from(high < rate);
                below += u32::from(low > rate);
            }
            assert!(above <= 276 && below <= 276, "rate {rate}: {above} above, {below} below");
        }
    }
}
