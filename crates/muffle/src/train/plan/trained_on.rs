//! What a network is trained on in place of the records.

use super::{DataShape, Plan};
use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::train::evaluation::Evaluator;
use crate::train::recipe::GradientRecipe;
use crate::train::views::ViewsOfRecord;
use muffle_nn::Shape;
use std::sync::Arc;

/// The shape of what is trained on.
pub(super) fn shape(training: &GradientRecipe, data: &DataShape) -> Result<Shape> {
    let Some(features) = &training.features else {
        return Ok(training.principal_components.map_or(data.input, |pca| Shape::Vector(pca.dimensions)));
    };
    let besides = [
        ("principal_components", training.principal_components.is_some()),
        ("freeze", !training.freeze.is_empty()),
        ("adapters", training.adapters.is_some()),
        ("augmentation", training.augmentation != ViewsOfRecord::default()),
        ("records held out of the training split", training.held_out() > 0.0),
    ];
    match besides.iter().find(|(_, asked)| *asked) {
        Some((name, _)) => Err(Error::Plan(format!(
            "features are made once, before training, and do not go together with {name}; leave one of them out"
        ))),
        None => Ok(features.network(data.input)?.output()),
    }
}

impl Plan {
    /// The records that are trained on: features of them, if the recipe asks for that.
    pub fn inputs(&self, dataset: &Dataset) -> Result<Option<Dataset>> {
        let features = self.recipe.training.features.as_ref();
        features.map(|features| features.apply(dataset, self.recipe.run.threads)).transpose()
    }

    /// Runs the network that was trained on records as they are.
    pub fn evaluator(&self, threads: Option<usize>) -> Result<Evaluator> {
        let network = match self.recipe.training.features {
            Some(_) => Arc::new(self.description.network()?),
            None => self.network.clone(),
        };
        Evaluator::new(network, threads)
    }
}
