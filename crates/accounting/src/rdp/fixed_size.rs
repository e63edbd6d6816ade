//! Rényi bound for Gaussian noise on a sample of fixed size.

use super::sampled_gaussian::{LogSum, log_one_plus_exp};

/// `(α − 1) · RDP(α)` under replace_one, and under zero_out, which the same value covers: the proof compares
/// batches with and without the slot, which exchanges two live records.
///
/// Integer orders use the bound; orders in between use the chord of the convex function K, which lies above it;
/// everything is capped by the price without sampling, which holds by joint quasi-convexity.
///
/// # Source
/// Wang, Balle and Kasiviswanathan 2019, Theorem 9, with ε(j) = 2j/σ² (sensitivity twice the threshold):
/// `A = 1 + q² C(α,2) min{4(e^{ε(2)} − 1), 2e^{ε(2)}} + Σ_{j≥3} 2 q^j C(α,j) e^{(j−1)ε(j)}`.
pub fn log_moment(sample_rate: f64, noise_multiplier: f64, order: f64) -> f64 {
    let unsampled = 2.0 * order * (order - 1.0) / (noise_multiplier * noise_multiplier);
    let below = order.floor();
    let at_below = if below > 1.0 { integer_log_moment(sample_rate, noise_multiplier, below) } else { 0.0 };
    let weight = order - below;
    let sampled = if weight == 0.0 {
        at_below
    } else {
        (1.0 - weight) * at_below + weight * integer_log_moment(sample_rate, noise_multiplier, below + 1.0)
    };
    sampled.min(unsampled)
}

fn integer_log_moment(sample_rate: f64, noise_multiplier: f64, order: f64) -> f64 {
    let epsilon = |j: f64| 2.0 * j / (noise_multiplier * noise_multiplier);
    let log_rate = sample_rate.ln();
    let mut log_binomial = 0.0;
    let mut sum = LogSum::default();
    let mut j = 0.0;
    while j < order {
        log_binomial += ((order - j) / (j + 1.0)).ln();
        j += 1.0;
        if j == 2.0 {
            let pair = epsilon(2.0);
            let factor = (4.0_f64.ln() + pair.exp_m1().ln()).min(2.0_f64.ln() + pair);
            sum.add(2.0 * log_rate + log_binomial + factor);
        } else if j >= 3.0 {
            sum.add(2.0_f64.ln() + j * log_rate + log_binomial + (j - 1.0) * epsilon(j));
        }
    }
    log_one_plus_exp(sum.value())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printed_vectors() {
        for (order, expected) in [(2.0, 1.13604e-4), (4.0, 2.32814e-4), (8.0, 4.88393e-4)] {
            let rdp = log_moment(0.01, 4.0, order) / (order - 1.0);
            assert!((rdp / expected - 1.0).abs() < 5e-6, "order {order}: {rdp}");
        }
    }
}
