//! A generator and its critic, as a job for a run and as a row of the table of kinds.

use super::plan::AdversarialPlan;
use super::trainer::AdversarialTrainer;
use crate::data::Dataset;
use crate::error::Result;
use crate::methods::CRITICS;
use crate::run::{Job, Kind, Terms, Trainer};
use muffle_accounting::Event;
use serde_json::{Map, Value, json};

/// Training of a generator by a critic.
pub static KIND: Kind = Kind {
    name: "adversarial",
    about: "a critic that sees records through noise, and a generator that sees the critic",
    methods: || CRITICS.iter().map(|entry| &entry.about).collect(),
    usual: None,
    plan: |parts, dataset| Ok(Box::new(AdversarialPlan::new(parts, dataset)?)),
};

impl Job for AdversarialPlan {
    fn terms(&self) -> Terms {
        AdversarialPlan::terms(self)
    }

    fn recipe(&self) -> String {
        self.to_toml()
    }

    fn cost(&self) -> Result<Event> {
        self.critic.total_cost()
    }

    fn outline(&self) -> Vec<(&'static str, String)> {
        let (generator, every) = (self.generator.1.trainable_len(), self.recipe.generator.critic_steps);
        let generator = format!("{generator} parameters, a step after every {every} of the critic");
        let mut outline = Job::outline(&self.critic);
        outline[0].0 = "critic";
        outline.insert(1, ("generator", generator));
        outline
    }

    fn figures(&self) -> Map<String, Value> {
        let mut figures = Job::figures(&self.critic);
        figures.insert("generator_parameters".to_string(), json!(self.generator.1.trainable_len()));
        figures
    }

    fn breaks(&self) -> Option<&'static str> {
        Job::breaks(&self.critic)
    }

    /// Per-example gradients of the critic are compared with those of one record at a time.
    fn rehearse(&self) -> Result<()> {
        Job::rehearse(&self.critic)
    }

    fn with_seed(&self, seed: Option<u64>) -> Box<dyn Job> {
        let mut plan = self.clone();
        plan.critic.recipe.run.seed = seed;
        Box::new(plan)
    }

    fn trainer(&self, dataset: &Dataset) -> Result<Box<dyn Trainer>> {
        Ok(Box::new(AdversarialTrainer::new(self, dataset, self.run().key()?)?))
    }
}
