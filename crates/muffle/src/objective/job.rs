//! Training by one release, as a job for a run and as a row of the table of kinds.

use super::methods::METHODS;
use super::plan::Plan;
use super::recipe::Recipe;
use super::stack::StackTrainer;
use super::trainer::ObjectiveTrainer;
use crate::data::Dataset;
use crate::error::Result;
use crate::methods::Mode;
use crate::run::{Job, Kind, Terms, Trainer};
use muffle_accounting::Event;
use serde_json::{Map, Value, json};

/// Training by one release.
pub static KIND: Kind = Kind {
    name: "objective",
    about: "the coefficients of a loss on fixed features, released once and solved for",
    methods: || METHODS.iter().map(|entry| &entry.about).collect(),
    usual: Some("features = { kind = \"raw\" }"),
    plan: |parts, dataset| Ok(Box::new(Plan::new(Recipe::of(parts)?, dataset)?)),
};

impl Job for Plan {
    fn terms(&self) -> Terms {
        Plan::terms(self)
    }

    fn recipe(&self) -> String {
        self.recipe.to_toml()
    }

    fn cost(&self) -> Result<Event> {
        Ok(Event::compose(self.accesses().into_iter().filter_map(|access| access.charge)))
    }

    fn outline(&self) -> Vec<(&'static str, String)> {
        if let Some(stack) = &self.learned.stack {
            let (layers, batch) = (stack.layers.len(), stack.descent.batch);
            return vec![(
                "layers",
                format!("{layers}, one after the other on samples of {batch}, and a head"),
            )];
        }
        if self.learned.reports.is_some() {
            let inputs = self.map.network().input().len();
            return vec![
                ("reports", format!("of every record, {inputs} inputs with noise and a class")),
                ("noise multiplier", format!("{:.4}", self.noise_multiplier)),
            ];
        }
        let (width, count, bound) = (self.width(), self.coefficients(), self.form.bound());
        vec![
            ("features", format!("{width} for each record, of a norm of at most 1")),
            ("coefficients", format!("{count}, moved by at most {bound:.4} by one record")),
            ("noise multiplier", format!("{:.4}", self.noise_multiplier)),
        ]
    }

    fn figures(&self) -> Map<String, Value> {
        let figures = [
            ("features", json!(self.width())),
            ("coefficients", json!(self.coefficients())),
            ("bound", json!(self.form.bound())),
            ("noise_multiplier", json!(self.noise_multiplier)),
        ];
        figures.map(|(name, value)| (name.to_string(), value)).into_iter().collect()
    }

    fn breaks(&self) -> Option<&'static str> {
        (self.recipe.training.mode == Mode::AsPublished).then_some(self.method.breaks)
    }

    fn with_seed(&self, seed: Option<u64>) -> Box<dyn Job> {
        let mut plan = self.clone();
        plan.recipe.run.seed = seed;
        Box::new(plan)
    }

    fn trainer(&self, dataset: &Dataset) -> Result<Box<dyn Trainer>> {
        let key = self.recipe.run.key()?;
        Ok(match &self.learned.stack {
            Some(_) => Box::new(StackTrainer::new(self, dataset, key)?),
            None => Box::new(ObjectiveTrainer::new(self, dataset, key)?),
        })
    }
}
