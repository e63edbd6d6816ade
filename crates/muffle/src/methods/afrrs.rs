//! Input noise by relevance, region by region.

use super::adlm::{
    FLOOR, HIGH, INPUT_SHARE, LOSS_SHARE, LOW, PATCH, PATCH_MEANING, RELEVANCE_EPOCHS, RELEVANCE_EPSILON,
    RELEVANCE_SHARE, STABILISER,
};
use super::noisy_inputs::{self, Form};
use super::{About, Blueprint, BuildResult, Claim, Entry, Mode, Parameter, Verdict, relevant_inputs};
use crate::relevance::Until;

pub static ENTRY: Entry = Entry {
    about: About {
        name: "afrrs",
        paper: "Wang et al., Preserving differential privacy in deep learning based on feature relevance region segmentation",
        year: 2023,
        idea: "join inputs of like relevance to regions, and add less noise where a region matters more, once",
        verdict: Verdict::Unsound,
        modes: &[Mode::Sound, Mode::AsPublished],
        composes: "layer-wise relevance propagation, private average relevance, regions by average linkage, a clip and Gaussian noise in \
               units of inputs",
        steps: "as adlm, with the weight α of its region in place of the share β of each input: regions are joined while their \
            distance in relevance, over the mean, is below γ, or until so many are left. As published: as adlm, with noise on inputs \
            that is drawn once for each record and stays the same in all steps",
        guarantee: "relevance is a Laplace mechanism over all records, charged before the first step, and regions follow from it. Over \
                the deviations a record has norm 1/σ at most, so each step is one Gaussian mechanism of multiplier σ",
        breaks: "the noise on a record's inputs is worth |L|·d·ε₂/Δ, which the paper does not compute; gradients below the last layer see \
             exact labels in every step; relevance comes from a network trained without privacy, and neither its extremes nor the \
             part of a record in it are bounded (R1, R6)",
        parameters: &[
            RELEVANCE_EPSILON,
            STABILISER,
            FLOOR,
            REGIONS,
            GAMMA,
            RELEVANCE_SHARE,
            INPUT_SHARE,
            LOSS_SHARE,
            LOW,
            HIGH,
            RELEVANCE_EPOCHS,
            Parameter { name: PATCH, default: 0.0, meaning: PATCH_MEANING },
        ],
        settings: &[],
        settings_as_published: &[],
    },
    without_privacy: false,
    additive: true,
    needs_classes: true,
    claim: Claim::Step,
    build,
};

const REGIONS: Parameter = Parameter {
    name: "regions",
    default: 0.0,
    meaning: "how many regions are left, unless gamma says it; 0 for one to a hundred inputs, two at least: the paper has no number",
};
const GAMMA: Parameter = Parameter {
    name: "gamma",
    default: 0.0,
    meaning: "γ, the distance from which on regions are not joined, in mean relevances; 0 leaves it to regions",
};

fn build(blueprint: &Blueprint) -> BuildResult {
    let regions = Some(until(blueprint)?);
    match blueprint.mode {
        Mode::Sound => relevant_inputs::build(blueprint, regions),
        Mode::AsPublished => noisy_inputs::build(blueprint, Form { shared: false, regions }),
    }
}

/// When regions are joined no more.
fn until(blueprint: &Blueprint) -> Result<Until, String> {
    let (regions, gamma) = (blueprint.parameters.get("regions"), blueprint.parameters.get("gamma"));
    let features = blueprint.network.input().len();
    if gamma < 0.0 {
        return Err(format!(
            "parameters.gamma = {gamma} is no distance: give a number above zero, or 0 for parameters.regions"
        ));
    }
    if gamma > 0.0 {
        return Ok(Until::Distance(gamma));
    }
    let usual = (features as f64 / 100.0).ceil().max(2.0);
    let regions = if regions == 0.0 { usual } else { regions };
    let whole = regions.fract() == 0.0 && regions >= 2.0 && regions < features as f64;
    if !whole {
        return Err(format!(
            "parameters.regions = {regions}: one region would weigh all {features} inputs alike, and {features} regions are what \
             method adlm has; give a whole number between"
        ));
    }
    Ok(Until::Count(regions as usize))
}
