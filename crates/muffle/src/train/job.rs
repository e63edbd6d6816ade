//! Training by gradients, as a job for a run and as a row of the table of kinds.

use super::estimate::estimate;
use super::plan::{DataShape, Plan};
use super::recipe::Recipe;
use super::self_check::self_check;
use super::trainer::GradientTrainer;
use crate::data::Dataset;
use crate::error::Result;
use crate::methods::{METHODS, Mode};
use crate::run::{Estimate, Job, Kind, Terms, Trainer, USUAL_KIND};
use muffle_accounting::Event;
use muffle_nn::initialise::initial_parameters;
use serde_json::{Map, Value, json};

/// Training by gradients.
pub static KIND: Kind = Kind {
    name: USUAL_KIND,
    about: "descent on gradients of single records, clipped and noised",
    methods: || METHODS.iter().map(|entry| &entry.about).collect(),
    usual: None,
    plan: |parts, dataset| Ok(Box::new(Plan::new(Recipe::of(parts)?, &DataShape::of(dataset))?)),
};

impl Job for Plan {
    fn terms(&self) -> Terms {
        Plan::terms(self)
    }

    fn recipe(&self) -> String {
        self.recipe.to_toml()
    }

    fn cost(&self) -> Result<Event> {
        self.total_cost()
    }

    fn outline(&self) -> Vec<(&'static str, String)> {
        let (steps, epochs) = (self.steps, self.steps as f64 * self.sample_rate);
        let (batch, rate) = (self.recipe.training.batch_size, self.sample_rate);
        vec![
            ("model", format!("{} parameters", self.network.trainable_len())),
            (
                "steps",
                format!("{steps} ({epochs:.1} epochs), {batch} records expected in each (rate {rate:.6})"),
            ),
            ("noise multiplier", format!("{:.4}", self.noise_multiplier)),
        ]
    }

    fn figures(&self) -> Map<String, Value> {
        let figures = [
            ("parameters", json!(self.network.trainable_len())),
            ("steps", json!(self.steps)),
            ("sample_rate", json!(self.sample_rate)),
            ("batch_size", json!(self.recipe.training.batch_size)),
            ("noise_multiplier", json!(self.noise_multiplier)),
        ];
        figures.map(|(name, value)| (name.to_string(), value)).into_iter().collect()
    }

    fn breaks(&self) -> Option<&'static str> {
        (self.recipe.training.mode == Mode::AsPublished).then_some(self.method.breaks)
    }

    fn estimate(&self) -> Result<Option<Estimate>> {
        estimate(self).map(Some)
    }

    /// Per-example gradients are compared with those of one record at a time.
    fn rehearse(&self) -> Result<()> {
        self_check(&self.network, &initial_parameters(&self.network, 0), self.loss)
    }

    fn with_seed(&self, seed: Option<u64>) -> Box<dyn Job> {
        let mut plan = self.clone();
        plan.recipe.run.seed = seed;
        Box::new(plan)
    }

    fn trainer(&self, dataset: &Dataset) -> Result<Box<dyn Trainer>> {
        Ok(Box::new(GradientTrainer::new(self, dataset, self.recipe.run.key()?)?))
    }
}
