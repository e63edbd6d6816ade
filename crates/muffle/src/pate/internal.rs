//! Figures for the holder of the records: what the votes at hand cost, and how far the teachers agree.

use super::votes::Votes;
use muffle_accounting::pate::{GaussianVotes, LaplaceVotes};
use serde::Serialize;

/// What the votes say that is not to be published.
///
/// # Guarantee
/// None. Every figure is a function of raw votes: **internal**, for the holder of the records. Quoting the data-dependent epsilon is
/// what the papers do, and it gives away what it is computed from: see `a_near_tie_shows_in_the_published_epsilon` in the tests.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Internal {
    /// What this is.
    pub warning: &'static str,
    /// Epsilon given the votes, by the moments of 2017 or the Rényi bound of 2018; not a proof that may be quoted.
    pub data_dependent_epsilon: f64,
    /// At this delta.
    pub delta: f64,
    /// Queries by the share of teachers that agree with the most, in tenths: the last bin holds 90 per cent and more.
    pub agreement: [u64; 10],
    /// Raw votes, query by query.
    pub votes: Vec<Vec<u64>>,
}

const WARNING: &str = "internal: computed from raw votes without noise, not to be published";

impl Internal {
    /// Of the votes of all queries.
    pub fn new(rule: &Votes, votes: &[Vec<u64>], delta: f64) -> Internal {
        let mut agreement = [0; 10];
        for counts in votes {
            let (most, all) = (counts.iter().max().copied().unwrap_or(0), counts.iter().sum::<u64>().max(1));
            agreement[((10 * most / all) as usize).min(9)] += 1;
        }
        Internal {
            warning: WARNING,
            data_dependent_epsilon: data_dependent_epsilon(rule, votes, delta),
            delta,
            agreement,
            votes: votes.to_vec(),
        }
    }
}

/// Epsilon given the votes, as the papers quote it: **not private**.
///
/// # Source
/// Papernot et al. 2017, theorem 3 for Laplace noise; Papernot et al. 2018, theorem 6 for Gaussian noise. Tests of confidence are
/// priced whatever the votes, and answers as if every query had one.
///
/// # Panics
/// If the noise is not settled.
pub fn data_dependent_epsilon(rule: &Votes, votes: &[Vec<u64>], delta: f64) -> f64 {
    let queries = votes.iter().map(Vec::as_slice);
    match *rule {
        Votes::Laplace { inverse_scale } => {
            let inverse_scale = inverse_scale.expect("the noise is settled");
            LaplaceVotes { inverse_scale }.epsilon_given(queries, delta)
        }
        _ => {
            let deviation = rule.noise().expect("the noise is settled");
            // A test of deviation σ has the divergence α/(2σ²) at order α.
            let tests =
                rule.check_deviation().map_or(0.0, |check| votes.len() as f64 / (2.0 * check * check));
            GaussianVotes { deviation }.epsilon_given_beside(queries, tests, delta)
        }
    }
}
