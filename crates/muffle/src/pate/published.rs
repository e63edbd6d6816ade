//! The published practice: an epsilon that is computed from the votes, and printed.

use super::internal::data_dependent_epsilon;
use super::votes::Votes;
use crate::ledger::{Access, Purpose, Receipt};
use crate::mechanism::{BoundedVector, Mechanism};
use muffle_accounting::Event;

/// The release of the raw figure.
pub const PUBLISHED: Purpose = Purpose::new("published_epsilon");

/// What it costs to print a figure of the votes without noise: more than any epsilon.
pub(super) fn event() -> Event {
    Event::NonPrivate
}

/// The access that prints it.
pub(super) fn access() -> Access {
    Access::all(PUBLISHED, 0, event())
}

/// What the papers' argument gives whatever the votes: that of queries on which no two teachers agree.
pub(super) fn most(rule: &Votes, queries: u64, classes: usize, delta: f64) -> f64 {
    data_dependent_epsilon(rule, &vec![vec![0; classes]; queries as usize], delta)
}

/// The papers' epsilon of these votes, released without noise.
///
/// # Guarantee
/// None: it is a function of private votes, and is paid for as one that nothing protects.
pub(super) fn release(
    rule: &Votes,
    votes: &[Vec<u64>],
    delta: f64,
    mechanism: &Mechanism,
    receipt: Receipt,
) -> f64 {
    // Nothing bounds how far one record moves it: this makes the grid fine, and wide enough for any epsilon that says something.
    let figure = BoundedVector::l2(vec![data_dependent_epsilon(rule, votes, delta)], 1e-6);
    mechanism.answer(figure, 0.0, receipt).0[0]
}
