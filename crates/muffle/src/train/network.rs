//! The network a recipe asks for, and whether it fits the data.

use super::error::{Result, TrainError};
use super::recipe::ModelChoice;
use muffle_nn::shape::Shape;
use muffle_nn::{ModelDescription, Network, models};
use std::path::Path;

/// The network a recipe asks for.
pub fn describe(model: &ModelChoice, input: Shape) -> Result<ModelDescription> {
    match model {
        ModelChoice::Named(name) if name.ends_with(".toml") => Ok(ModelDescription::read(Path::new(name))?),
        ModelChoice::Named(name) => Ok(models::model(name)?),
        ModelChoice::Written(table) => {
            let mut table = table.clone();
            table.entry("input").or_insert_with(|| {
                input
                    .sizes()
                    .into_iter()
                    .map(|size| toml::Value::Integer(size as i64))
                    .collect::<Vec<_>>()
                    .into()
            });
            Ok(ModelDescription::from_toml(&table.to_string())?)
        }
    }
}

/// Refuses a network that does not take the records or does not know their classes.
pub fn check_shapes(network: &Network, input: Shape, classes: usize) -> Result<()> {
    if !network.input().reads(input) {
        return Err(TrainError::Plan(format!(
            "the model takes inputs of shape {}, the data has {input}; choose another model, or describe one in the \
             recipe (docs/models.md)",
            network.input()
        )));
    }
    if network.output().len() != classes {
        return Err(TrainError::Plan(format!(
            "the model has {} outputs, the data has {classes} classes; its last layer needs one output for each class",
            network.output().len()
        )));
    }
    Ok(())
}
