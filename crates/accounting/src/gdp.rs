//! Gaussian differential privacy: exact for Gaussian noise without sampling, an estimate with it.

use crate::Adjacency;
use crate::composition::{Composition, Mechanism, Release, Sampling};
use crate::error::AccountingError;
use crate::normal;
use crate::pricing::{Accountant, Price, Standing, refuse};

/// Delta of a μ-GDP mechanism at `epsilon`.
///
/// # Source
/// Balle and Wang 2018 (analytic Gaussian mechanism); Dong, Roth and Su 2022 (Gaussian DP): Φ(−ε/μ + μ/2) − e^ε Φ(−ε/μ − μ/2).
pub fn delta(mu: f64, epsilon: f64) -> f64 {
    if mu == 0.0 {
        return 0.0;
    }
    let near = epsilon / mu - mu / 2.0;
    let far = epsilon / mu + mu / 2.0;
    if near < -30.0 {
        // The second term is φ(near) times a Mills ratio, far below the rounding of the first.
        return normal::survival(near);
    }
    // e^ε φ(far) = φ(near): with Mills ratios nothing overflows however large epsilon is.
    (-0.5 * near * near - normal::LOG_SQRT_TAU).exp() * (normal::mills(near) - normal::mills(far))
}

/// The smallest epsilon at which a μ-GDP mechanism has at most this delta, rounded up.
///
/// # Guarantee
/// `delta(mu, epsilon(mu, d)) <= d` up to the rounding of [`delta`].
pub fn epsilon(mu: f64, delta_target: f64) -> f64 {
    if mu == 0.0 || delta(mu, 0.0) <= delta_target {
        return 0.0;
    }
    if !mu.is_finite() {
        return f64::INFINITY;
    }
    // Φ(−ε/μ + μ/2) ≤ δ is sufficient, so this is an upper end of the bracket.
    let mut upper = if delta_target < 0.5 {
        mu * (normal::upper_quantile(delta_target.ln()) + mu / 2.0)
    } else {
        mu * mu / 2.0
    };
    let mut lower = 0.0;
    while upper - lower > 1e-14 * upper {
        let middle = 0.5 * (lower + upper);
        if middle <= lower || middle >= upper {
            break;
        }
        if delta(mu, middle) <= delta_target { upper = middle } else { lower = middle }
    }
    upper * (1.0 + 1e-13)
}

/// Exact accounting of Gaussian noise that every record, or every record once in an epoch, meets.
///
/// # Source
/// Dong, Roth and Su 2022, composition of Gaussian DP: μ = √Σ μ_t². For partitioned epochs, parallel composition: with the
/// assignment to batches fixed one batch changes, everything later is post-processing, and mixing over
/// assignments does not hurt.
///
/// # Guarantee
/// The price is attained: no smaller epsilon holds at this delta (full participation). Tested against
/// [`Pld`](crate::pld::Pld).
pub struct Gdp;

impl Accountant for Gdp {
    fn name(&self) -> &'static str {
        "gdp"
    }

    fn standing(&self) -> Standing {
        Standing::Proof
    }

    fn assumption(&self) -> &'static str {
        "Gaussian noise on a sum that each record enters once per release or once per epoch; exact."
    }

    fn price(
        &self,
        composition: &Composition,
        adjacency: Adjacency,
        delta: f64,
    ) -> Result<Price, AccountingError> {
        let mut square = 0.0;
        for step in &composition.steps {
            let mechanism = &step.mechanism;
            square += match (mechanism.release, mechanism.sampling) {
                (Release::Gaussian { noise_multiplier }, Sampling::Full | Sampling::Partitioned { .. }) => {
                    step.count as f64 * (adjacency.sensitivity() / noise_multiplier).powi(2)
                }
                (Release::Gaussian { .. }, Sampling::Poisson { .. } | Sampling::FixedSize { .. }) => {
                    return Err(refuse(
                        self.name(),
                        mechanism,
                        adjacency,
                        "sampled releases are not Gaussian DP; use pld or rdp",
                    ));
                }
                (
                    Release::Laplace { .. } | Release::RandomisedResponse { .. } | Release::Proved { .. },
                    Sampling::Full
                    | Sampling::Poisson { .. }
                    | Sampling::FixedSize { .. }
                    | Sampling::Partitioned { .. },
                ) => {
                    return Err(refuse(
                        self.name(),
                        mechanism,
                        adjacency,
                        "only Gaussian noise; use pld or rdp",
                    ));
                }
            };
        }
        let epsilon = epsilon(square.sqrt(), delta);
        Ok(Price { epsilon, lower: None, note: None })
    }
}

/// The central-limit estimate for Poisson-sampled Gaussian steps.
///
/// # Source
/// Bu, Dong, Long and Su 2020: μ = q √(T (e^{1/σ²} − 1)).
///
/// # Guarantee
/// None. It lies below the truth for large noise and can lie above it for small noise.
pub struct CentralLimit;

impl Accountant for CentralLimit {
    fn name(&self) -> &'static str {
        "gdp_clt"
    }

    fn standing(&self) -> Standing {
        Standing::Estimate
    }

    fn assumption(&self) -> &'static str {
        "a central-limit approximation for many Poisson-sampled Gaussian steps; not a bound in either direction."
    }

    fn price(
        &self,
        composition: &Composition,
        adjacency: Adjacency,
        delta: f64,
    ) -> Result<Price, AccountingError> {
        let mut square = 0.0;
        for step in &composition.steps {
            let refusal = |remedy| Err(refuse(self.name(), &step.mechanism, adjacency, remedy));
            square += match step.mechanism {
                Mechanism {
                    release: Release::Gaussian { noise_multiplier },
                    sampling: Sampling::Poisson { sample_rate },
                } => {
                    if adjacency == Adjacency::ReplaceOne {
                        return refusal("the estimate is for add_remove and zero_out; use pld");
                    }
                    step.count as f64 * sample_rate * sample_rate * noise_multiplier.powi(-2).exp_m1()
                }
                Mechanism {
                    release: Release::Gaussian { .. },
                    sampling: Sampling::Full | Sampling::FixedSize { .. } | Sampling::Partitioned { .. },
                } => return refusal("the estimate is for Poisson sampling; use gdp, pld or rdp"),
                Mechanism {
                    release:
                        Release::Laplace { .. } | Release::RandomisedResponse { .. } | Release::Proved { .. },
                    ..
                } => return refusal("only Gaussian noise; use pld or rdp"),
            };
        }
        if !square.is_finite() {
            return Ok(Price::infinite("the central-limit parameter overflows for so little noise"));
        }
        Ok(Price::upper(epsilon(square.sqrt(), delta)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printed_vectors() {
        for (mu, expected) in [(0.25, 0.92634), (0.5, 1.99309), (1.0, 4.37718), (2.0, 9.99726)] {
            assert!((epsilon(mu, 1e-5) - expected).abs() < 6e-6, "mu {mu}: {}", epsilon(mu, 1e-5));
        }
    }

    #[test]
    fn extreme_parameters_stay_finite_and_consistent() {
        for mu in [1e-9, 1e-4, 1.0, 50.0, 2e4] {
            for target in [1e-15, 1e-5, 0.5] {
                let epsilon = epsilon(mu, target);
                assert!(epsilon.is_finite() && epsilon >= 0.0);
                assert!(delta(mu, epsilon) <= target * (1.0 + 1e-6), "mu {mu} delta {target}");
            }
        }
    }
}
