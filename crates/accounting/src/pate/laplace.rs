//! Votes with Laplace noise.

use super::{losing_by, no_better_than_a_draw};
use crate::event::Event;

/// The arg max of vote counts with Laplace noise of scale 1/γ on each (LNMax).
///
/// # Source
/// Papernot et al. 2017, "Semi-supervised knowledge transfer for deep learning from private training data", section 3.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LaplaceVotes {
    /// γ, the inverse scale of the noise.
    pub inverse_scale: f64,
}

/// Counts that one teacher can move, each by one vote.
const MOVED_COUNTS: u64 = 2;

/// Moments looked at; the best one lies far below for any useful number of queries.
const LARGEST_MOMENT: u32 = 256;

impl LaplaceVotes {
    /// What one answer costs, whatever the votes: exactly, for whoever sees all noisy counts.
    ///
    /// # Guarantee
    /// The answer is post-processing of the noisy counts, of which one teacher moves two by one each: two Laplace mechanisms of
    /// sensitivity one. Their privacy loss distribution composes to less than the (2γ, 0) of the papers, which is what one count
    /// that moves by two would cost.
    pub fn event(&self) -> Event {
        Event::laplace(1.0 / self.inverse_scale).repeated(MOVED_COUNTS)
    }

    /// Epsilon of as many queries by adding up, at delta zero: 2γ each.
    ///
    /// # Source
    /// Papernot et al. 2017, section 3.2.
    pub fn pure_epsilon(&self, queries: u64) -> f64 {
        MOVED_COUNTS as f64 * self.inverse_scale * queries as f64
    }

    /// A bound on the probability that the noise changes the winner.
    ///
    /// # Source
    /// Papernot et al. 2017, the bound on a wrong winner: Σ over the losers of (2 + γΔ)/(4e^(γΔ)), Δ the distance to the winner; and no
    /// more than a fair draw among the classes.
    pub fn change_probability(&self, votes: &[u64]) -> f64 {
        let terms = losing_by(votes).map(|distance| {
            let distance = self.inverse_scale * distance;
            (2.0 + distance) / (4.0 * distance.exp())
        });
        no_better_than_a_draw(terms.sum(), votes)
    }

    /// Log moment of one query whatever the votes.
    ///
    /// # Source
    /// Papernot et al. 2017, section 3.2: each query is (2γ, 0)-private, so α(l) ≤ min(2γ²l(l + 1), 2γl).
    pub fn log_moment(&self, moment: u32) -> f64 {
        let (gamma, moment) = (self.inverse_scale, f64::from(moment));
        (2.0 * gamma * gamma * moment * (moment + 1.0)).min(2.0 * gamma * moment)
    }

    /// Log moment of one query, given the votes: small when the teachers agree.
    ///
    /// # Source
    /// Papernot et al. 2017, the data-dependent moment of a noisy vote.
    ///
    /// # Guarantee
    /// An upper bound for this query. It is a function of private votes, so a total made of it is internal: publishing
    /// it needs a mechanism of its own.
    pub fn log_moment_given(&self, votes: &[u64], moment: u32) -> f64 {
        let (gamma, order) = (self.inverse_scale, f64::from(moment));
        let change = self.change_probability(votes);
        let valid = (2.0 * gamma).exp_m1() / (4.0 * gamma).exp_m1();
        let mut bound = self.log_moment(moment);
        if change < valid {
            let ratio = (1.0 - change) / (1.0 - (2.0 * gamma).exp() * change);
            let agreed = (1.0 - change) * ratio.powf(order) + change * (2.0 * gamma * order).exp();
            bound = bound.min(agreed.ln());
        }
        bound
    }

    /// Epsilon of as many queries, whatever the votes.
    ///
    /// # Guarantee
    /// An upper bound at this delta for neighbours that differ in one teacher.
    pub fn epsilon(&self, queries: u64, delta: f64) -> f64 {
        best(delta, |moment| queries as f64 * self.log_moment(moment))
    }

    /// Epsilon of queries with known votes; internal, see [`LaplaceVotes::log_moment_given`].
    pub fn epsilon_given<'a>(&self, queries: impl IntoIterator<Item = &'a [u64]> + Clone, delta: f64) -> f64 {
        best(delta, |moment| {
            queries.clone().into_iter().map(|votes| self.log_moment_given(votes, moment)).sum()
        })
    }
}

/// The smallest (α(l) + ln(1/δ))/l.
fn best(delta: f64, log_moment: impl Fn(u32) -> f64) -> f64 {
    let epsilon = |moment: u32| (log_moment(moment) - delta.ln()) / f64::from(moment);
    (1..=LARGEST_MOMENT).map(epsilon).fold(f64::INFINITY, f64::min)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Accountant, Adjacency, pld::Pld};

    #[test]
    fn the_exact_price_is_below_moments_which_are_below_the_sum() {
        let votes = LaplaceVotes { inverse_scale: 0.05 };
        assert_eq!(votes.pure_epsilon(100), 10.0);
        for (queries, moments) in [(100, 5.3026), (1000, 20.76)] {
            assert!((votes.epsilon(queries, 1e-5) - moments).abs() < 5e-3);
            let exact = |event: Event| {
                Pld.epsilon(&event.repeated(queries), Adjacency::AddRemove, 1e-5).unwrap().epsilon
            };
            let (two_counts, one_count) = (exact(votes.event()), exact(Event::laplace(10.0)));
            assert!(two_counts < one_count && one_count < moments, "{queries}: {two_counts} {one_count}");
        }
        // A single answer cannot lose more than 2γ.
        let single = Pld.epsilon(&votes.event(), Adjacency::AddRemove, 1e-12).unwrap().epsilon;
        assert!(single <= 0.1 + 1e-6 && single > 0.0999, "{single}");
    }
}
