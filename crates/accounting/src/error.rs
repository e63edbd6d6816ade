//! What can go wrong: bad input, and mechanisms an accountant cannot price.

use crate::Adjacency;
use thiserror::Error;

/// Why no price was given.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum AccountingError {
    /// An argument lies outside its range.
    #[error("{argument} = {value} is outside the allowed range {allowed}")]
    OutOfRange {
        /// Name of the argument.
        argument: &'static str,
        /// What was given.
        value: String,
        /// What would have been accepted.
        allowed: &'static str,
    },
    /// The accountant has no bound for this mechanism.
    #[error("`{accountant}` cannot price {mechanism} under {adjacency}: {remedy}")]
    Refused {
        /// Name of the accountant that refuses.
        accountant: &'static str,
        /// What it was asked to price.
        mechanism: String,
        /// Under which neighbouring relation.
        adjacency: Adjacency,
        /// Why, and what to do instead.
        remedy: &'static str,
    },
    /// Events are nested in a way that stands for no known mechanism.
    #[error("an event of kind `{outer}` cannot contain {inner}: {remedy}")]
    Nesting {
        /// Kind of the enclosing event.
        outer: &'static str,
        /// What it encloses.
        inner: String,
        /// What to do instead.
        remedy: &'static str,
    },
    /// No value of the searched parameter meets the target.
    #[error("no {parameter} in {range} meets epsilon {epsilon} at delta {delta}: {detail}")]
    Unreachable {
        /// What was searched for.
        parameter: &'static str,
        /// Where it was searched.
        range: &'static str,
        /// The target.
        epsilon: f64,
        /// The target.
        delta: f64,
        /// What the best value costs.
        detail: String,
    },
}

impl AccountingError {
    /// An argument outside its range.
    pub fn out_of_range(argument: &'static str, value: impl ToString, allowed: &'static str) -> Self {
        AccountingError::OutOfRange {
            argument,
            value: value.to_string(),
            allowed,
        }
    }
}

/// Checks that `value` lies strictly between zero and one.
pub(crate) fn check_delta(delta: f64) -> Result<(), AccountingError> {
    if delta > 0.0 && delta < 1.0 {
        Ok(())
    } else {
        Err(AccountingError::out_of_range("delta", delta, "(0, 1)"))
    }
}
