//! Training by gradients, as a run sees it.

use super::canaries::Canaries;
use super::plan::Plan;
use super::steps::Steps;
use crate::State;
use crate::bundle::Bundle;
use crate::data::{Dataset, Schema};
use crate::error::{Error, Result};
use crate::ledger::{Access, Head, Receipt};
use crate::mechanism::Mechanism;
use crate::noise::Key;
use crate::principal_components::{self, Projection};
use crate::records::PrivateRecords;
use crate::run::{
    CanaryMeasurement, MODEL_FILE, Measurements, Readiness, Trainer, Work, ledger_entry, recipe_digest,
};
use muffle_accounting::Event;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Name of the principal components in a saved state.
const COMPONENTS: &str = "components";

/// Private principal components where the recipe asks for them, then steps of gradient descent.
pub struct GradientTrainer {
    plan: Arc<Plan>,
    dataset: Arc<Dataset>,
    key: Key,
    canaries: Option<Canaries>,
    components: Option<Projection>,
    /// Not begun before the components are there, or the features.
    steps: Option<Steps>,
}

impl GradientTrainer {
    /// Before anything is touched.
    pub fn new(plan: &Plan, dataset: &Dataset, key: Key) -> Result<GradientTrainer> {
        let records = plan.recipe.run.records.unwrap_or_default();
        let plant = |choice| Canaries::plant(dataset, choice, records);
        let canaries = plan.recipe.training.audit.map(plant).transpose()?;
        let dataset = Arc::new(canaries.as_ref().map_or(dataset, Canaries::training).clone());
        let plan = Arc::new(plan.clone());
        let mut trainer = GradientTrainer { plan, dataset, key, canaries, components: None, steps: None };
        let training = &trainer.plan.recipe.training;
        if training.principal_components.is_none() && training.features.is_none() {
            trainer.begin(trainer.dataset.clone())?;
        }
        Ok(trainer)
    }

    /// Begins the steps on these records.
    fn begin(&mut self, dataset: Arc<Dataset>) -> Result<()> {
        self.steps = Some(Steps::new(self.plan.clone(), dataset, self.key.clone())?);
        Ok(())
    }

    /// Goes on with the records' private principal components in place of the records.
    fn project(&mut self, projection: Projection) -> Result<()> {
        let projected = Arc::new(projection.apply(&self.dataset)?);
        self.components = Some(projection);
        self.begin(projected)
    }

    fn release_components(&mut self, receipt: Receipt) -> Result<()> {
        let recipe = &self.plan.recipe;
        let choice = recipe.training.principal_components.expect("they were asked for and paid");
        let noise_multiplier = if recipe.run.private { choice.noise_multiplier } else { 0.0 };
        let mechanism = Mechanism::new(self.key.clone(), 1.0);
        let records = PrivateRecords::new(self.dataset.clone());
        let (view, receipt) = records.all(receipt);
        let projection =
            principal_components::release(&view, choice.dimensions, noise_multiplier, &mechanism, receipt)?;
        self.project(projection)
    }

    /// The steps, which have begun.
    fn steps(&self) -> &Steps {
        self.steps.as_ref().expect("the first step was taken")
    }

    /// The parameters to publish.
    ///
    /// # Panics
    /// If the principal components are not there yet.
    pub fn result(&self) -> &[f32] {
        self.steps().result()
    }
}

impl Trainer for GradientTrainer {
    fn get_ready(&mut self, stop: &AtomicBool, tell: &mut dyn FnMut(Readiness)) -> Result<bool> {
        let plan = self.plan.clone();
        let Some(features) = plan.recipe.training.features.as_ref().filter(|_| self.steps.is_none()) else {
            return Ok(true);
        };
        let mut tell = |done, of| tell(Readiness { what: "features", done, of });
        match features.apply(&self.dataset, plan.stored_views(), plan.recipe.run.threads, stop, &mut tell)? {
            Some(made) => self.begin(made).map(|()| true),
            None => Ok(false),
        }
    }

