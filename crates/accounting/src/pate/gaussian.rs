//! Votes with Gaussian noise.

use super::{losing_by, no_better_than_a_draw};
use crate::event::Event;
use crate::rdp::conversion::improved;
use crate::rdp::orders::best_order;

/// The arg max of vote counts with Gaussian noise on each (GNMax).
///
/// # Source
/// Papernot et al. 2018, "Scalable private learning with PATE", section 4.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GaussianVotes {
    /// σ, the deviation of the noise, in votes.
    pub deviation: f64,
}

impl GaussianVotes {
    /// What one answer costs, whatever the votes.
    ///
    /// # Guarantee
    /// The answer is post-processing of the noisy counts, of which one teacher moves two by one: √2 in L2 norm.
    pub fn event(&self) -> Event {
        Event::gaussian(self.deviation / std::f64::consts::SQRT_2)
    }

    /// A bound on the probability that the noise changes the winner.
    ///
    /// # Source
    /// Papernot et al. 2018, Proposition 7: half the sum over the losers of erfc(Δ/2σ), Δ the distance to the winner.
    pub fn change_probability(&self, votes: &[u64]) -> f64 {
        let terms = losing_by(votes).map(|distance| libm::erfc(distance / (2.0 * self.deviation)) / 2.0);
        no_better_than_a_draw(terms.sum(), votes)
    }

    /// Rényi divergence of one answer at an order, whatever the votes: α/σ².
    pub fn divergence(&self, order: f64) -> f64 {
        order / (self.deviation * self.deviation)
    }

    /// Rényi divergence of one answer at an order, given the votes: small when the teachers agree.
    ///
    /// # Source
    /// Papernot et al. 2018, Theorem 6 and Proposition 10, with the two orders chosen there.
    ///
    /// # Guarantee
    /// An upper bound on the divergence of this query's answer from that for any neighbouring votes; the other direction is theirs. It
    /// is a function of private votes, so a total made of it is internal: publishing it needs a mechanism of its own.
    pub fn divergence_given(&self, votes: &[u64], order: f64) -> f64 {
        self.divergence_at(self.change_probability(votes), order)
    }

    /// The same for votes whose winner changes with at most this probability.
    pub(super) fn divergence_at(&self, change: f64, order: f64) -> f64 {
        // A bound stays one where a probability that is too small for a number is taken as the smallest.
        let change = change.clamp(f64::MIN_POSITIVE, 1.0);
        self.agreed(change, order).map_or(self.divergence(order), |agreed| agreed.min(self.divergence(order)))
    }

    /// The bound for votes whose winner changes with at most this probability; `None` where its conditions do not hold.
    fn agreed(&self, change: f64, order: f64) -> Option<f64> {
        let variance = self.deviation * self.deviation;
        let log_change = change.ln();
        let second = self.deviation * (-log_change).sqrt();
        let first = second + 1.0;
        let (first_divergence, second_divergence) = (first / variance, second / variance);
        let holds = order > 1.0
            && order < first
            && second > 1.0
            && log_change
                <= (second - 1.0) * second_divergence
                    - second * ((first / (first - 1.0)) * (second / (second - 1.0))).ln()
            && -log_change > second_divergence;
        if !holds {
            return None;
        }
        let unchanged =
            (-change).ln_1p() - (-((log_change + second_divergence) * (1.0 - 1.0 / second)).exp()).ln_1p();
        let changed = first_divergence - log_change / (first - 1.0);
        // ln[(1 − q)·A^(α−1) + q·B^(α−1)], each term by its logarithm.
        let terms = [(-change).ln_1p() + (order - 1.0) * unchanged, log_change + (order - 1.0) * changed];
        let largest = terms[0].max(terms[1]);
        let sum: f64 = terms.iter().map(|term| (term - largest).exp()).sum();
        Some((largest + sum.ln()).max(0.0) / (order - 1.0))
    }

