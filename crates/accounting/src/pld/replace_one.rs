//! The Poisson-sampled Gaussian when one record is exchanged for another.

use super::cell::Cell;
use super::pair::{mixture_quantile, sampled_loss};
use crate::normal;
use crate::quadrature;

/// P = (1−q)N(0,1) + qN(μ,1) against Q = (1−q)N(0,1) + qN(−μ,1), with μ = 1/σ.
///
/// # Source
/// The public `dp_accounting` library uses this pair; the proof that it dominates is ours. Halving σ in the pair for
/// add_remove does not dominate it.
///
/// Given the rest of the sample, the release is N(0, I) shifted by v with probability q in the one world and by w in
/// the other, after the common part is subtracted, with |v|, |w| ≤ μ: P_v = (1−q)N(0) + qN(v) and Q_w likewise. The
/// rest has the same law in both worlds, and hockey-stick divergences are jointly convex, so the worst v and w bound
/// the whole. For α ≥ 1 and any test A,
/// `P_v(A) − αQ_w(A) = q N(v)(A) − (1−q)(α−1) N(0)(A) − αq N(w)(A)`.
/// Let N(v)(A) = Φ(t). By the Neyman–Pearson lemma N(u)(A) ≥ Φ(t − |u − v|) for every u, so with |v| ≤ μ and
/// |w − v| ≤ 2μ the above is at most
/// `q Φ(t) − (1−q)(α−1) Φ(t − μ) − αq Φ(t − 2μ)`,
/// because neither coefficient is positive and Φ increases. On a line with v = μ and w = −μ the half-line above μ − t
/// attains it: one test is the best against both parts. So H_α(P_v, Q_w) ≤ H_α(P_μ, Q_−μ). For α < 1,
/// H_α(P, Q) = 1 − α + α H_{1/α}(Q, P), and (Q_w, P_v) is of the same family with v and w exchanged.
///
/// # Guarantee
/// Dominates the Gaussian release of a clipped sum on a Poisson sample for the exchange of one record, at every order and
/// for all contributions of norm at most one, in any dimension. Tested for contributions in the plane.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ReplaceOne {
    sample_rate: f64,
    mu: f64,
    /// ln A/B with A = 1 − q and B = q e^{−μ²/2}.
    log_odds: f64,
}

impl ReplaceOne {
    pub(crate) fn new(sample_rate: f64, noise_multiplier: f64) -> ReplaceOne {
        let mu = 1.0 / noise_multiplier;
        let log_odds = ((1.0 - sample_rate) / sample_rate).ln() + 0.5 * mu * mu;
        ReplaceOne { sample_rate, mu, log_odds }
    }

    pub(crate) fn mu(&self) -> f64 {
        self.mu
    }

    /// The total variation distance: the loss is positive where `z` is, so it is q(Φ(μ) − Φ(−μ)).
    pub(crate) fn total_variation(&self) -> f64 {
        self.sample_rate * normal::between(-self.mu, self.mu)
    }

    /// The loss at output `z`, increasing and odd in `z`: with y = e^{μ|z|} it is ln (A + By)/(A + B/y), where the ratio
    /// exceeds one by (y − 1/y)/(A/B + 1/y).
    pub(crate) fn loss(&self, z: f64) -> f64 {
        let log_y = self.mu * z.abs();
        let size = if log_y < 300.0 && self.log_odds < 300.0 {
            (2.0 * log_y.sinh() / (self.log_odds.exp() + (-log_y).exp())).ln_1p()
        } else {
            let half_square = 0.5 * self.mu * self.mu;
            sampled_loss(self.sample_rate, log_y - half_square)
                - sampled_loss(self.sample_rate, -log_y - half_square)
        };
        size.copysign(z)
    }

    /// The density of P.
    pub(crate) fn density(&self, z: f64) -> f64 {
        (1.0 - self.sample_rate) * normal::density(z) + self.sample_rate * normal::density(z - self.mu)
    }

    /// Losses outside of which P has at most probability `exp(log_tail)` on either side.
    pub(crate) fn range(&self, log_tail: f64) -> (f64, f64) {
        let top = mixture_quantile(self.sample_rate, self.mu, log_tail);
        (self.loss(-normal::upper_quantile(log_tail)), self.loss(top))
    }

