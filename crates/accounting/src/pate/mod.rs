//! Noisy votes: what it costs to ask an ensemble of teachers, each trained on records of its own.
//!
//! One record belongs to one teacher, and one teacher moves two counts by one vote each.

mod gaussian;
mod laplace;
mod sanitised;

pub use gaussian::GaussianVotes;
pub use laplace::LaplaceVotes;
pub use sanitised::Sanitised;

/// How many votes each of the losers is behind the winner, which is the first of those with most votes.
fn losing_by(votes: &[u64]) -> impl Iterator<Item = f64> + '_ {
    let most = votes.iter().copied().max().unwrap_or_default();
    let winner = votes.iter().position(|&count| count == most);
    let losers = votes.iter().enumerate().filter(move |&(class, _)| Some(class) != winner);
    losers.map(move |(_, count)| (most - count) as f64)
}

/// A bound on the probability of another winner, which is never more than that of a fair draw among the classes.
fn no_better_than_a_draw(probability: f64, votes: &[u64]) -> f64 {
    probability.min(1.0 - 1.0 / votes.len().max(1) as f64)
}
