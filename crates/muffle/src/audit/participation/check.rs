//! What was seen beside what had to be expected.

use crate::statistics::tails::beta;
use serde::Serialize;

/// One way in which draws could differ from what is charged.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Check {
    /// In words.
    pub name: &'static str,
    /// The share that was seen.
    pub observed: f64,
    /// The share that is charged for.
    pub expected: f64,
    /// How likely at most something as far off is, if what is charged is what is drawn.
    pub p_value: f64,
}

impl Check {
    /// Successes in independent trials of known probability.
    pub(super) fn share(name: &'static str, successes: u64, trials: u64, probability: f64) -> Check {
        let observed = if trials > 0 { successes as f64 / trials as f64 } else { probability };
        Check { name, observed, expected: probability, p_value: two_sided(successes, trials, probability) }
    }

    /// Something that never happens.
    pub(super) fn never(name: &'static str, happened: u64, trials: u64) -> Check {
        Check::share(name, happened, trials, 0.0)
    }

    /// How often each of many was drawn in the same number of independent trials: the one that is most off.
    pub(super) fn most_uneven(name: &'static str, counts: &[u64], trials: u64, probability: f64) -> Check {
        let extremes = [counts.iter().min(), counts.iter().max()].into_iter().flatten();
        let checks = extremes.map(|&count| Check::share(name, count, trials, probability));
        let worst = checks.min_by(|one, two| one.p_value.total_cmp(&two.p_value));
        let worst = worst.unwrap_or_else(|| Check::share(name, 0, 0, probability));
        // Any of them could have been the worst.
        Check { p_value: (worst.p_value * counts.len().max(1) as f64).min(1.0), ..worst }
    }

    /// Numbers of a known distribution on 0..=`last`: how often they lie in its middle.
    ///
    /// Numbers that do not vary as they should are always there, or never.
    pub(super) fn middle(
        name: &'static str,
        numbers: &[u64],
        last: u64,
        log_mass: &dyn Fn(u64) -> f64,
    ) -> Check {
        let (low, high, mass) = middle(last, log_mass);
        let inside = numbers.iter().filter(|number| (low..=high).contains(*number)).count() as u64;
        Check::share(name, inside, numbers.len() as u64, mass)
    }
}

/// The shortest interval around the most likely number that holds half of all probability, and how much it holds.
fn middle(last: u64, log_mass: &dyn Fn(u64) -> f64) -> (u64, u64, f64) {
    let mass = |number: u64| log_mass(number).exp();
    let mode = (0..=last).max_by(|one, two| log_mass(*one).total_cmp(&log_mass(*two))).unwrap_or_default();
    let (mut low, mut high, mut inside) = (mode, mode, mass(mode));
    while inside < 0.5 && (low > 0 || high < last) {
        let below = if low > 0 { mass(low - 1) } else { -1.0 };
        let above = if high < last { mass(high + 1) } else { -1.0 };
        if below > above {
            low -= 1
        } else {
            high += 1
        }
        inside += below.max(above);
    }
    (low, high, inside.min(1.0))
}

/// Twice the smaller tail of a binomial.
fn two_sided(successes: u64, trials: u64, probability: f64) -> f64 {
    let (hits, misses) = (successes as f64, (trials - successes) as f64);
    let at_least = if successes == 0 { 1.0 } else { beta(hits, misses + 1.0, probability) };
    let at_most = if successes == trials { 1.0 } else { beta(misses, hits + 1.0, 1.0 - probability) };
    (2.0 * at_least.min(at_most)).min(1.0)
}

/// Logarithm of the number of ways to choose.
fn log_ways(all: u64, chosen: u64) -> f64 {
    let gamma = |number: u64| libm::lgamma(number as f64 + 1.0);
    gamma(all) - gamma(chosen) - gamma(all - chosen)
}

/// Logarithm of the probability of so many successes in independent trials.
pub(super) fn log_binomial(trials: u64, probability: f64, successes: u64) -> f64 {
    // 0·ln 0 is nothing.
    let times = |count: u64, logarithm: f64| if count == 0 { 0.0 } else { count as f64 * logarithm };
    log_ways(trials, successes)
        + times(successes, probability.ln())
        + times(trials - successes, (-probability).ln_1p())
}

/// Logarithm of the probability that two random subsets of `size` among `all` have so many in common.
pub(super) fn log_common(all: u64, size: u64, common: u64) -> f64 {
    match size - common <= all - size {
        true => log_ways(size, common) + log_ways(all - size, size - common) - log_ways(all, size),
        false => f64::NEG_INFINITY,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tails_by_hand() {
        // Three heads or more of four: 5/16; one or fewer as well.
        assert!((two_sided(3, 4, 0.5) - 0.625).abs() < 1e-12);
        assert!((two_sided(1, 4, 0.5) - 0.625).abs() < 1e-12);
        assert_eq!(two_sided(2, 4, 0.5), 1.0);
        assert!((two_sided(4, 4, 0.5) - 0.125).abs() < 1e-12);
        // What cannot be, what must be, and nothing at all.
        assert_eq!((two_sided(0, 9, 0.0), two_sided(1, 9, 0.0)), (1.0, 0.0));
        assert_eq!((two_sided(9, 9, 1.0), two_sided(8, 9, 1.0)), (1.0, 0.0));
        assert_eq!(two_sided(0, 0, 0.3), 1.0);
    }

    #[test]
    fn distributions_by_hand() {
        assert!((log_binomial(4, 0.5, 1).exp() - 0.25).abs() < 1e-12);
        assert_eq!((log_binomial(4, 1.0, 4), log_binomial(4, 1.0, 3)), (0.0, f64::NEG_INFINITY));
        // Two of four, twice: all six pairs of one subset, of which one is the same and one the opposite.
        for (common, expected) in [(0, 1.0 / 6.0), (1, 4.0 / 6.0), (2, 1.0 / 6.0)] {
            assert!((log_common(4, 2, common).exp() - expected).abs() < 1e-12);
        }
        assert_eq!(log_common(3, 2, 0), f64::NEG_INFINITY);
        let (low, high, mass) = middle(4, &|number| log_binomial(4, 0.5, number));
        assert_eq!((low, high), (2, 3));
        assert!((mass - 10.0 / 16.0).abs() < 1e-12);
    }

    #[test]
    fn the_record_that_is_most_off_is_one_of_many() {
        let check = Check::most_uneven("records", &[2, 2, 4], 4, 0.5);
        assert_eq!((check.observed, check.expected), (1.0, 0.5));
        assert!((check.p_value - 0.375).abs() < 1e-12);
    }
}
