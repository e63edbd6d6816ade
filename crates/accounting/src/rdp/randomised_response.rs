//! Rényi curve of randomised response, and of any pure DP release.

use super::sampled_gaussian::LogSum;

/// `(α − 1) · RDP(α)` of randomised response over `categories` values.
///
/// With r = 1/(e^ε + m − 1) the two outputs that tell the neighbours apart have probabilities e^ε·r and r, the
/// others r under both. Two categories give the worst case of all ε-DP mechanisms.
///
/// # Source
/// Mironov 2017, Table II; Kairouz, Oh and Viswanath 2015 for the worst case.
pub fn log_moment(categories: u32, epsilon: f64, order: f64) -> f64 {
    let others = f64::from(categories) - 2.0;
    let log_lie = -(epsilon + ((others + 1.0) * (-epsilon).exp()).ln_1p());
    let mut sum = LogSum::default();
    sum.add(log_lie + order * epsilon);
    sum.add(log_lie + (1.0 - order) * epsilon);
    if others > 0.0 {
        sum.add(log_lie + others.ln());
    }
    sum.value().max(0.0) + 1e-15
}

/// `(α − 1) · RDP(α)` of any ε-DP release on a Poisson sample, the larger of both directions.
///
/// # Source
/// Zhu, Dong and Wang 2022, amplification by Poisson sampling, with binary randomised response as the dominating pair.
pub fn sampled_log_moment(sample_rate: f64, epsilon: f64, order: f64) -> f64 {
    let log_lie = -epsilon - (-epsilon).exp().ln_1p();
    let moment = |power: f64| {
        let term = |loss: f64| power * (sample_rate * loss.exp_m1()).ln_1p();
        let mut sum = LogSum::default();
        // Under the record's absence the likely answer is the one with loss −ε.
        sum.add(term(epsilon) + log_lie);
        sum.add(term(-epsilon) + log_lie + epsilon);
        sum.value()
    };
    moment(order).max(moment(1.0 - order)).max(0.0) + 1e-15
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn below_the_general_bounds_for_pure_privacy() {
        for epsilon in [0.1, 1.0, 5.0] {
            for order in [1.5, 2.0, 8.0, 64.0] {
                let rdp = log_moment(2, epsilon, order) / (order - 1.0);
                assert!(rdp <= epsilon && rdp <= 0.5 * order * epsilon * epsilon);
                assert!(log_moment(10, epsilon, order) <= log_moment(2, epsilon, order) + 1e-12);
                let full = sampled_log_moment(1.0, epsilon, order);
                assert!((full - log_moment(2, epsilon, order)).abs() < 1e-12 * (1.0 + full));
            }
        }
    }
}
