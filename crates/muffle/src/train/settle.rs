//! Any two of epsilon, noise and length give the third.

use super::pricing::Pricing;
use crate::error::{Error, Result};
use crate::methods::{Method, Mode};
use crate::noise::Key;
use crate::sampler::Sampler;
use muffle_accounting::calibrate::{self, Target};
use muffle_accounting::pld::Pld;
use muffle_accounting::rdp::{Rdp, best_order};
use muffle_accounting::{Accountant, AccountingError, Composition, Event};

/// The open questions of a recipe, answered.
pub(super) struct Settled {
    pub noise_multiplier: f64,
    pub steps: u64,
    /// What a form that is not proved is charged.
    pub charged: Option<f64>,
    /// The order of the filter of a run whose noise follows what it released.
    pub filter_order: Option<f64>,
}

/// What the search for noise and length needs to know.
struct Question<'a> {
    pricing: Pricing<'a>,
    method: Box<dyn Method>,
    sampler: Box<dyn Sampler>,
    /// Whether the noise follows what is released, so that a filter ends the run.
    filtered: bool,
    published: bool,
}

/// Finds steps and noise from what is given of steps, noise and epsilon, for a run on this many records.
///
/// # Guarantee
/// If there is an epsilon, the whole run is priced at no more than that.
pub(super) fn settle(pricing: Pricing, records: usize) -> Result<Settled> {
    let recipe = pricing.recipe;
    let method = pricing.build_method()?;
    let question = Question {
        // The key decides which records are drawn, not what drawing them costs.
        sampler: pricing.sampler(&Key::from_seed(0), records),
        filtered: recipe.training.validation.is_some() || method.adaptive(),
        // Without privacy no form of a method claims any.
        published: recipe.training.mode == Mode::AsPublished && recipe.run.private,
        method,
        pricing,
    };
    let target = recipe.run.epsilon.filter(|_| recipe.run.private).map(|epsilon| Target {
        epsilon,
        delta: recipe.run.delta,
        adjacency: pricing.adjacency,
    });
    let (noise_multiplier, steps) = question.noise_and_steps(target.as_ref())?;
    let mut settled = Settled { noise_multiplier, steps, charged: None, filter_order: None };
    if question.filtered {
        let target = target.filter(|_| !question.published).ok_or_else(|| {
            Error::Plan(
                "noise that follows what was released needs a budget that is fixed in advance: set epsilon, with \
                 mode = \"sound\" and private = true"
                    .to_string(),
            )
        })?;
        // A filter is best at the order of the run that spends the whole budget.
        let affordable = question.affordable(noise_multiplier, &target)?;
        let whole = Composition::of(&question.total(noise_multiplier, affordable))?;
        settled.filter_order = Some(best_order(&whole, pricing.adjacency, recipe.run.delta)?.0);
    } else if question.published {
        settled.charged = Some(question.price(noise_multiplier, steps)?);
    }
    Ok(settled)
}

impl Question<'_> {
    fn accountant(&self) -> &'static dyn Accountant {
        match self.published {
            _ if self.filtered => &Rdp,
            true => self.method.accountant(self.pricing.recipe.training.sampler),
            false => &Pld,
        }
    }

    fn total(&self, noise: f64, steps: u64) -> Event {
        let Question { pricing, method, sampler, .. } = self;
        match self.published {
            // What a paper claims is the price of its steps; no paper here counts its principal components.
            true => pricing.steps_cost(&**method, &**sampler, noise, 0..steps),
            false => pricing.run_cost(&**method, &**sampler, noise, steps),
        }
    }

    fn price(&self, noise: f64, steps: u64) -> Result<f64> {
        let Pricing { adjacency, recipe, .. } = self.pricing;
        Ok(self.accountant().epsilon(&self.total(noise, steps), adjacency, recipe.run.delta)?.epsilon)
    }

    /// How many steps a budget allows; an epoch of a sampler that deals out every record once is paid as a whole.
    fn affordable(&self, noise: f64, target: &Target) -> Result<u64> {
        let period = self.sampler.period();
        let total = |periods: u64| self.total(noise, periods.saturating_mul(period));
        let found = calibrate::steps(self.accountant(), target, total);
        found.map(|found| found.value * period).map_err(|error| unaffordable(error, target))
    }

    fn noise_and_steps(&self, target: Option<&Target>) -> Result<(f64, u64)> {
        let (training, run) = (&self.pricing.recipe.training, &self.pricing.recipe.run);
        let given = training.steps.or_else(|| {
            let steps =
                |epochs: f64| (epochs / self.pricing.sample_rate * (1.0 - 1e-12)).ceil().max(1.0) as u64;
            training.epochs.map(steps)
        });
        let given = given.map(few_enough).transpose()?;
        let noise = if run.private { training.noise_multiplier } else { Some(0.0) };
        match (noise, given, target) {
            (Some(noise), Some(steps), Some(target)) if !self.filtered => {
                let price = self.price(noise, steps)?;
                if price > target.epsilon {
                    return Err(Error::Plan(format!(
                        "{steps} steps with noise_multiplier = {noise} cost epsilon {price:.4}, above the limit \
                         epsilon = {}; take more noise or fewer steps, or remove the limit (--set epsilon=)",
                        target.epsilon
                    )));
                }
                Ok((noise, steps))
            }
            (Some(noise), Some(steps), _) => Ok((noise, steps)),
            (None, Some(steps), Some(target)) => {
                let total = |noise: f64| self.total(noise, steps);
                let found = calibrate::noise_multiplier(self.accountant(), target, total);
                Ok((found.map_err(|error| unaffordable(error, target))?.value, steps))
            }
            (Some(noise), None, Some(target)) if noise > 0.0 => {
                Ok((noise, few_enough(self.affordable(noise, target)?)?))
            }
            (_, None, _) => Err(Error::Plan("the length is missing: set steps or epochs".to_string())),
            (None, Some(_), None) => Err(Error::Plan(
                "set epsilon (the noise is then calibrated) or noise_multiplier (epsilon is then reported)"
                    .to_string(),
            )),
        }
    }
}

/// The longest run: more steps than anybody waits for.
const MOST_STEPS: u64 = 1_000_000_000;

/// Refuses a run that would never end.
fn few_enough(steps: u64) -> Result<u64> {
    match steps <= MOST_STEPS {
        true => Ok(steps),
        false => Err(Error::Plan(format!(
            "{steps} steps are more than {MOST_STEPS}: set fewer epochs or steps, or less noise where epsilon decides on them"
        ))),
    }
}

/// A budget that allows nothing, with what would help.
fn unaffordable(error: AccountingError, target: &Target) -> Error {
    match error {
        AccountingError::Unreachable { .. } => Error::Plan(format!(
            "{error}; epsilon = {} at delta = {} leaves no room for this run: raise one of them, or take fewer steps or \
             smaller batches",
            target.epsilon, target.delta
        )),
        other => other.into(),
    }
}
