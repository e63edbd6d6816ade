//! What comes behind the last step: the threshold is chosen.

use super::evaluation::{Decision, Evaluator};
use super::plan::Plan;
use super::threshold::{choose, histogram, lower_end};
use crate::State;
use crate::data::View;
use crate::error::Result;
use crate::ledger::{Access, Receipt};
use crate::mechanism::{BoundedVector, Mechanism};

/// Says in a saved state that the choice was made, and which bin it fell on, if any.
const CHOSEN: &str = "chosen";

/// The choice of a threshold, before and after it is made.
pub(super) struct Closing {
    /// What the recipe gives.
    number: Option<f64>,
    /// Whether there is nothing left to choose.
    done: bool,
    /// The bin that was chosen.
    bin: Option<usize>,
}

impl Closing {
    /// Before the first step.
    pub fn new(plan: &Plan) -> Closing {
        let threshold = plan.recipe.training.threshold;
        let number = threshold.and_then(|threshold| threshold.number());
        let done = threshold.and_then(|threshold| threshold.chosen()).is_none();
        Closing { number, done, bin: None }
    }

    /// How a class is chosen by now.
    pub fn decision(&self) -> Decision {
        Decision::new(self.bin.map(lower_end).or(self.number))
    }

    /// The counts that have to be paid for before the choice.
    pub fn access(&self, plan: &Plan) -> Option<Access> {
        plan.pricing().threshold().map(|(access, _)| access).filter(|_| !self.done)
    }

    /// Makes the choice: by the test split, which the recipe declares to be public, or by held-out records that were paid for. If they
    /// could not be, there is no threshold.
    pub fn close(
        &mut self,
        plan: &Plan,
        evaluator: &mut Evaluator,
        parameters: &[f32],
        test: &View,
        held_out: Option<(View, Receipt)>,
        mechanism: &Mechanism,
    ) -> Result<()> {
        let chosen = plan.recipe.training.threshold.and_then(|threshold| threshold.chosen());
        let Some(chosen) = chosen.filter(|_| !self.done) else { return Ok(()) };
        let counts = match (plan.pricing().threshold(), held_out) {
            (None, _) => Some(histogram(evaluator, parameters, test)?),
            (Some((_, noise_multiplier)), Some((view, receipt))) => {
                let counts = BoundedVector::l1(histogram(evaluator, parameters, &view)?, 1.0);
                Some(mechanism.answer(counts, noise_multiplier, receipt).0)
            }
            (Some(_), None) => None,
        };
        self.bin = counts.map(|counts| choose(&counts, chosen.goal));
        self.done = true;
        evaluator.decide(self.decision());
        Ok(())
    }

    /// For a checkpoint.
    pub fn state(&self) -> State {
        let bin = self.bin.map(|bin| bin as f32).into_iter().collect();
        State::from_iter(self.done.then(|| (CHOSEN.to_string(), bin)))
    }

    /// From a checkpoint.
    pub fn restore(&mut self, state: &State) {
        if let Some(bin) = state.get(CHOSEN) {
            (self.done, self.bin) = (true, bin.first().map(|bin| *bin as usize));
        }
    }
}
