//! The Poisson-sampled Gaussian when one record is exchanged for another.

use super::cell::Cell;
use super::pair::sampled_loss;
use crate::normal;
use crate::quadrature;

/// P = (1−q)N(0,1) + qN(μ,1) against Q = (1−q)N(0,1) + qN(−μ,1), with μ = 1/σ.
///
/// # Source
/// The pair of the public `dp_accounting` library for this adjacency: given the rest of the sample, the record
/// moves the sum one way in P and, at worst, the opposite way in Q. Halving σ in the pair for add_remove does not
/// dominate it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ReplaceOne {
    sample_rate: f64,
    mu: f64,
}

impl ReplaceOne {
    pub(crate) fn new(sample_rate: f64, noise_multiplier: f64) -> ReplaceOne {
        ReplaceOne {
            sample_rate,
            mu: 1.0 / noise_multiplier,
        }
    }

    pub(crate) fn mu(&self) -> f64 {
        self.mu
    }

    /// The loss at output `z`, increasing in `z`.
    pub(crate) fn loss(&self, z: f64) -> f64 {
        sampled_loss(self.sample_rate, self.mu * (z - 0.5 * self.mu))
            - sampled_loss(self.sample_rate, -self.mu * (z + 0.5 * self.mu))
    }

    /// The density of P.
    pub(crate) fn density(&self, z: f64) -> f64 {
        (1.0 - self.sample_rate) * normal::density(z) + self.sample_rate * normal::density(z - self.mu)
    }

    /// Losses beyond which each part of P has less than the tail beyond `reach`.
    pub(crate) fn range(&self, reach: f64) -> (f64, f64) {
        (self.loss(-reach), self.loss(reach + self.mu))
    }

    /// The output with a given loss. The loss is increasing, so bisection always ends; Newton's steps make it short.
    fn output(&self, loss: f64) -> f64 {
        // |loss| ≤ μ(|z| + μ) + …: the loss grows at most like that of q = 1, 2μz, and at least like this bracket.
        let mut high = 1.0;
        while self.loss(high) < loss.abs() {
            high *= 2.0;
        }
        let mut low = 0.0;
        let mut z = 0.5 * high;
        for _ in 0..200 {
            let value = self.loss(z) - loss.abs();
            if value > 0.0 {
                high = z
            } else {
                low = z
            }
            let slope = {
                let up = sampled_slope(self.sample_rate, self.mu * (z - 0.5 * self.mu));
                let down = sampled_slope(self.sample_rate, -self.mu * (z + 0.5 * self.mu));
                self.mu * (up + down)
            };
            let newton = z - value / slope;
            let next = if newton > low && newton < high {
                newton
            } else {
                0.5 * (low + high)
            };
            if (next - z).abs() <= 1e-15 * z.abs().max(1e-3) {
                z = next;
                break;
            }
            z = next;
        }
        z.copysign(loss)
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

/// Derivative of [`sampled_loss`] in the loss: q e^ℓ/(1 − q + q e^ℓ).
fn sampled_slope(sample_rate: f64, loss: f64) -> f64 {
    sample_rate / (sample_rate + (1.0 - sample_rate) * (-loss).exp())
}
