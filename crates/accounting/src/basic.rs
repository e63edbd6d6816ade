//! Basic composition: epsilons add up.

use crate::composition::{Composition, Mechanism, Release, Sampling};
use crate::error::AccountingError;
use crate::pricing::{Accountant, Price, Standing, refuse};
use crate::rdp::FAILURE;
use crate::{Adjacency, gdp};

/// Basic composition. Gaussian releases get equal shares of the delta that proved events leave over.
///
/// # Source
/// Dwork et al. 2006 for the sum; Balle and Wang 2018 for one Gaussian release; Balle, Barthe and Gaboardi 2018
/// for amplification: (ε, δ) becomes (ln(1 + q(e^ε − 1)), qδ) under Poisson sampling with add_remove and under
/// sampling without replacement with replace_one.
///
/// # Guarantee
/// An upper bound for everything it accepts, usually a very loose one.
pub struct BasicComposition;

impl Accountant for BasicComposition {
    fn name(&self) -> &'static str {
        "basic_composition"
    }

    fn standing(&self) -> Standing {
        Standing::Proof
    }

    fn assumption(&self) -> &'static str {
        "nothing beyond each release's own guarantee; epsilons and deltas add up."
    }

    fn price(
        &self,
        composition: &Composition,
        adjacency: Adjacency,
        delta: f64,
    ) -> Result<Price, AccountingError> {
        let mut left = delta;
        let mut gaussian_steps = 0.0;
        for step in &composition.steps {
            let rate = amplification(self.name(), &step.mechanism, adjacency)?;
            match step.mechanism.release {
                Release::Gaussian { .. } => gaussian_steps += step.count as f64,
                Release::Proved { delta, .. } => left -= step.count as f64 * rate * delta,
                Release::Laplace { .. } | Release::RandomisedResponse { .. } => {}
            }
        }
        if left < 0.0 || (gaussian_steps > 0.0 && left <= 0.0) {
            return Ok(Price::infinite(FAILURE));
        }
        let share = left / gaussian_steps;
        let mut total = 0.0;
        for step in &composition.steps {
            let rate = amplification(self.name(), &step.mechanism, adjacency)?;
            let alone = match step.mechanism.release {
                Release::Gaussian { noise_multiplier } => {
                    gdp::epsilon(adjacency.sensitivity() / noise_multiplier, (share / rate).min(1.0))
                }
                Release::Laplace { noise_multiplier } => adjacency.sensitivity() / noise_multiplier,
                Release::RandomisedResponse { epsilon, .. } | Release::Proved { epsilon, .. } => epsilon,
            };
            // Where the exponential overflows, amplification is left out, which only raises the bound.
            let amplified = if alone > 700.0 { alone } else { (rate * alone.exp_m1()).ln_1p() };
            total += step.count as f64 * amplified;
        }
        Ok(Price::upper(total * (1.0 + 1e-12)))
    }
}

/// The rate at which sampling amplifies a guarantee under this adjacency; one without sampling.
fn amplification(
    accountant: &'static str,
    mechanism: &Mechanism,
    adjacency: Adjacency,
) -> Result<f64, AccountingError> {
    match (mechanism.sampling, adjacency) {
        (Sampling::Full | Sampling::Partitioned { .. }, _) => Ok(1.0),
        (Sampling::Poisson { sample_rate }, Adjacency::AddRemove | Adjacency::ZeroOut) => Ok(sample_rate),
        (Sampling::FixedSize { sample_rate }, Adjacency::ReplaceOne) => Ok(sample_rate),
        (Sampling::Poisson { .. }, Adjacency::ReplaceOne) => {
            Err(refuse(accountant, mechanism, adjacency, "amplification is for add_remove; use pld"))
        }
        (Sampling::FixedSize { .. }, Adjacency::ZeroOut | Adjacency::AddRemove) => {
            Err(refuse(accountant, mechanism, adjacency, "amplification is for replace_one; use rdp"))
        }
    }
}
