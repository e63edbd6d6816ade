//! A guarantee in words: how well the best possible attacker can do.

use crate::composition::Composition;
use crate::error::AccountingError;
use crate::pld::{Direction, Pld};
use crate::pricing::{Accountant, check_all};
use crate::rdp::Rdp;
use crate::{Adjacency, Event};
use serde::{Deserialize, Serialize};

/// A point on the trade-off curve.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Attack {
    /// How often the attacker wrongly accuses: says "present" of a record that is not.
    pub fpr: f64,
    /// How often at most the attacker is right about a record that is.
    pub tpr: f64,
}

/// Upper bounds on the true-positive rate of any test of whether one record was used, at given false-positive
/// rates. The attacker may know everything else: all other records, all intermediate releases.
///
/// # Source
/// Wasserman and Zhou 2010; Kairouz, Oh and Viswanath 2015: tpr ≤ e^ε fpr + δ(ε) for every ε, so the best of all
/// points of the privacy curve is taken, in the worse direction of the adjacency.
///
/// # Guarantee
/// No test exceeds the returned rates. Tested against the exact curve of the Gaussian mechanism.
pub fn best_attacks(
    event: &Event,
    adjacency: Adjacency,
    false_positive_rates: &[f64],
) -> Result<Vec<Attack>, AccountingError> {
    let attack = |fpr: f64, tpr: f64| Attack { fpr, tpr: tpr.clamp(fpr, 1.0) };
    let composition = Composition::of(event)?;
    if composition.unbounded.is_some() {
        return Ok(false_positive_rates.iter().map(|&fpr| attack(fpr, 1.0)).collect());
    }
    if composition.steps.is_empty() {
        return Ok(false_positive_rates.iter().map(|&fpr| attack(fpr, fpr)).collect());
    }
    check_all(Pld.name(), &composition, adjacency)?;
    match Direction::of(Pld.name(), &composition, adjacency) {
        Ok(directions) => {
            let mut rates = vec![0.0_f64; false_positive_rates.len()];
            for direction in directions {
                for (rate, one) in rates.iter_mut().zip(direction.true_positive_rates(false_positive_rates)) {
                    *rate = rate.max(one);
                }
            }
            Ok(false_positive_rates.iter().zip(rates).map(|(&fpr, rate)| attack(fpr, rate)).collect())
        }
        // Some mechanisms have a Rényi bound only; it gives a coarser curve of the same kind.
        Err(refusal) => {
            let deltas = (1..60).map(|place| f64::exp2(-0.5 * f64::from(place)));
            let point = |delta| Rdp.price(&composition, adjacency, delta).map(|price| (price.epsilon, delta));
            let curve: Vec<(f64, f64)> = deltas.map(point).collect::<Result<_, _>>().map_err(|_| refusal)?;
            let bound = |fpr: f64| {
                curve.iter().map(|(epsilon, delta)| epsilon.exp() * fpr + delta).fold(1.0, f64::min)
            };
            Ok(false_positive_rates.iter().map(|&fpr| attack(fpr, bound(fpr))).collect())
        }
    }
}
