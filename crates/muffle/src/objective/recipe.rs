//! The part of a recipe that training by one release needs.

use super::features::Features;
use super::methods::{self, Entry};
use crate::error::{Error, Result};
use crate::mechanism::NoiseKind;
use crate::methods::{Mode, Parameters};
use crate::run::{Parts, RunRecipe};
use crate::train::PrincipalComponents;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A recipe of this kind of training: what every run has, and what this kind needs.
#[derive(Clone, Debug, PartialEq)]
pub struct Recipe {
    /// What every run has.
    pub run: RunRecipe,
    /// What releasing an objective needs.
    pub training: ObjectiveRecipe,
}

/// What releasing an objective needs. Of `epsilon` and `noise_multiplier` one is enough; with both, epsilon is a limit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ObjectiveRecipe {
    /// The published method.
    #[serde(default = "method")]
    pub method: String,
    /// Its sound form, or the literal algorithm.
    #[serde(default)]
    pub mode: Mode,
    /// The method's own numbers.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, f64>,
    /// What stands for a record.
    #[serde(default = "features")]
    pub features: Features,
    /// Private principal components in place of the inputs, before the features.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub principal_components: Option<PrincipalComponents>,
    /// The distribution of the noise, and with it the norm in which features are bounded.
    #[serde(default)]
    pub noise: NoiseKind,
    /// The scale of the noise over the bound on a record, for the coefficients.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noise_multiplier: Option<f64>,
}

fn method() -> String {
    methods::FUNCTIONAL_MECHANISM.name.to_string()
}

fn features() -> Features {
    Features::Raw {}
}

impl Recipe {
    /// The recipe of two parts.
    pub fn of(parts: &Parts) -> Result<Recipe> {
        let recipe = Recipe { run: parts.run.clone(), training: parts.training()? };
        recipe.check().map_err(|reason| parts.refuse(reason))?;
        Ok(recipe)
    }

    /// Checks the range of every number by itself.
    fn check(&self) -> std::result::Result<(), String> {
        let positive = |value: f64| value > 0.0 && value.is_finite();
        if let Some(noise) = self.training.noise_multiplier.filter(|&noise| !positive(noise)) {
            return Err(format!("noise_multiplier = {noise} is outside (0, infinity)"));
        }
        let components = self.training.principal_components;
        components.map_or(Ok(()), |components| components.check(self.run.private))
    }

    /// The method, if it has the form that is asked for, and its numbers.
    pub(super) fn method(&self) -> Result<(&'static Entry, Parameters)> {
        let training = &self.training;
        let method = methods::find(&training.method).map_err(Error::Plan)?;
        method.check_form(training.mode).map_err(Error::Plan)?;
        let parameters = Parameters::new(method, &training.parameters).map_err(Error::Plan)?;
        Ok((method, parameters))
    }

    /// The recipe as a file.
    pub fn to_toml(&self) -> String {
        Parts::to_toml(&self.run, &self.training)
    }

    /// The same without what would make its noise known to a reader.
    pub(super) fn without_seed(&self) -> Recipe {
        Recipe { run: RunRecipe { seed: None, ..self.run.clone() }, training: self.training.clone() }
    }
}
