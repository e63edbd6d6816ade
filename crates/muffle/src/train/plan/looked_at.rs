//! Whether what a recipe looks at beside its training may be looked at, and fits the classes.

use super::{Error, Pricing, Recipe, Result, TargetShape};
use crate::data::Visibility;
use crate::sampler::SamplerChoice;
use crate::train::plan::DataShape;
use crate::train::recipe::GradientRecipe;
use crate::train::validation::ValidationRecords;
use muffle_accounting::Adjacency;

/// Refuses to take for public what a split by hash makes of private records.
pub(super) fn check_split(recipe: &Recipe, data: &DataShape, adjacency: Adjacency) -> Result<()> {
    if !data.split_by_hash || data.visibility == Visibility::Public || !recipe.run.private {
        return Ok(());
    }
    let remedy = "give the test records by `test_path`, or by a `split` column";
    if adjacency == Adjacency::ReplaceOne {
        return Err(Error::Plan(format!(
            "adjacency = \"replace_one\" takes the number of training records as public, but a hash decides which records \
             these are, and a record that is replaced can change sides: {remedy}, or take sampler = \"poisson\" with \
             adjacency = \"add_remove\""
        )));
    }
    let public = |(_, records): &(&str, ValidationRecords)| *records == ValidationRecords::PublicTest {};
    match recipe.training.looked_at().find(public) {
        Some((key, _)) => Err(Error::Plan(format!(
            "{key}.records.kind = \"public-test\": the test split is drawn by a hash from the same private table as the \
             training records, so it is not public: {remedy}, or pay for records = {{ kind = \"held-out\", .. }}"
        ))),
        None => Ok(()),
    }
}

/// The share of the records that is trained on, if the rest can be held out.
pub(super) fn check_held_out(recipe: &Recipe, adjacency: Adjacency) -> Result<f64> {
    let training = &recipe.training;
    let share = training.held_out();
    let Some((key, _)) = training.looked_at().find(|(_, records)| records.share() > 0.0) else {
        return Ok(1.0);
    };
    let refuse = |reason: &str| Err(Error::Plan(format!("{key}.records.kind = \"held-out\": {reason}")));
    if training.looked_at().any(|(_, records)| records.share() != share && records.share() > 0.0) {
        return refuse("validation and threshold look at the same records, so both need the same share");
    }
    match (training.sampler, adjacency) {
        (SamplerChoice::FixedSize, _) => refuse(
            "a sample of fixed size needs the exact number of the records that are left, which is not public; take \
             another sampler",
        ),
        (SamplerChoice::Reshuffled, Adjacency::ReplaceOne) => refuse(
            "a record that is replaced can change sides, and then all batches of a shuffle change; set adjacency = \
             \"zero_out\" or sampler = \"balls-and-bins\"",
        ),
        _ => Ok(1.0 - share),
    }
}

/// Refuses what a filter would leave nothing for.
pub(super) fn check_closing(pricing: Pricing) -> Result<()> {
    let filtered = pricing.recipe.training.validation.is_some() || pricing.build_method()?.adaptive();
    match pricing.threshold().filter(|_| filtered) {
        Some(_) => Err(Error::Plan(
            "threshold.records.kind = \"held-out\": the noise of this run follows what it releases, and its filter spends the whole \
             budget on steps; give a number, or choose on records = { kind = \"public-test\" }"
                .to_string(),
        )),
        None => Ok(()),
    }
}

/// Refuses weights for another number of classes, and a threshold between more than two.
pub(super) fn check_numbers_of_classes(training: &GradientRecipe, targets: TargetShape) -> Result<()> {
    let TargetShape::Classes(classes) = targets else { return Ok(()) };
    let weights = training.class_weights.as_ref();
    let given = weights.and_then(|weights| weights.classes(training.class_shares.as_ref()));
    if let Some(given) = given.filter(|given| *given != classes) {
        let key = if training.class_shares.is_some() { "class_shares" } else { "class_weights" };
        return Err(Error::Plan(format!("{key} has {given} numbers, and there are {classes} classes")));
    }
    match training.threshold.is_some() && classes != 2 {
        true => Err(Error::Plan(format!(
            "threshold decides between two classes, and there are {classes}; leave it out"
        ))),
        false => Ok(()),
    }
}
