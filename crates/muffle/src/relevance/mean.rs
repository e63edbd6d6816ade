//! The relevance of all training records, released once and paid for at a ledger.

use super::{Of, bounded, noise_multiplier};
use crate::error::Result;
use crate::ledger::{Access, Ledger, Purpose};
use crate::mechanism::Mechanism;
use crate::noise::Key;
use crate::records::PrivateRecords;
use muffle_accounting::{Adjacency, Event};
use muffle_nn::relevance::Propagation;

/// What the ledger calls it.
pub const PURPOSE: Purpose = Purpose::new("relevance");

/// What a ledger of relevance is a ledger of.
pub const ORIGIN: &str = "muffle relevance";

/// What was released.
#[derive(Clone, Debug, PartialEq)]
pub struct Released {
    /// The sum of the records' relevances of unit length, with noise: negative where noise is all there is.
    pub sum: Vec<f64>,
    /// Standard deviation of the noise on each number.
    pub deviation: f64,
    /// What was spent.
    pub event: Event,
}

/// Releases the relevance of all records at parameters that are public, or themselves the result of private training.
///
/// # Guarantee
/// Costs `epsilon` at delta 0 under `adjacency` of the training records, beside what the parameters cost, and is in the ledger
/// before the records are read.
pub fn release(
    propagation: &Propagation,
    parameters: &[f32],
    records: &PrivateRecords,
    of: Of,
    (epsilon, adjacency): (f64, Adjacency),
    ledger: &mut Ledger,
    key: Key,
) -> Result<Released> {
    let noise_multiplier = noise_multiplier(epsilon, adjacency);
    // Every release is an access of its own.
    let number = ledger.entries().iter().map(|entry| entry.to).max().unwrap_or(0);
    let receipt = ledger.pay_one(Access::all(PURPOSE, number, Event::laplace(noise_multiplier)))?;
    let (view, receipt) = records.all(receipt);
    let sum = bounded(propagation, parameters, &view, of)?;
    let (sum, event) = Mechanism::new(key, 1.0).answer(sum, noise_multiplier, receipt);
    // That of a Laplace variable of this scale, as one record moves the sum by 1.
    Ok(Released { sum, deviation: std::f64::consts::SQRT_2 * noise_multiplier, event })
}
