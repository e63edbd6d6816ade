//! The original moments accountant.

use crate::Adjacency;
use crate::composition::{Composition, Release, Sampling};
use crate::error::AccountingError;
use crate::pricing::{Accountant, Price, Standing, refuse};
use crate::rdp::sampled_gaussian;

/// The largest moment that the original looks at.
const LARGEST_MOMENT: u32 = 32;

/// The moments accountant: integer moments up to 32 and a Chernoff bound.
///
/// # Source
/// Abadi et al. 2016, the tail bound of the moments accountant: ε = min over λ of (α(λ) + ln(1/δ))/λ with α(λ) the log moment, here
/// K(λ + 1). The same as Rényi accounting with integer orders and the classical conversion.
///
/// # Guarantee
/// An upper bound for Gaussian noise on Poisson samples, never below `rdp_classical`.
pub struct Moments;

impl Accountant for Moments {
    fn name(&self) -> &'static str {
        "moments"
    }

    fn standing(&self) -> Standing {
        Standing::Proof
    }

    fn assumption(&self) -> &'static str {
        "Gaussian noise on Poisson samples, moments up to 32, as in 2016."
    }

    fn price(
        &self,
        composition: &Composition,
        adjacency: Adjacency,
        delta: f64,
    ) -> Result<Price, AccountingError> {
        let mut steps = Vec::new();
        for step in &composition.steps {
            let refusal = |remedy| Err(refuse(self.name(), &step.mechanism, adjacency, remedy));
            let sample_rate = match step.mechanism.sampling {
                Sampling::Full => 1.0,
                Sampling::Poisson { sample_rate } => sample_rate,
                Sampling::FixedSize { .. } | Sampling::Partitioned { .. } => {
                    return refusal("the moments accountant is for Poisson samples; use rdp or gdp");
                }
            };
            if adjacency == Adjacency::ReplaceOne {
                return refusal("its moments are for add_remove and zero_out; use pld or rdp");
            }
            match step.mechanism.release {
                Release::Gaussian { noise_multiplier } => {
                    steps.push((step.count as f64, sample_rate, noise_multiplier))
                }
                Release::Laplace { .. } | Release::RandomisedResponse { .. } | Release::Proved { .. } => {
                    return refusal("its moments are for Gaussian noise; use pld or rdp");
                }
            }
        }
        let epsilon = |moment: u32| {
            let moment = f64::from(moment);
            let log_moment: f64 = steps
                .iter()
                .map(|&(count, q, sigma)| count * sampled_gaussian::log_moment(q, sigma, moment + 1.0))
                .sum();
            (log_moment - delta.ln()) / moment
        };
        Ok(Price::upper((1..=LARGEST_MOMENT).map(epsilon).fold(f64::INFINITY, f64::min)))
    }
}
