//! The network a recipe asks for, and whether it fits the data.

use super::plan::{TargetShape, Texts};
use super::recipe::ModelChoice;
use crate::error::{Error, Result};
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

/// Refuses a network that does not know all tokens of the records, or takes another one for what fills them up.
pub fn check_texts(network: &Network, texts: Texts) -> Result<()> {
    let Some(known) = network.tokens() else { return Ok(()) };
    if let Some(vocabulary) = texts.vocabulary.filter(|vocabulary| *vocabulary as usize > known) {
        return Err(Error::Plan(format!(
            "the model knows {known} tokens, the texts have {vocabulary}; give its embedding `tokens = {vocabulary}`"
        )));
    }
    match network.padding() {
        Some(padding) if padding != texts.padding as usize => Err(Error::Plan(format!(
            "the model takes token {padding} for what fills up short texts, the data fill them up with {}; give its embedding \
             `padding = {0}`",
            texts.padding
        ))),
        _ => Ok(()),
    }
}

/// Refuses a network that does not take the records or does not have their targets as outputs.
pub fn check_shapes(network: &Network, input: Shape, targets: TargetShape) -> Result<()> {
    if !network.input().reads(input) {
        return Err(Error::Plan(format!(
            "the model takes inputs of shape {}, the data has {input}; choose another model, or describe one in the \
             recipe (docs/models.md)",
            network.input()
        )));
    }
    let outputs = network.output().len();
    let (wanted, what, one) = match targets {
        TargetShape::Classes(count) => (count, "classes", "class"),
        TargetShape::Labels(count) => (count, "labels", "label"),
        TargetShape::Values(count) => (count, "values to predict", "value"),
        TargetShape::None => (outputs, "", ""),
    };
    if outputs != wanted {
        return Err(Error::Plan(format!(
            "the model has {outputs} outputs, the data has {wanted} {what}; its last layer needs one output for each {one}"
        )));
    }
    Ok(())
}
