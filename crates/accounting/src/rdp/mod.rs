//! Rényi differential privacy: a certified answer in well under a millisecond.

pub mod conversion;
pub mod curve;
pub mod fixed_size;
pub mod laplace;
pub mod orders;
pub mod randomised_response;
pub mod sampled_gaussian;

use crate::Adjacency;
use crate::composition::Composition;
use crate::error::AccountingError;
use crate::pricing::{Accountant, Price, Standing};
use curve::Curve;

/// Everything that ran, as a sum of Rényi curves and a total failure probability.
pub(crate) struct TotalCurve {
    curves: Vec<(Curve, f64)>,
    failure: f64,
}

impl TotalCurve {
    /// The curves of all steps.
    ///
    /// An (ε, δ)-DP release behaves, with probability 1 − δ, like an ε-DP one; the failure probabilities add up
    /// and are taken from the delta of the answer.
    pub(crate) fn of(
        accountant: &'static str,
        composition: &Composition,
        adjacency: Adjacency,
    ) -> Result<TotalCurve, AccountingError> {
        let mut total = TotalCurve { curves: Vec::new(), failure: 0.0 };
        for step in &composition.steps {
            let (curve, failure) = Curve::of(accountant, &step.mechanism, adjacency)?;
            total.curves.push((curve, step.count as f64));
            total.failure += failure * step.count as f64;
        }
        Ok(total)
    }

    /// `(α − 1) · RDP(α)` of the whole composition.
    pub(crate) fn log_moment(&self, order: f64) -> f64 {
        self.curves.iter().map(|(curve, count)| count * curve.log_moment(order)).sum()
    }

    /// The total probability of not following the curve.
    pub(crate) fn failure(&self) -> f64 {
        self.failure
    }

    /// The best order and its epsilon under a conversion.
    fn best(&self, delta: f64, convert: fn(f64, f64, f64) -> f64) -> Option<(f64, f64)> {
        let delta = delta - self.failure;
        if delta <= 0.0 {
            return None;
        }
        let rho = self.log_moment(2.0) / 2.0;
        let (order, epsilon) =
            orders::best_order(|order| convert(self.log_moment(order), order, delta), delta, rho);
        // Directed rounding: no sum above loses more than this.
        Some((order, epsilon * (1.0 + 1e-12)))
    }

    fn price(&self, delta: f64, convert: fn(f64, f64, f64) -> f64) -> Price {
        match self.best(delta, convert) {
            None => Price::infinite(FAILURE),
            Some((_, epsilon)) if epsilon.is_finite() => Price::upper(epsilon),
            Some(_) => Price::infinite("no Rényi order up to the largest has a finite moment"),
        }
    }
}

pub(crate) const FAILURE: &str = "the deltas of the approximate DP events alone reach the target delta";

/// The order that is best for this composition at this delta, with its epsilon.
///
/// Useful to fix the order of a [filter](crate::budget) in advance.
pub fn best_order(
    composition: &Composition,
    adjacency: Adjacency,
    delta: f64,
) -> Result<(f64, f64), AccountingError> {
    let total = TotalCurve::of(Rdp.name(), composition, adjacency)?;
    Ok(total.best(delta, conversion::improved).unwrap_or((2.0, f64::INFINITY)))
}

/// Rényi accounting with the improved conversion, minimised over all real orders.
///
/// # Source
/// Mironov 2017; Mironov, Talwar and Zhang 2019 for the sampled Gaussian; Wang, Balle and Kasiviswanathan 2019
/// for sampling without replacement; conversion by Canonne, Kamath and Steinke 2020.
///
/// # Guarantee
/// An upper bound on epsilon for every composition it accepts. Tested against the privacy loss distribution,
/// which must lie below it.
pub struct Rdp;

/// Rényi accounting with the conversion of 2017.
///
/// # Source
/// Mironov 2017, Proposition 3.
///
/// # Guarantee
/// An upper bound, never below [`Rdp`].
pub struct RdpClassical;

impl Accountant for Rdp {
    fn name(&self) -> &'static str {
        "rdp"
    }

    fn standing(&self) -> Standing {
        Standing::Proof
    }

    fn assumption(&self) -> &'static str {
        "the sampler is the stated one; Rényi divergences add up, converted at the best real order."
    }

    fn price(
        &self,
        composition: &Composition,
        adjacency: Adjacency,
        delta: f64,
    ) -> Result<Price, AccountingError> {
        Ok(TotalCurve::of(self.name(), composition, adjacency)?.price(delta, conversion::improved))
    }
}

impl Accountant for RdpClassical {
    fn name(&self) -> &'static str {
        "rdp_classical"
    }

    fn standing(&self) -> Standing {
        Standing::Proof
    }

    fn assumption(&self) -> &'static str {
        "the sampler is the stated one; Rényi divergences add up, with the conversion of 2017."
    }

    fn price(
        &self,
        composition: &Composition,
        adjacency: Adjacency,
        delta: f64,
    ) -> Result<Price, AccountingError> {
        Ok(TotalCurve::of(self.name(), composition, adjacency)?.price(delta, conversion::classical))
    }
}
