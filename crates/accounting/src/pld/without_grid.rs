//! Upper bounds on epsilon that need no grid. They decide the corners in which nearly nothing is lost, where a grid would
//! have to resolve losses far below any epsilon that matters.

use super::Direction;

impl Direction {
    /// Bound on the total variation distance of the whole composition. If it is at most δ, epsilon is zero.
    ///
    /// # Source
    /// The coupling lemma: one step's outputs can be drawn so that they agree with probability 1 − TV, whatever
    /// happened before, and as long as all agree the next step is the same in both worlds. So all agree with
    /// probability Π(1 − TV_t) at least, and δ(0), which is the total variation distance, is at most the complement.
    /// For a sampled record, TV ≤ q: the chance that it is ever sampled is a special case.
    pub(super) fn total_variation(&self) -> f64 {
        let log_agree: f64 =
            self.pairs.iter().map(|(pair, count)| count * (-pair.total_variation()).ln_1p()).sum();
        // Far more than the rounding of the terms, and upwards.
        -log_agree.exp_m1() * (1.0 + 1e-9)
    }

    /// An epsilon that the loss exceeds with probability δ at most.
    ///
    /// # Source
    /// δ(ε) ≤ P[L > ε], and by the union bound no single loss leaves its range, made for a tail of δ/(2T), except with
    /// probability δ/2; a loss inside is at most the upper end. The factor two is room for rounding in the range.
    pub(super) fn loss_bound(&self, delta: f64) -> f64 {
        let log_tail = (0.5 * delta / self.steps()).ln();
        let infinite: f64 = self.pairs.iter().map(|(pair, count)| count * pair.atoms().1).sum();
        if infinite > 0.0 {
            return f64::INFINITY;
        }
        self.pairs.iter().map(|(pair, count)| count * pair.range(log_tail).1).sum::<f64>().max(0.0)
    }
}
