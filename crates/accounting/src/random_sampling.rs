//! The published zCDP accountant for random sampling.

use crate::Adjacency;
use crate::composition::{Composition, Mechanism, Release, Sampling};
use crate::error::AccountingError;
use crate::pricing::{Accountant, Price, Standing, refuse};

/// zCDP for Poisson samples as Yu et al. printed it.
///
/// # Source
/// Yu, Liu, Pu, Gursoy and Truex 2019: ρ̂ = Σ q²/σ², u = min σ² ln(1/(qσ)) + 1; ε = ρ̂ + 2√(ρ̂ ln(1/δ)) if
/// δ ≥ exp(−ρ̂(u−1)²), else ρ̂u + ln(1/δ)/(u−1). Stated for q ≤ 1/(16σ).
///
/// # Guarantee
/// None: inside the stated range at σ = 1, q = 0.03 the exact Rényi divergence of order 4 exceeds the claim by
/// 1.8 % (tested). Kept because tables quote it.
pub struct RandomSampling;

impl Accountant for RandomSampling {
    fn name(&self) -> &'static str {
        "zcdp_random_sampling"
    }

    fn standing(&self) -> Standing {
        Standing::Published
    }

    fn assumption(&self) -> &'static str {
        "the 2019 approximation for random sampling; exceeded by the exact divergence in places."
    }

    fn price(
        &self,
        composition: &Composition,
        adjacency: Adjacency,
        delta: f64,
    ) -> Result<Price, AccountingError> {
        let mut rho = 0.0;
        let mut largest_order = f64::INFINITY;
        for step in &composition.steps {
            let refusal = |remedy| Err(refuse(self.name(), &step.mechanism, adjacency, remedy));
            if adjacency == Adjacency::ReplaceOne {
                return refusal("it was stated for sums of sensitivity one; use pld");
            }
            match step.mechanism {
                Mechanism {
                    sampling: Sampling::Poisson { sample_rate },
                    release: Release::Gaussian { noise_multiplier },
                } => {
                    if sample_rate * noise_multiplier > 1.0 / 16.0 {
                        return refusal(
                            "it is stated for sample_rate · noise_multiplier up to 1/16; use pld or rdp",
                        );
                    }
                    rho += step.count as f64 * (sample_rate / noise_multiplier).powi(2);
                    let order = 1.0 - noise_multiplier.powi(2) * (sample_rate * noise_multiplier).ln();
                    largest_order = f64::min(largest_order, order);
                }
                Mechanism {
                    sampling: Sampling::Full | Sampling::FixedSize { .. } | Sampling::Partitioned { .. },
                    ..
                } => return refusal("it is for Poisson samples; use gdp, zcdp or rdp"),
                Mechanism {
                    sampling: Sampling::Poisson { .. },
                    release:
                        Release::Laplace { .. } | Release::RandomisedResponse { .. } | Release::Proved { .. },
                } => return refusal("it is for Gaussian noise; use pld or rdp"),
            }
        }
        let log_inverse_delta = -delta.ln();
        let excess = largest_order - 1.0;
        let epsilon = if log_inverse_delta <= rho * excess * excess {
            rho + 2.0 * (rho * log_inverse_delta).sqrt()
        } else {
            rho * largest_order + log_inverse_delta / excess
        };
        Ok(Price::upper(epsilon))
    }
}

#[cfg(test)]
mod tests {
    use crate::rdp::sampled_gaussian;

    #[test]
    fn the_claim_is_exceeded_inside_its_own_range() {
        let (sigma, q, order) = (1.0, 0.03, 4.0);
        assert!(q <= 1.0 / (16.0 * sigma) && order <= 1.0 - sigma * sigma * f64::ln(q * sigma));
        let exact = sampled_gaussian::log_moment(q, sigma, order) / (order - 1.0);
        assert!((exact - 0.003665).abs() < 1e-6 && exact > order * (q / sigma).powi(2));
    }
}
