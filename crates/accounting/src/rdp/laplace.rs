//! Rényi curve of the Laplace mechanism, with and without Poisson sampling.

use super::sampled_gaussian::LogSum;
use crate::quadrature;

/// `(α − 1) · RDP(α)` of Laplace noise of `scale` on a sum of L1 sensitivity one.
///
/// # Source
/// Mironov 2017, Table II. One coordinate that carries all the change is the worst case in any dimension, because
/// the exponent is convex in 1/scale and vanishes at zero.
pub fn log_moment(scale: f64, order: f64) -> f64 {
    let up = (order - 1.0) / scale;
    let down = -order / scale;
    let weight = order / (2.0 * order - 1.0);
    if up > 30.0 {
        // The second term is below the rounding of the first.
        return weight.ln() + up;
    }
    // In this form the linear terms cancel exactly before rounding can hurt.
    (weight * up.exp_m1() + (1.0 - weight) * down.exp_m1()).max(0.0).ln_1p()
}

/// `(α − 1) · RDP(α)` of the same on a Poisson sample, the larger of both directions.
///
/// # Source
/// Zhu, Dong and Wang 2022, amplification by Poisson sampling: (1−q)B + qA against B, and the reverse, dominate if (A, B) does. The loss
/// of the Laplace pair lies in [−1/b, 1/b] with atoms at both ends and density e^{−(ℓ + 1/b)/2}/4 under B.
pub fn sampled_log_moment(sample_rate: f64, scale: f64, order: f64) -> f64 {
    let end = 1.0 / scale;
    let moment = |power: f64| {
        let term = |loss: f64| power * (sample_rate * loss.exp_m1()).ln_1p();
        let mut sum = LogSum::default();
        sum.add(term(end) + (0.5_f64).ln() - end);
        sum.add(term(-end) + (0.5_f64).ln());
        let panels = (2.0 * end * (1.0 + power.abs())).ceil().clamp(8.0, 20_000.0) as usize;
        quadrature::panels(-end, end, panels, |loss, weight| {
            sum.add(term(loss) - 0.5 * (loss + end) + (0.25 * weight).ln());
        });
        sum.value()
    };
    moment(order).max(moment(1.0 - order)).max(0.0) + 1e-15
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sampling_everyone_changes_nothing() {
        for scale in [0.5, 1.0, 10.0] {
            for order in [1.5, 2.0, 17.0] {
                let difference = sampled_log_moment(1.0, scale, order) - log_moment(scale, order);
                assert!(
                    difference.abs() < 1e-12 * (1.0 + log_moment(scale, order)),
                    "{scale} {order} {difference}"
                );
            }
        }
    }
}
