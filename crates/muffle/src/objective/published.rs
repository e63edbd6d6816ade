//! A network as it is published.

use super::plan::Plan;
use crate::bundle::Bundle;
use crate::data::{Dataset, Schema};
use crate::error::Result;
use crate::ledger::Head;
use crate::principal_components::Projection;
use crate::run::{MODEL_FILE, Measurements, ledger_entry, recipe_digest};
use crate::train::Evaluator;
use muffle_nn::{ModelDescription, Network, weights};
use std::path::Path;
use std::sync::Arc;

/// A network as it is published.
pub struct Published {
    /// Its layers.
    pub description: ModelDescription,
    /// The network.
    pub network: Arc<Network>,
    /// Its parameters.
    pub parameters: Vec<f32>,
}

impl Published {
    /// How good it is on the test split, which no guarantee covers.
    pub(super) fn measure(&self, dataset: &Dataset, threads: Option<usize>) -> Result<Measurements> {
        let mut evaluator = Evaluator::new(self.network.clone(), threads)?;
        Ok(Measurements::default().with("test", evaluator.evaluate(&self.parameters, &dataset.test())?))
    }

    /// Leaves it in the folder of a run, with what it needs to be used on such data.
    pub(super) fn leave(
        &self,
        folder: &Path,
        plan: &Plan,
        dataset: &Dataset,
        components: Option<&Projection>,
        head: &Head,
    ) -> Result<Vec<String>> {
        let recipe = plan.recipe.without_seed().to_toml();
        let bundle = Bundle::new(Schema::of(dataset), components, recipe, recipe_digest(folder)?);
        let (model, metadata) = (folder.join(MODEL_FILE), [ledger_entry(head), bundle.entry()]);
        weights::save_with(&model, &self.network, Some(&self.description), &self.parameters, &metadata)?;
        Ok(vec![MODEL_FILE.to_string()])
    }
}
