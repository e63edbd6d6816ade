//! Zero-concentrated differential privacy.

use crate::Adjacency;
use crate::composition::{Composition, Release, Sampling};
use crate::error::AccountingError;
use crate::pricing::{Accountant, Price, Standing, refuse};
use crate::rdp::{conversion, orders};

/// The published conversion: ε = ρ + 2√(ρ ln(1/δ)).
///
/// # Source
/// Bun and Steinke 2016, from zCDP to approximate DP.
pub fn classical_epsilon(rho: f64, delta: f64) -> f64 {
    rho + 2.0 * (rho * (1.0 / delta).ln()).sqrt()
}

/// The better conversion: the best order of the improved Rényi conversion with RDP(α) = ρα.
///
/// # Source
/// Canonne, Kamath and Steinke 2020, the conversion of their Proposition 12 for zCDP.
pub fn improved_epsilon(rho: f64, delta: f64) -> f64 {
    orders::best_order(|order| conversion::improved(rho * order * (order - 1.0), order, delta), delta, rho).1
}

/// ρ of everything that ran. A pure ε-DP release is ε²/2-zCDP; sampling does not lower ρ, so it is refused.
pub(crate) fn total_rho(
    accountant: &'static str,
    composition: &Composition,
    adjacency: Adjacency,
) -> Result<f64, AccountingError> {
    let mut rho = 0.0;
    for step in &composition.steps {
        let mechanism = &step.mechanism;
        match mechanism.sampling {
            Sampling::Full | Sampling::Partitioned { .. } => {}
            Sampling::Poisson { .. } | Sampling::FixedSize { .. } => {
                return Err(refuse(
                    accountant,
                    mechanism,
                    adjacency,
                    "zCDP is not amplified by sampling; use pld or rdp",
                ));
            }
        }
        let one = match mechanism.release {
            Release::Gaussian { noise_multiplier } => {
                0.5 * (adjacency.sensitivity() / noise_multiplier).powi(2)
            }
            Release::Laplace { noise_multiplier } => {
                0.5 * (adjacency.sensitivity() / noise_multiplier).powi(2)
            }
            Release::RandomisedResponse { epsilon, .. } => 0.5 * epsilon * epsilon,
            Release::Proved { epsilon, delta: 0.0 } => 0.5 * epsilon * epsilon,
            Release::Proved { .. } => {
                return Err(refuse(
                    accountant,
                    mechanism,
                    adjacency,
                    "a delta has no zCDP form; use pld, rdp or basic",
                ));
            }
        };
        rho += step.count as f64 * one;
    }
    Ok(rho)
}

/// zCDP with the better conversion.
///
/// # Source
/// Bun and Steinke 2016: pure DP (Proposition 1.4), Gaussian noise and composition; conversion as in [`improved_epsilon`].
pub struct Zcdp;

/// zCDP with the conversion that the papers print.
///
/// # Source
/// Bun and Steinke 2016, from zCDP to approximate DP.
pub struct ZcdpClassical;

impl Accountant for Zcdp {
    fn name(&self) -> &'static str {
        "zcdp"
    }

    fn standing(&self) -> Standing {
        Standing::Proof
    }

    fn assumption(&self) -> &'static str {
        "each record enters every release, or one batch of every epoch; concentrated DP, converted at the best order."
    }

    fn price(
        &self,
        composition: &Composition,
        adjacency: Adjacency,
        delta: f64,
    ) -> Result<Price, AccountingError> {
        Ok(Price::upper(improved_epsilon(total_rho(self.name(), composition, adjacency)?, delta)))
    }
}

impl Accountant for ZcdpClassical {
    fn name(&self) -> &'static str {
        "zcdp_classical"
    }

    fn standing(&self) -> Standing {
        Standing::Proof
    }

    fn assumption(&self) -> &'static str {
        "each record enters every release, or one batch of every epoch; concentrated DP with the 2016 conversion."
    }

    fn price(
        &self,
        composition: &Composition,
        adjacency: Adjacency,
        delta: f64,
    ) -> Result<Price, AccountingError> {
        Ok(Price::upper(classical_epsilon(total_rho(self.name(), composition, adjacency)?, delta)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printed_vectors() {
        assert!((classical_epsilon(0.78125, 1e-5) - 6.77941).abs() < 6e-6);
        assert!((improved_epsilon(0.78125, 1e-5) - 6.1226).abs() < 6e-5);
    }
}
