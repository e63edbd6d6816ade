//! What stands in the ledger for a step: what is proved of it, or what a paper claims.

use super::plan::Plan;
use crate::methods::{Claim, Method};
use muffle_accounting::Event;

impl Plan {
    /// What a step with this noise is charged for, before sampling: its release, or the claim of a form that is not proved.
    pub fn event(&self, method: &dyn Method, noise_multiplier: f64) -> Event {
        self.claim().unwrap_or_else(|| method.event(noise_multiplier))
    }

    /// What the paper claims for a form that is not proved, if it claims anything.
    pub fn claimed(&self) -> Option<f64> {
        self.charged.filter(|_| self.method.claim != Claim::Nothing)
    }

    /// What stands in the ledger for a form that is not proved.
    pub fn claim(&self) -> Option<Event> {
        self.charged.map(|epsilon| Event::Claimed {
            source: match self.method.claim {
                Claim::Nothing => {
                    format!("no price in {}; what dp-sgd costs with this noise", self.method.paper)
                }
                Claim::Step | Claim::ReshuffledEpoch => self.method.paper.to_string(),
            },
            epsilon,
            delta: self.recipe.run.delta,
        })
    }
}
