//! Rényi curve of the Poisson-sampled Gaussian, add_remove, zero_out and replace_one.

use crate::normal::LOG_SQRT_TAU;

/// More quadrature nodes than this and the sum over integer orders is cheaper.
const MOST_NODES: f64 = 4000.0;

/// `(α − 1) · RDP(α)` under add_remove and zero_out.
///
/// With w = (2x − 1)/(2σ²) and y = q(e^w − 1), `x ~ N(0, σ²)`, the moment is `A(α) = E (1 + y)^α`, and since
/// E y = 0,
///
/// `A(α) − 1 = E[(1 + y)^α − 1 − αy]`,
///
/// an integral of a *positive* function (Bernoulli's inequality). The usual series for fractional orders has
/// alternating signs and loses all digits when q is small; this form keeps them at every rate. The integrand is
/// analytic in a strip of half-width πσ² around the real axis, so the trapezoidal rule is exact to rounding with
/// a few hundred nodes. Very large orders use the binomial sum at the neighbouring integers: K is convex, so the
/// chord between them is an upper bound.
///
/// # Source
/// Mironov, Talwar and Zhang 2019 (the sampled Gaussian mechanism); Abadi et al. 2016 for integer orders.
///
/// # Guarantee
/// Bounds both directions of add_remove: removing is the dearer one at every order (ibid.).
pub fn log_moment(sample_rate: f64, noise_multiplier: f64, order: f64) -> f64 {
    if sample_rate == 1.0 {
        return 0.5 * order * (order - 1.0) / (noise_multiplier * noise_multiplier);
    }
    if order == order.floor() && order < 64.0 {
        return integer_log_moment(sample_rate, noise_multiplier, order);
    }
    let grid = Grid::new(noise_multiplier, 0.0, order.max(2.0));
    if grid.nodes() <= MOST_NODES {
        return log_one_plus_exp(fractional_log_excess(sample_rate, noise_multiplier, order, &grid));
    }
    let below = order.floor();
    let at_below = if below > 1.0 { integer_log_moment(sample_rate, noise_multiplier, below) } else { 0.0 };
    if order == below {
        return at_below;
    }
    let weight = order - below;
    (1.0 - weight) * at_below + weight * integer_log_moment(sample_rate, noise_multiplier, below + 1.0)
}

/// The binomial sum: `A − 1 = Σ_{k≥2} C(α,k) (1−q)^{α−k} q^k (e^{(k²−k)/(2σ²)} − 1)`, all terms positive.
fn integer_log_moment(sample_rate: f64, noise_multiplier: f64, order: f64) -> f64 {
    let log_odds = sample_rate.ln() - (-sample_rate).ln_1p();
    let half_precision = 0.5 / (noise_multiplier * noise_multiplier);
    let mut log_binomial = order * (-sample_rate).ln_1p();
    let mut sum = LogSum::default();
    let mut k = 0.0;
    while k < order {
        log_binomial += ((order - k) / (k + 1.0)).ln() + log_odds;
        k += 1.0;
        let exponent = (k * k - k) * half_precision;
        if k >= 2.0 {
            let log_growth = if exponent < 30.0 { exponent.exp_m1().ln() } else { exponent };
            sum.add(log_binomial + log_growth);
        }
    }
    log_one_plus_exp(sum.value())
}

/// Logarithm of `A(α) − 1` by the trapezoidal rule.
fn fractional_log_excess(sample_rate: f64, noise_multiplier: f64, order: f64, grid: &Grid) -> f64 {
    let mut sum = LogSum::default();
    for t in grid.points() {
        let loss = t / noise_multiplier - 0.5 / (noise_multiplier * noise_multiplier);
        let y = if loss < 700.0 { sample_rate * loss.exp_m1() } else { f64::INFINITY };
        let log_ratio = if y.is_finite() { y.ln_1p() } else { sample_rate.ln() + loss };
        let log_excess = if order * y.abs() < 1e-3 {
            // Taylor expansion: the direct form cancels to second order here.
            let tail = 1.0 + (order - 4.0) / 5.0 * y;
            let tail = 1.0 + (order - 2.0) / 3.0 * y * (1.0 + (order - 3.0) / 4.0 * y * tail);
            (0.5 * order * (order - 1.0) * y * y * tail).ln()
        } else {
            // (1 + y)^α − 1 − αy = (1 + y)((1 + y)^β − 1) − βy with β = α − 1: no cancellation near α = 1.
            let excess = order - 1.0;
            let growth = excess * log_ratio;
            if log_ratio < 0.0 {
                (log_ratio.exp() * growth.exp_m1() - excess * y).max(0.0).ln()
            } else if growth < 30.0 {
                let share = -excess * (-log_ratio).exp_m1() / growth.exp_m1();
                log_ratio + growth.exp_m1().ln() + (-share).ln_1p()
            } else {
                log_ratio + growth
            }
        };
        sum.add(log_excess - 0.5 * t * t);
    }
    sum.value() + grid.step.ln() - LOG_SQRT_TAU
}

