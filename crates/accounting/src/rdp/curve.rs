//! The Rényi curve of one mechanism.

use super::{fixed_size, laplace, randomised_response, sampled_gaussian};
use crate::Adjacency;
use crate::composition::{Mechanism, Release, Sampling};
use crate::error::AccountingError;
use crate::pricing::refuse;

/// Which formula gives the log moment `K(α) = (α − 1) · RDP(α)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Curve {
    /// Gaussian noise with this ratio μ of sensitivity to standard deviation: K = α(α−1)μ²/2.
    Gaussian {
        /// Sensitivity over standard deviation.
        mu: f64,
    },
    /// Laplace noise with this ratio of scale to sensitivity.
    Laplace {
        /// Scale over sensitivity.
        scale: f64,
    },
    /// Randomised response; two categories stand for any pure DP release.
    RandomisedResponse {
        /// Number of values.
        categories: u32,
        /// Log-odds of the truth against one lie.
        epsilon: f64,
    },
    /// Gaussian noise on a Poisson sample, add_remove or zero_out.
    PoissonGaussian {
        /// Probability that a record takes part.
        sample_rate: f64,
        /// Standard deviation over clipping threshold.
        noise_multiplier: f64,
    },
    /// Gaussian noise on a Poisson sample, replace_one.
    PoissonGaussianReplaceOne {
        /// Probability that a record takes part.
        sample_rate: f64,
        /// Standard deviation over clipping threshold.
        noise_multiplier: f64,
    },
    /// Laplace noise on a Poisson sample, add_remove or zero_out.
    PoissonLaplace {
        /// Probability that a record takes part.
        sample_rate: f64,
        /// Scale over sensitivity.
        scale: f64,
    },
    /// Any pure DP release on a Poisson sample, add_remove or zero_out.
    PoissonPure {
        /// Probability that a record takes part.
        sample_rate: f64,
        /// Epsilon of the release.
        epsilon: f64,
    },
    /// Gaussian noise on a sample of fixed size, replace_one or zero_out.
    GaussianFixedSize {
        /// Sample size over number of records.
        sample_rate: f64,
        /// Standard deviation over clipping threshold.
        noise_multiplier: f64,
    },
}

impl Curve {
    /// The curve of a mechanism, and the probability with which it fails to follow the curve.
    pub fn of(
        accountant: &'static str,
        mechanism: &Mechanism,
        adjacency: Adjacency,
    ) -> Result<(Curve, f64), AccountingError> {
        let sensitivity = adjacency.sensitivity();
        let refusal = |remedy| Err(refuse(accountant, mechanism, adjacency, remedy));
        let curve = match (mechanism.sampling, mechanism.release) {
            (Sampling::Full | Sampling::Partitioned { .. }, Release::Gaussian { noise_multiplier }) => {
                Curve::Gaussian { mu: sensitivity / noise_multiplier }
            }
            (Sampling::Full | Sampling::Partitioned { .. }, Release::Laplace { noise_multiplier }) => {
                Curve::Laplace { scale: noise_multiplier / sensitivity }
            }
            (
                Sampling::Full | Sampling::Partitioned { .. },
                Release::RandomisedResponse { categories, epsilon },
            ) => Curve::RandomisedResponse { categories, epsilon },
            (Sampling::Full | Sampling::Partitioned { .. }, Release::Proved { epsilon, delta }) => {
                return Ok((Curve::RandomisedResponse { categories: 2, epsilon }, delta));
            }
            (Sampling::Poisson { sample_rate }, Release::Gaussian { noise_multiplier }) => match adjacency {
                Adjacency::AddRemove | Adjacency::ZeroOut => {
                    Curve::PoissonGaussian { sample_rate, noise_multiplier }
                }
                Adjacency::ReplaceOne => Curve::PoissonGaussianReplaceOne { sample_rate, noise_multiplier },
            },
            (Sampling::Poisson { sample_rate }, Release::Laplace { noise_multiplier }) => match adjacency {
                Adjacency::AddRemove | Adjacency::ZeroOut => {
                    Curve::PoissonLaplace { sample_rate, scale: noise_multiplier }
                }
                Adjacency::ReplaceOne => return refusal(POISSON_REPLACE_ONE),
            },
            (Sampling::Poisson { sample_rate }, Release::Proved { epsilon, delta }) => match adjacency {
                Adjacency::AddRemove | Adjacency::ZeroOut => {
                    return Ok((Curve::PoissonPure { sample_rate, epsilon }, sample_rate * delta));
                }
                Adjacency::ReplaceOne => return refusal(POISSON_REPLACE_ONE),
            },
            (Sampling::FixedSize { sample_rate }, Release::Gaussian { noise_multiplier }) => {
                Curve::GaussianFixedSize { sample_rate, noise_multiplier }
            }
            (Sampling::FixedSize { .. }, Release::Laplace { .. } | Release::Proved { .. }) => {
                return refusal(
                    "the bound for samples of fixed size is implemented for Gaussian noise; use basic",
                );
            }
            (Sampling::Poisson { .. } | Sampling::FixedSize { .. }, Release::RandomisedResponse { .. }) => {
                return refusal("a report shows that its record was sampled; drop the sampling");
            }
        };
        Ok((curve, 0.0))
    }

    /// `K(α) = (α − 1) · RDP(α)`, for real α greater than one.
    pub fn log_moment(&self, order: f64) -> f64 {
        match *self {
            Curve::Gaussian { mu } => 0.5 * order * (order - 1.0) * mu * mu,
            Curve::Laplace { scale } => laplace::log_moment(scale, order),
            Curve::RandomisedResponse { categories, epsilon } => {
                randomised_response::log_moment(categories, epsilon, order)
            }
            Curve::PoissonGaussian { sample_rate, noise_multiplier } => {
                sampled_gaussian::log_moment(sample_rate, noise_multiplier, order)
            }
            Curve::PoissonGaussianReplaceOne { sample_rate, noise_multiplier } => {
                sampled_gaussian::replace_one_log_moment(sample_rate, noise_multiplier, order)
            }
            Curve::PoissonLaplace { sample_rate, scale } => {
                laplace::sampled_log_moment(sample_rate, scale, order)
            }
            Curve::PoissonPure { sample_rate, epsilon } => {
                randomised_response::sampled_log_moment(sample_rate, epsilon, order)
            }
            Curve::GaussianFixedSize { sample_rate, noise_multiplier } => {
                fixed_size::log_moment(sample_rate, noise_multiplier, order)
            }
        }
    }
}

const POISSON_REPLACE_ONE: &str = "the dominating pair of a Poisson sample under replace_one is known for Gaussian noise only; use add_remove";
