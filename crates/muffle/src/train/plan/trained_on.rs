//! What a network is trained on in place of the records.

use super::{DataShape, Plan};
use crate::data::{Augmentation, Dataset};
use crate::error::{Error, Result};
use crate::features::{self, Features};
use crate::train::evaluation::Evaluator;
use crate::train::origin::Origin;
use crate::train::recipe::{GradientRecipe, Recipe};
use muffle_nn::{Network, Shape};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Fills in what follows from the files that features name.
pub(super) fn settle(training: &mut GradientRecipe) -> Result<()> {
    training.features.as_mut().map_or(Ok(()), Features::settle)
}

/// The shape of what is trained on.
pub(super) fn shape(training: &GradientRecipe, data: &DataShape) -> Result<Shape> {
    let Some(chosen) = &training.features else {
        return Ok(training.principal_components.map_or(data.input, |pca| Shape::Vector(pca.dimensions)));
    };
    let besides = [
        ("principal_components", training.principal_components.is_some()),
        ("freeze", !training.freeze.is_empty()),
        ("adapters", training.adapters.is_some()),
        ("records held out of the training split", training.held_out() > 0.0),
    ];
    features::numbers(training.augmentation.augmentation(), training.augmentation.views)?;
    match besides.iter().find(|(_, asked)| *asked) {
        Some((name, _)) => Err(Error::Plan(format!(
            "features are made once, before training, and do not go together with {name}; leave one of them out"
        ))),
        None => Ok(chosen.network(data.input)?.output()),
    }
}

impl Plan {
    /// The records that are trained on: features of them, if the recipe asks for that.
    pub fn inputs(&self, dataset: &Dataset) -> Result<Option<Arc<Dataset>>> {
        let (Recipe { run, training }, never) = (&self.recipe, AtomicBool::new(false));
        let features = training.features.as_ref();
        let views = self.stored_views();
        let apply = |features: &Features| features.apply(dataset, views, run.threads, &never, &mut |_, _| {});
        features.map_or(Ok(None), apply)
    }

    /// What no figure of the run is about, in words: public weights that it starts from or looks through.
    pub(super) fn not_covered(&self) -> Vec<String> {
        let started_from = self.origin.as_ref().map(Origin::not_covered);
        let prior = self.recipe.training.features.as_ref().and_then(Features::not_covered);
        started_from.into_iter().chain(prior).collect()
    }

    /// How views of records differ whose features are made before training, and how many there are.
    pub(crate) fn stored_views(&self) -> (Augmentation, usize) {
        let augmentation = self.recipe.training.augmentation;
        (augmentation.augmentation(), augmentation.views)
    }

    /// The network that is published, with all its parameters, of which these are trained.
    pub fn published(&self, trained: &[f32]) -> Result<(Arc<Network>, Vec<f32>)> {
        let (network, parameters) = match &self.origin {
            Some(origin) => origin.published(&self.network, trained),
            None => (self.network.clone(), trained.to_vec()),
        };
        let Some(features) = &self.recipe.training.features else { return Ok((network, parameters)) };
        let whole = self.description.network()?;
        let constants = features.parameters(whole.input())?;
        Ok((Arc::new(whole), [constants.to_vec(), parameters].concat()))
    }

    /// Runs the network that is published.
    pub fn evaluator(&self, threads: Option<usize>) -> Result<Evaluator> {
        let network = match self.recipe.training.features {
            Some(_) => Arc::new(self.description.network()?),
            None => self.network.clone(),
        };
        Evaluator::new(network, threads)
    }
}