/// `(α − 1) · RDP(α)` of the pair (1−q)N(0,σ²) + qN(1,σ²) against (1−q)N(0,σ²) + qN(−1,σ²).
///
/// # Source
/// The dominating pair of the Poisson-sampled Gaussian for the exchange of one record, as in `dp_accounting`; the proof
/// stands at the same pair in the `pld` module. A pair that dominates at every order of the hockey stick has the larger
/// Rényi divergence (Zhu, Dong and Wang 2022). Halving σ in [`log_moment`] is not a bound for it.
pub fn replace_one_log_moment(sample_rate: f64, noise_multiplier: f64, order: f64) -> f64 {
    if sample_rate == 1.0 {
        return 2.0 * order * (order - 1.0) / (noise_multiplier * noise_multiplier);
    }
    let grid = Grid::new(noise_multiplier, 2.0, order.max(2.0) + 1.0);
    if grid.nodes() > 20.0 * MOST_NODES {
        return f64::INFINITY;
    }
    let half_precision = 0.5 / (noise_multiplier * noise_multiplier);
    let log_mixture = |loss: f64| {
        if loss < 700.0 { (sample_rate * loss.exp_m1()).ln_1p() } else { sample_rate.ln() + loss }
    };
    let mut sum = LogSum::default();
    for t in grid.points() {
        let numerator = log_mixture(t / noise_multiplier - half_precision);
        let denominator = log_mixture(-t / noise_multiplier - half_precision);
        sum.add(order * numerator + (1.0 - order) * denominator - 0.5 * t * t);
    }
    // The sum can only lose digits by rounding: it is one plus a small excess, so guard the last ones.
    (sum.value() + grid.step.ln() - LOG_SQRT_TAU).max(0.0) + 1e-15
}

/// Nodes of the trapezoidal rule for integrands whose mass lies within twelve standard deviations of an
/// interval of means, and whose nearest singularity is πσ away.
struct Grid {
    start: f64,
    end: f64,
    step: f64,
}

impl Grid {
    fn new(noise_multiplier: f64, leftmost: f64, rightmost: f64) -> Grid {
        Grid {
            start: -12.0 - leftmost / noise_multiplier,
            end: 12.0 + rightmost / noise_multiplier,
            // The error of the rule is exp(−2π · πσ / step): e^−40 here.
            step: (0.49 * noise_multiplier).min(0.4),
        }
    }

    fn nodes(&self) -> f64 {
        (self.end - self.start) / self.step
    }

    fn points(&self) -> impl Iterator<Item = f64> + '_ {
        (0..=self.nodes().ceil() as usize).map(|node| self.start + node as f64 * self.step)
    }
}

/// A running sum of exponentials that neither overflows nor underflows.
pub(super) struct LogSum {
    largest: f64,
    scaled: f64,
}

impl Default for LogSum {
    fn default() -> Self {
        LogSum { largest: f64::NEG_INFINITY, scaled: 0.0 }
    }
}

impl LogSum {
    pub(super) fn add(&mut self, term: f64) {
        if term <= self.largest {
            // Terms below the rounding of the sum need no exponential.
            if term > self.largest - 60.0 {
                self.scaled += (term - self.largest).exp();
            }
        } else {
            self.scaled = self.scaled * (self.largest - term).exp() + 1.0;
            self.largest = term;
        }
    }

    pub(super) fn value(&self) -> f64 {
        if self.scaled == 0.0 { f64::NEG_INFINITY } else { self.largest + self.scaled.ln() }
    }
}

/// `ln(1 + e^x)` without overflow.
pub(super) fn log_one_plus_exp(x: f64) -> f64 {
    if x > 40.0 { x } else { x.exp().ln_1p() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rdp(sample_rate: f64, noise_multiplier: f64, order: f64) -> f64 {
        log_moment(sample_rate, noise_multiplier, order) / (order - 1.0)
    }

    #[test]
    fn printed_vectors() {
        for (q, sigma, order, expected) in [
            (0.01, 6.0, 2.0, 2.816713777e-6),
            (0.01, 6.0, 14.0, 1.978387759e-5),
            (0.01, 6.0, 64.0, 9.174515529e-5),
            (0.01, 1.1, 8.0, 5.840703355e-4),
            (256.0 / 60000.0, 1.1, 5.5, 6.616594608e-5),
            (0.01, 2.0, 1.5, 2.126900936e-5),
            (0.5, 1.0, 3.0, 0.6968891186),
            (1.0, 2.0, 10.0, 1.25),
        ] {
            let value = rdp(q, sigma, order);
            assert!((value / expected - 1.0).abs() < 1e-9, "({q}, {sigma}, {order}): {value}");
        }
    }

    #[test]
    fn quadrature_agrees_with_the_binomial_sum() {
        for q in [1e-7, 1e-3, 0.1, 0.7] {
            for sigma in [0.2, 0.6, 1.0, 5.0, 200.0] {
                for order in [2.0, 3.0, 7.0, 31.0] {
                    let grid = Grid::new(sigma, 0.0, order);
                    let sum = integer_log_moment(q, sigma, order);
                    let integral = log_one_plus_exp(fractional_log_excess(q, sigma, order, &grid));
                    assert!(
                        (integral / sum - 1.0).abs() < 1e-9,
                        "q {q} sigma {sigma} order {order}: {integral} {sum}"
                    );
                }
            }
        }
    }
}
