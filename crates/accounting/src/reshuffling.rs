//! The published zCDP accountant for reshuffled epochs.

use crate::composition::{Composition, Mechanism, Release, Sampling};
use crate::error::AccountingError;
use crate::pricing::{Accountant, Price, Standing, refuse};
use crate::{Adjacency, zcdp};

/// zCDP for epochs over disjoint batches.
///
/// # Source
/// Yu, Liu, Pu, Gursoy and Truex 2019: ρ = Σ over epochs of 1/(2σ²), ε = ρ + 2√(ρ ln(1/δ)).
///
/// # Guarantee
/// Holds under zero_out and, with balls and bins, under add_remove. Under replace_one the sum moves twice as far
/// and ρ is four times the printed one, which is what is charged here.
pub struct Reshuffling;

impl Accountant for Reshuffling {
    fn name(&self) -> &'static str {
        "zcdp_reshuffling"
    }

    fn standing(&self) -> Standing {
        Standing::Proof
    }

    fn assumption(&self) -> &'static str {
        "every record is in exactly one batch of each epoch; no amplification by shuffling is claimed."
    }

    fn price(
        &self,
        composition: &Composition,
        adjacency: Adjacency,
        delta: f64,
    ) -> Result<Price, AccountingError> {
        for step in &composition.steps {
            match step.mechanism {
                Mechanism { sampling: Sampling::Partitioned { .. }, release: Release::Gaussian { .. } } => {}
                Mechanism {
                    sampling: Sampling::Full | Sampling::Poisson { .. } | Sampling::FixedSize { .. },
                    ..
                }
                | Mechanism {
                    sampling: Sampling::Partitioned { .. },
                    release:
                        Release::Laplace { .. } | Release::RandomisedResponse { .. } | Release::Proved { .. },
                } => {
                    return Err(refuse(
                        self.name(),
                        &step.mechanism,
                        adjacency,
                        "it is for Gaussian noise in partitioned epochs; use pld or zcdp",
                    ));
                }
            }
        }
        let rho = zcdp::total_rho(self.name(), composition, adjacency)?;
        Ok(Price::upper(zcdp::classical_epsilon(rho, delta)))
    }
}