    /// Epsilon of queries with known votes; internal, see [`GaussianVotes::divergence_given`].
    pub fn epsilon_given<'a>(&self, queries: impl IntoIterator<Item = &'a [u64]> + Clone, delta: f64) -> f64 {
        self.epsilon_given_beside(queries, 0.0, delta)
    }

    /// The same beside Gaussian mechanisms whose divergence at order α is `slope`·α, such as tests of confidence.
    pub fn epsilon_given_beside<'a>(
        &self,
        queries: impl IntoIterator<Item = &'a [u64]> + Clone,
        slope: f64,
        delta: f64,
    ) -> f64 {
        let total = |order: f64| -> f64 {
            let answers = queries.clone().into_iter().map(|votes| self.divergence_given(votes, order));
            slope * order + answers.sum::<f64>()
        };
        best_order(|order| improved((order - 1.0) * total(order), order, delta), delta, total(2.0) / 2.0).1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Accountant, Adjacency, gdp, pld::Pld};

    #[test]
    fn a_thousand_answers_cost_what_the_tight_bound_says() {
        let votes = GaussianVotes { deviation: 40.0 };
        let price = Pld.epsilon(&votes.event().repeated(1000), Adjacency::AddRemove, 1e-5).unwrap();
        assert!((price.epsilon - 4.983).abs() < 1e-3, "{price:?}");
        assert!((gdp::epsilon(2000f64.sqrt() / 40.0, 1e-5) - 4.983).abs() < 1e-3);
        let total = |order: f64| 1000.0 * votes.divergence(order);
        let epsilon = |order: f64| improved((order - 1.0) * total(order), order, 1e-5);
        assert!((best_order(epsilon, 1e-5, total(2.0) / 2.0).1 - 5.378).abs() < 1e-3);
    }

    /// The exact divergence of an answer between two classes from the one after a teacher has changed its mind.
    fn exact(deviation: f64, lead: f64, order: f64) -> f64 {
        let wins = |lead: f64| libm::erfc(-lead / (2.0 * deviation)) / 2.0;
        let divergence = |from: f64, to: f64| {
            let term = |p: f64, q: f64| (order * p.ln() + (1.0 - order) * q.ln()).exp();
            (term(wins(from), wins(to)) + term(wins(-from), wins(-to))).ln() / (order - 1.0)
        };
        divergence(lead, lead - 2.0).max(divergence(lead, lead + 2.0))
    }

    #[test]
    fn the_bound_given_votes_holds_for_two_classes_and_falls_with_agreement() {
        for deviation in [5.0, 20.0, 40.0, 100.0] {
            let votes = GaussianVotes { deviation };
            for order in [1.5, 2.0, 5.0, 12.0, 30.0] {
                let mut before = f64::INFINITY;
                for behind in [125, 100, 80, 60, 40, 20, 10, 1] {
                    let counts = [250 - behind, behind];
                    let bound = votes.divergence_given(&counts, order);
                    let lead = (250 - 2 * behind) as f64;
                    // What is exact is so to the rounding of probabilities near one.
                    assert!(bound >= exact(deviation, lead, order) - 1e-14, "{deviation} {order} {counts:?}");
                    assert!(bound <= before * (1.0 + 1e-9), "{deviation} {order} {counts:?}");
                    before = bound;
                }
            }
        }
        // Where all but a few agree an answer costs next to nothing.
        let votes = GaussianVotes { deviation: 20.0 };
        assert!(votes.divergence_given(&[245, 5], 8.0) < 1e-3 * votes.divergence(8.0));
    }

    #[test]
    fn ties_and_empty_classes_are_fair_draws() {
        let votes = GaussianVotes { deviation: 10.0 };
        assert_eq!(votes.change_probability(&[7, 7]), 0.5);
        assert_eq!(votes.change_probability(&[0; 10]), 0.9);
        assert_eq!(votes.change_probability(&[9]), 0.0);
        assert_eq!(votes.divergence_given(&[0; 10], 4.0), votes.divergence(4.0));
    }

    #[test]
    fn epsilon_given_votes_is_below_that_without() {
        let votes = GaussianVotes { deviation: 40.0 };
        let agreed = vec![[230u64, 10, 10]; 100];
        let given = votes.epsilon_given(agreed.iter().map(|counts| &counts[..]), 1e-5);
        let tied = vec![[84u64, 83, 83]; 100];
        let without = votes.epsilon_given(tied.iter().map(|counts| &counts[..]), 1e-5);
        assert!(given < 0.5 * without, "{given} {without}");
    }
}
