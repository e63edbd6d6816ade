//! What the parts of a run cost, for any noise and length.

use super::class_weights::ClassShares;
use super::plan::Plan;
use super::recipe::{GradientRecipe, Recipe};
use crate::error::{Error, Result};
use crate::ledger::{Access, Purpose};
use crate::methods::{Blueprint, Entry, Method, Parameters};
use crate::noise::{self, Key};
use crate::principal_components;
use crate::sampler::{Charges, Sampler};
use crate::schedule::TimeUnit;
use muffle_accounting::{Adjacency, Event};
use muffle_nn::Network;
use std::ops::Range;
use std::sync::Arc;

/// What a method learns of all records, before one of the steps.
pub const METHOD: Purpose = Purpose::with_noise("method", noise::Purpose::RelevanceNoise);
/// Steps of training.
pub const STEPS: Purpose = Purpose::with_noise("steps", noise::Purpose::GradientNoise);
/// A count of correct validation records, between two steps.
pub const VALIDATION: Purpose = Purpose::with_noise("validation", noise::Purpose::ValidationNoise);

/// A count of the records of each class, before the first step.
pub const CLASS_SHARES: Purpose = Purpose::new("class_shares");
/// Counts of held-out records by their outputs, behind the last step.
pub const THRESHOLD: Purpose = Purpose::new("threshold");

/// What is known of a run before its noise and its length are settled.
#[derive(Clone, Copy)]
pub(super) struct Pricing<'a> {
    pub recipe: &'a Recipe,
    pub network: &'a Arc<Network>,
    pub method: &'static Entry,
    pub adjacency: Adjacency,
    pub sample_rate: f64,
}

impl<'a> Pricing<'a> {
    fn training(&self) -> &'a GradientRecipe {
        &self.recipe.training
    }

    /// The sampler of a run on this many records.
    pub fn sampler(&self, key: &Key, records: usize) -> Box<dyn Sampler> {
        self.training().sampler.sampler(key, records, self.sample_rate)
    }

    /// The method, ready for the first step.
    pub fn build_method(&self) -> Result<Box<dyn Method>> {
        let training = self.training();
        let parameters = Parameters::new(self.method, &training.parameters).map_err(Error::Plan)?;
        let blueprint = Blueprint {
            name: self.method.name,
            network: self.network,
            mode: training.mode,
            parameters: &parameters,
            clip: &training.clip,
            noise: training.noise,
            private: self.recipe.run.private,
            sampler: training.sampler,
            adjacency: self.adjacency,
            batch_size: training.batch_size,
            views: training.augmentation.views,
            delta: self.recipe.run.delta,
            steps: training.steps,
            noise_multiplier: training.noise_multiplier,
            scheduled_noise: training.noise_schedule.is_some(),
        };
        (self.method.build)(&blueprint).map_err(Error::Plan)
    }

    /// Whole passes over the data in this many steps.
    pub fn epochs(&self, step: u64) -> u64 {
        // A product that should be whole may fall short by one rounding.
        (step as f64 * self.sample_rate + 1e-9).floor() as u64
    }

    /// Where schedules are at a step.
    pub fn time(&self, step: u64) -> u64 {
        match self.training().schedule_unit {
            TimeUnit::Step => step,
            TimeUnit::Epoch => self.epochs(step),
        }
    }

    /// The factor on the noise multiplier at a step.
    pub fn noise_factor(&self, step: u64) -> f64 {
        self.training().noise_schedule.as_ref().map_or(1.0, |schedule| schedule.at(self.time(step)))
    }

    /// The release of principal components, if the recipe asks for them.
    pub fn principal_components(&self) -> Option<Access> {
        let choice = self.training().principal_components?;
        let event = match self.recipe.run.private {
            true => Event::gaussian(choice.noise_multiplier),
            false => Event::NonPrivate,
        };
        Some(Access::all(principal_components::PURPOSE, 0, event))
    }

    /// The count of the records of each class, if the recipe asks for it, and its noise multiplier.
    pub fn class_shares(&self) -> Option<(Access, f64)> {
        let Some(ClassShares::Counted { epsilon }) = self.training().class_shares else { return None };
        Some(self.counts(CLASS_SHARES, 1.0 / epsilon))
    }

    /// The counts that a threshold is chosen by, if they are paid for, and their noise multiplier.
    pub fn threshold(&self) -> Option<(Access, f64)> {
        let records = self.training().threshold?.chosen()?.records?;
        records.noise_multiplier().map(|noise_multiplier| self.counts(THRESHOLD, noise_multiplier))
    }

    /// Counts with Laplace noise; without privacy there is none.
    fn counts(&self, purpose: Purpose, noise_multiplier: f64) -> (Access, f64) {
        match self.recipe.run.private {
            true => (Access::all(purpose, 0, Event::laplace(noise_multiplier)), noise_multiplier),
            false => (Access::all(purpose, 0, Event::NonPrivate), 0.0),
        }
    }

    /// What the whole run costs.
    pub fn run_cost(&self, method: &dyn Method, sampler: &dyn Sampler, noise: f64, steps: u64) -> Event {
        let components = self.principal_components().map(|access| access.release);
        let shares = self.class_shares().map(|(access, _)| access.release);
        let mut total = Event::compose(components.into_iter().chain(shares).chain(method.preparation()));
        total.append(self.steps_cost(method, sampler, noise, 0..steps));
        let checks = self.training().validation.and_then(|validation| validation.cost(self.epochs(steps)));
        let threshold = self.threshold().map(|(access, _)| access.release);
        checks.into_iter().chain(threshold).for_each(|event| total.append(event));
        total
    }

    /// What steps cost that begin without anything paid.
    pub fn steps_cost(
        &self,
        method: &dyn Method,
        sampler: &dyn Sampler,
        noise: f64,
        steps: Range<u64>,
    ) -> Event {
        let mut total = Event::compose([]);
        if steps.is_empty() {
            return total;
        }
        if self.training().noise_schedule.is_none() {
            let periods = steps.end.div_ceil(sampler.period()) - steps.start / sampler.period();
            total.append(sampler.amplify(method.event(noise)).repeated(periods));
            return total;
        }
        let mut charges = Charges::new();
        for step in steps {
            let event = method.event(noise * self.noise_factor(step));
            charges.charge(sampler, step, event).into_iter().for_each(|charge| total.append(charge));
        }
        total
    }
}

impl Plan {
    /// The count of the records of each class, if the recipe asks for it, and its noise multiplier.
    pub fn class_count(&self) -> Option<(Access, f64)> {
        self.pricing().class_shares()
    }

    /// Behind how many steps the method learns what it learns of all records. An epoch that is charged as a whole is not interrupted.
    pub fn prepared_after(&self, method: &dyn Method, sampler: &dyn Sampler) -> u64 {
        let wanted = method.prepared_after(self.steps);
        wanted - wanted % sampler.period()
    }

    /// What steps cost that begin without anything paid, whoever takes them.
    pub fn cost_of(&self, steps: Range<u64>, sampler: &dyn Sampler) -> Event {
        let method = self.build_method().expect("it was built for the plan");
        self.steps_cost(&*method, sampler, steps)
    }
}