    fn upcoming(&self, most: u64) -> Vec<Access> {
        match &self.steps {
            Some(steps) => steps.upcoming(most),
            None => self.plan.pricing().principal_components().into_iter().collect(),
        }
    }

    fn perform(&mut self, receipt: Receipt) -> Result<()> {
        match &mut self.steps {
            Some(steps) => steps.perform(receipt),
            None => self.release_components(receipt),
        }
    }

    fn closing(&self) -> Option<Access> {
        self.steps.as_ref().and_then(Steps::closing)
    }

    fn close(&mut self, receipt: Option<Receipt>) -> Result<()> {
        self.steps.as_mut().map_or(Ok(()), |steps| steps.close(receipt))
    }

    fn step(&self) -> u64 {
        self.steps.as_ref().map_or(0, Steps::step)
    }

    fn cost(&self, steps: u64) -> Event {
        match &self.steps {
            Some(begun) => begun.cost(steps),
            None => {
                let pricing = self.plan.pricing();
                let method = pricing.build_method().expect("the method was built before");
                let sampler = self.plan.sampler(&self.key, self.dataset.train().split().len());
                pricing.run_cost(&*method, &*sampler, self.plan.noise_multiplier, steps)
            }
        }
    }

    fn work(&self) -> Work {
        self.steps.as_ref().map_or(Work::default(), Steps::work)
    }

    fn measure(&mut self) -> Result<Measurements> {
        let Some(steps) = &mut self.steps else { return Ok(Measurements::default()) };
        let epoch = steps.step() as f64 * self.plan.sample_rate;
        let measured = Measurements::default().with("epoch", epoch).with("test", steps.evaluate()?);
        Ok(match steps.decision().threshold() {
            Some(threshold) => measured.with("threshold", threshold),
            None => measured,
        })
    }

    fn diverged(&self) -> bool {
        self.steps.as_ref().is_some_and(Steps::diverged)
    }

    fn audit(&mut self) -> Result<Option<CanaryMeasurement>> {
        let Some(canaries) = &self.canaries else { return Ok(None) };
        let run = &self.plan.recipe.run;
        let mut evaluator = self.plan.evaluator(run.threads)?;
        let (_, parameters) = self.plan.published(self.result())?;
        canaries.measure(&mut evaluator, &parameters, run.delta).map(Some)
    }

    fn state(&self) -> State {
        let mut state = self.steps.as_ref().map_or(State::new(), Steps::state);
        if let Some(components) = &self.components {
            state.insert(COMPONENTS.to_string(), components.components().to_vec());
        }
        state
    }

    fn restore(&mut self, state: &State, step: u64) -> Result<()> {
        if let Some(choice) = self.plan.recipe.training.principal_components
            && let Some(components) = state.get(COMPONENTS)
        {
            self.project(Projection::from_components(choice.dimensions, components.clone())?)?;
        }
        match &mut self.steps {
            Some(steps) => steps.restore(state, step),
            None => Err(Error::Plan(
                "the saved state has no principal components, so it is of an older version: start the run anew, and count \
                 what this one has spent as well"
                    .to_string(),
            )),
        }
    }

    fn leave_files(&self, folder: &Path, head: &Head) -> Result<Vec<String>> {
        let Plan { description, recipe, .. } = &*self.plan;
        let (schema, components) = (Schema::of(&self.dataset), self.components.as_ref());
        let mut bundle =
            Bundle::new(schema, components, recipe.without_seeds().to_toml(), recipe_digest(folder)?);
        bundle.threshold = self.steps().decision().threshold();
        let (model, metadata) = (folder.join(MODEL_FILE), [ledger_entry(head), bundle.entry()]);
        let (network, parameters) = self.plan.published(self.result())?;
        muffle_nn::weights::save_with(&model, &network, Some(description), &parameters, &metadata)?;
        Ok(vec![MODEL_FILE.to_string()])
    }
}
