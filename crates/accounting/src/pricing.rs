//! What every accountant has in common.

use crate::Adjacency;
use crate::composition::{Composition, Mechanism, Release, Sampling};
use crate::error::{AccountingError, check_delta};
use crate::event::{Assignment, Event};

/// How far a figure can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// An upper bound with a proof.
    Proof,
    /// A formula as some paper printed it; not a proved bound everywhere.
    Published,
    /// An approximation that can lie on either side of the truth.
    Estimate,
}

impl Standing {
    /// A short label for tables.
    pub fn label(self) -> &'static str {
        match self {
            Standing::Proof => "proof",
            Standing::Published => "published, not a proof",
            Standing::Estimate => "estimate",
        }
    }
}

/// What a composition costs at one delta.
#[derive(Clone, Debug, PartialEq)]
pub struct Price {
    /// Never negative, never NaN; infinite when there is no finite bound.
    pub epsilon: f64,
    /// A proved lower bound on the best possible epsilon, where the accountant has one.
    pub lower: Option<f64>,
    /// Why epsilon is infinite, or why it is wider than usual.
    pub note: Option<String>,
}

impl Price {
    /// A price without a lower bound.
    pub fn upper(epsilon: f64) -> Price {
        Price { epsilon: epsilon.max(0.0), lower: None, note: None }
    }

    /// No finite bound, and why.
    pub fn infinite(reason: impl Into<String>) -> Price {
        Price { epsilon: f64::INFINITY, lower: None, note: Some(reason.into()) }
    }
}

/// Prices compositions. An accountant refuses by name what it has no bound for.
pub trait Accountant: Sync {
    /// The name in tables, JSON and on the command line.
    fn name(&self) -> &'static str;

    /// How far its figures can be trusted.
    fn standing(&self) -> Standing;

    /// One sentence: what must hold for the figure to be true.
    fn assumption(&self) -> &'static str;

    /// Epsilon at `delta` of mechanisms that have a meaning under `adjacency`. Use [`Accountant::epsilon`].
    fn price(
        &self,
        composition: &Composition,
        adjacency: Adjacency,
        delta: f64,
    ) -> Result<Price, AccountingError>;

    /// Epsilon of `event` at `delta`.
    ///
    /// # Guarantee
    /// A claim or an unprotected access anywhere in the event makes the price infinite, with the reason.
    fn epsilon(&self, event: &Event, adjacency: Adjacency, delta: f64) -> Result<Price, AccountingError> {
        check_delta(delta)?;
        let composition = Composition::of(event)?;
        if let Some(reason) = composition.unbounded {
            return Ok(Price::infinite(reason));
        }
        check_all(self.name(), &composition, adjacency)?;
        if composition.steps.is_empty() {
            return Ok(Price { epsilon: 0.0, lower: Some(0.0), note: None });
        }
        self.price(&composition, adjacency, delta)
    }
}

/// A refusal by `accountant`.
pub(crate) fn refuse(
    accountant: &'static str,
    mechanism: &Mechanism,
    adjacency: Adjacency,
    remedy: &'static str,
) -> AccountingError {
    AccountingError::Refused { accountant, mechanism: mechanism.to_string(), adjacency, remedy }
}

/// Checks that every mechanism has a meaning under the adjacency.
pub(crate) fn check_all(
    accountant: &'static str,
    composition: &Composition,
    adjacency: Adjacency,
) -> Result<(), AccountingError> {
    composition.steps.iter().try_for_each(|step| check_meaning(accountant, &step.mechanism, adjacency))
}

/// Some combinations have no bound, whoever prices them.
fn check_meaning(
    accountant: &'static str,
    mechanism: &Mechanism,
    adjacency: Adjacency,
) -> Result<(), AccountingError> {
    let refuse = |remedy| Err(refuse(accountant, mechanism, adjacency, remedy));
    if let Release::RandomisedResponse { .. } = mechanism.release {
        if adjacency == Adjacency::AddRemove {
            return refuse(
                "there is one report for each record, so their number is public; use replace_one or zero_out",
            );
        }
        if matches!(mechanism.sampling, Sampling::Poisson { .. } | Sampling::FixedSize { .. }) {
            return refuse(
                "a report shows that its record was sampled, so sampling hides nothing; drop the sampling",
            );
        }
    }
    match (mechanism.sampling, adjacency) {
        (Sampling::Full | Sampling::Poisson { .. }, _) => Ok(()),
        (Sampling::FixedSize { .. }, Adjacency::ReplaceOne | Adjacency::ZeroOut) => Ok(()),
        (Sampling::FixedSize { .. }, Adjacency::AddRemove) => {
            refuse("a fixed batch size fixes the number of records; use replace_one or zero_out")
        }
        (Sampling::Partitioned { assignment: Assignment::BallsAndBins }, _) => Ok(()),
        (
            Sampling::Partitioned { assignment: Assignment::Reshuffled },
            Adjacency::ReplaceOne | Adjacency::ZeroOut,
        ) => Ok(()),
        (Sampling::Partitioned { assignment: Assignment::Reshuffled }, Adjacency::AddRemove) => refuse(
            "removing a record shifts all later ones into other batches; use zero_out, replace_one, \
             or the balls_and_bins assignment",
        ),
    }
}