    /// The output with a given loss: y solves By² − A(e^ℓ − 1)y − e^ℓ B = 0, and the positive root is
    /// e^{ℓ/2 + asinh(A/B · sinh(ℓ/2))}.
    fn output(&self, loss: f64) -> f64 {
        let half = 0.5 * loss.abs();
        let log_y = if self.log_odds < 300.0 && half < 300.0 {
            half + (self.log_odds.exp() * half.sinh()).asinh()
        } else {
            // ln sinh, and asinh(t) = ln 2t for large t; a loss of zero is at zero.
            let log_sinh = half + (-0.5 * (-2.0 * half).exp_m1()).ln();
            half + (std::f64::consts::LN_2 + self.log_odds + log_sinh).max(0.0)
        };
        (log_y / self.mu).copysign(loss)
    }

    pub(crate) fn cell(&self, lower: f64, upper: f64) -> Cell {
        let (start, end) = (self.output(lower), self.output(upper));
        let steepness = start.abs().max(end.abs()).max(1.0) + self.mu;
        let panels = (2.0 * (end - start) * steepness).ceil().clamp(1.0, 4096.0);
        let mut cell = Cell::default();
        quadrature::panels(start, end, panels as usize, |z, weight| {
            let (mass, loss) = (weight * self.density(z), self.loss(z));
            cell.left -= mass * (lower - loss).min(0.0).exp_m1();
            cell.right += mass * (upper - loss).max(0.0).exp_m1();
        });
        cell
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// H_α of (1−q)N(0) + qN(v) against (1−q)N(0) + qN(w) in the plane, by the midpoint rule.
    fn hockey_stick(q: f64, v: [f64; 2], w: [f64; 2], alpha: f64) -> f64 {
        let step = 0.04;
        let at = |index: i32| step * (f64::from(index) + 0.5);
        let density = |x: f64, y: f64| normal::density(x) * normal::density(y);
        let mut sum = 0.0;
        for x in (-200..200).map(at) {
            for y in (-200..200).map(at) {
                let shared = (1.0 - q) * density(x, y);
                let with = shared + q * density(x - v[0], y - v[1]);
                let without = shared + q * density(x - w[0], y - w[1]);
                sum += (with - alpha * without).max(0.0);
            }
        }
        sum * step * step
    }

    #[test]
    fn opposite_unit_contributions_are_the_worst() {
        let mu = 1.3;
        let worst = ([mu, 0.0], [-mu, 0.0]);
        let others = [
            ([mu, 0.0], [0.0, 0.0]),
            ([0.0, 0.0], [-mu, 0.0]),
            ([mu, 0.0], [0.0, mu]),
            ([mu, 0.0], [0.6 * mu, 0.8 * mu]),
            ([0.5 * mu, 0.0], [-mu, 0.0]),
            ([mu, 0.0], [-0.96 * mu, 0.28 * mu]),
        ];
        for q in [0.05, 0.6] {
            for alpha in [0.3, 0.8, 0.99, 1.0, 1.01, 1.3, 4.0] {
                let most = hockey_stick(q, worst.0, worst.1, alpha);
                for (v, w) in others {
                    let other = hockey_stick(q, v, w, alpha);
                    assert!(other <= most + 1e-6, "{q} {alpha} {v:?} {w:?}: {other} > {most}");
                }
            }
        }
    }

    #[test]
    fn outputs_invert_losses() {
        for sample_rate in [1e-7, 0.01, 0.5, 0.999] {
            for noise_multiplier in [0.02, 0.2, 1.0, 200.0] {
                let pair = ReplaceOne::new(sample_rate, noise_multiplier);
                for z in [-30.0, -3.0, -1e-3, 1e-9, 0.5, 8.0, 40.0] {
                    let loss = pair.loss(z);
                    let found = pair.output(loss);
                    // Where the loss is flat, its own rounding decides.
                    let slope = (pair.loss(z + 1e-6) - pair.loss(z - 1e-6)) / 2e-6;
                    let room = 1e-12 * z.abs() + 1e-15 * (loss.abs() + sample_rate) / slope;
                    assert!((found - z).abs() <= room, "{pair:?} {z}: {found}");
                }
            }
        }
    }
}
