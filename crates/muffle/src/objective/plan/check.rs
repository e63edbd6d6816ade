//! What does not go together.

use super::super::choices::{Choices, Weigh};
use super::super::features::Features;
use super::super::recipe::Recipe;
use crate::data::{Dataset, Visibility};
use crate::error::{Error, Result};
use muffle_accounting::Adjacency;
use muffle_nn::Shape;

/// Refuses what a method cannot learn from these records.
pub(super) fn learned(
    learned: &Choices,
    recipe: &Recipe,
    input: Shape,
    classes: usize,
    adjacency: Adjacency,
) -> Result<()> {
    let refuse = |reason: &str| Err(Error::Plan(format!("{}: {reason}", recipe.training.method)));
    let Choices { weighing, belief, reports, stack, .. } = learned;
    let raw = recipe.training.features == (Features::Raw {});
    if (weighing.is_some() || stack.is_some()) && classes == 0 {
        return refuse("it is about classes, and the data has none: take functional-mechanism");
    }
    match weighing.map(|weighing| weighing.by) {
        Some(Weigh::Weak { .. }) if !raw || !matches!(input, Shape::Vector(_)) => {
            return refuse(
                "it weighs the columns of a table: set features.kind = \"raw\", on records that are vectors",
            );
        }
        Some(Weigh::Shares { regions: Some(regions), .. }) if regions < 2 || regions >= input.len() => {
            let inputs = input.len();
            return refuse(&format!(
                "parameters.regions = {regions}: one region would weigh all {inputs} inputs alike, and {inputs} regions are \
                 what the method without regions has; give a whole number between"
            ));
        }
        _ => {}
    }
    let components = recipe.training.principal_components.is_some();
    if (belief.is_some() || stack.is_some()) && (!raw || components) {
        return refuse(
            "its layers read the records themselves: set features.kind = \"raw\" and principal_components=",
        );
    }
    if stack.is_some() && !recipe.run.private {
        return refuse("what was published is its noise: without privacy, set mode = \"sound\"");
    }
    if (belief.is_some() || stack.is_some()) && recipe.run.records.is_none() {
        return refuse("samples need a public number of records: set records");
    }
    if reports.is_some() && adjacency == Adjacency::AddRemove {
        return refuse(
            "there is one report for each record, so that their number is public: set adjacency = \"replace_one\"",
        );
    }
    if reports.is_some() && components {
        return refuse("records report their inputs, not components of them: set principal_components=");
    }
    Ok(())
}

/// Refuses to take the number of records for public where a hash decides which records are trained on.
pub(super) fn split(recipe: &Recipe, dataset: &Dataset, adjacency: Adjacency) -> Result<()> {
    let private = dataset.visibility() == Visibility::Private && recipe.run.private;
    if private && dataset.is_split_by_hash() && adjacency == Adjacency::ReplaceOne {
        return Err(Error::Plan(
            "adjacency = \"replace_one\" takes the number of training records as public, but a hash decides which records these are, \
             and a record that is replaced can change sides: give the test records by `test_path`, or by a `split` column, or take \
             adjacency = \"add_remove\""
                .to_string(),
        ));
    }
    Ok(())
}
