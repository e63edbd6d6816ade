//! Strong composition, as a historical baseline.

use crate::Adjacency;
use crate::composition::{Composition, Mechanism, Release, Sampling, Step};
use crate::error::AccountingError;
use crate::pricing::{Accountant, Price, Standing, refuse};

/// Strong composition of amplified Gaussian steps, as in the script behind a published table.
///
/// # Source
/// Dwork, Rothblum and Vadhan 2010 with the choices of that script: per step δ_i = δ/((k+1)q),
/// ε_i = ⌈√(2 ln(1.25/δ_i))⌉/σ, amplified ε_s = ln(1 + q(e^{ε_i} − 1)), δ' = δ/(k+1),
/// ε = ε_s √(2k ln(1/δ')) + k ε_s (e^{ε_s} − 1).
///
/// # Guarantee
/// None: the classical Gaussian bound behind ε_i is proved for ε_i < 1 only, and the table that needs this sits at
/// exactly 1. Shown as a baseline.
pub struct StrongComposition;

impl Accountant for StrongComposition {
    fn name(&self) -> &'static str {
        "strong_composition"
    }

    fn standing(&self) -> Standing {
        Standing::Published
    }

    fn assumption(&self) -> &'static str {
        "equal Poisson-sampled Gaussian steps, the composition theorem of 2010; proved only for step epsilons below 1."
    }

    fn price(
        &self,
        composition: &Composition,
        adjacency: Adjacency,
        delta: f64,
    ) -> Result<Price, AccountingError> {
        let [Step { mechanism, count }] = composition.steps[..] else {
            let first = composition.steps[0].mechanism;
            return Err(refuse(self.name(), &first, adjacency, "it is for equal steps; use pld or rdp"));
        };
        let refusal = |remedy| Err(refuse(self.name(), &mechanism, adjacency, remedy));
        if adjacency == Adjacency::ReplaceOne {
            return refusal("the baseline is for add_remove and zero_out; use pld");
        }
        match mechanism {
            Mechanism {
                sampling: Sampling::Poisson { sample_rate },
                release: Release::Gaussian { noise_multiplier },
            } => Ok(Price::upper(epsilon(sample_rate, noise_multiplier, count as f64, delta))),
            Mechanism {
                sampling: Sampling::Full | Sampling::FixedSize { .. } | Sampling::Partitioned { .. },
                ..
            } => refusal("the baseline is for Poisson samples; use gdp, zcdp or rdp"),
            Mechanism {
                sampling: Sampling::Poisson { .. },
                release: Release::Laplace { .. } | Release::RandomisedResponse { .. } | Release::Proved { .. },
            } => refusal("the baseline is for Gaussian noise; use pld or rdp"),
        }
    }
}

fn epsilon(sample_rate: f64, noise_multiplier: f64, steps: f64, delta: f64) -> f64 {
    let step_delta = (delta / ((steps + 1.0) * sample_rate)).min(1.0);
    let step_epsilon = (2.0 * (1.25 / step_delta).ln()).sqrt().ceil() / noise_multiplier;
    let amplified = (sample_rate * step_epsilon.exp_m1()).ln_1p();
    let slack = delta / (steps + 1.0);
    amplified * (2.0 * steps * (1.0 / slack).ln()).sqrt() + steps * amplified * amplified.exp_m1()
}
