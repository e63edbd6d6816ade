//! An epsilon that follows the votes and may be published, because it is paid for.

use super::votes::Votes;
use crate::ledger::{Access, Purpose, Receipt};
use crate::mechanism::Mechanism;
use muffle_accounting::Event;
use muffle_accounting::pate::{GaussianVotes, Sanitised};
use muffle_accounting::rdp::conversion::improved;
use serde::{Deserialize, Serialize};

/// The release of what the votes cost.
pub const SANITISED: Purpose = Purpose::new("sanitised_epsilon");

/// How the data-dependent epsilon of Gaussian votes is released: see [`Sanitised`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SanitisedEpsilon {
    /// The order of the divergence.
    pub order: f64,
    /// How fast the scale of the noise may change from neighbour to neighbour, by its exponential.
    pub smoothness: f64,
    /// Noise, as a multiple of the smooth sensitivity.
    pub noise_multiplier: f64,
    /// The share of the release in delta.
    pub delta: f64,
}

impl SanitisedEpsilon {
    /// Checks the range of every number by itself, and that there is a price.
    pub(super) fn check(&self, votes: &Votes) -> Result<(), String> {
        let positive = |value: f64| value > 0.0 && value.is_finite();
        if let Votes::Laplace { .. } = votes {
            return Err("sanitised is about Gaussian noise on votes; leave it out".to_string());
        }
        if !(self.order > 1.0 && positive(self.smoothness) && positive(self.noise_multiplier)) {
            return Err("sanitised needs an order above 1, and a positive smoothness and noise_multiplier"
                .to_string());
        }
        if !(self.delta > 0.0 && self.delta < 1.0) {
            return Err(format!("sanitised.delta = {} is outside (0, 1)", self.delta));
        }
        match self.release(GaussianVotes { deviation: 1.0 }, 2).price(self.order).is_finite() {
            true => Ok(()),
            false => Err(format!(
                "sanitised.smoothness = {} has no price at order {}: take less than {:.4}",
                self.smoothness,
                self.order,
                -0.5 * (-1.0 / self.order).ln_1p()
            )),
        }
    }

    fn release(&self, votes: GaussianVotes, classes: usize) -> Sanitised {
        let SanitisedEpsilon { order, smoothness, noise_multiplier, .. } = *self;
        Sanitised { votes, classes, order, smoothness, noise_multiplier }
    }

    /// What it costs, whatever the votes.
    pub(super) fn event(&self) -> Event {
        self.release(GaussianVotes { deviation: 1.0 }, 2).event(self.delta)
    }

    /// The access that releases it.
    pub(super) fn access(&self) -> Access {
        Access::all(SANITISED, 0, self.event())
    }

    /// The noisy divergence of answers and tests, with the price of its own release, as an epsilon at a delta.
    pub(super) fn epsilon(
        &self,
        rule: &Votes,
        votes: &[Vec<u64>],
        delta: f64,
        mechanism: &Mechanism,
        receipt: Receipt,
    ) -> f64 {
        let deviation = rule.noise().expect("the noise is settled");
        let release = self.release(GaussianVotes { deviation }, votes.first().map_or(2, Vec::len));
        let queries = || votes.iter().map(Vec::as_slice);
        let (divergence, sensitivity) = (release.divergence(queries()), release.sensitivity(queries()));
        let noisy = mechanism.answer_smoothly(divergence, sensitivity, self.noise_multiplier, receipt);
        let tests = rule.check_deviation().map_or(0.0, |check| votes.len() as f64 / (2.0 * check * check));
        let total = noisy.max(0.0) + tests * self.order + release.price(self.order);
        improved((self.order - 1.0) * total, self.order, delta)
    }
}
