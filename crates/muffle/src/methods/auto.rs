//! Automatic clipping: every gradient is normalised.

use super::one_rule::OneRule;
use super::{About, Claim, Entry, Mode, Parameter, Verdict};
use crate::clip::Normalised;

/// What both forms have in common is written once.
const BASE: Entry = Entry {
    about: About {
        name: "auto-s",
        paper: "Bu et al., Automatic clipping, NeurIPS 2023 (arXiv 2022)",
        year: 2022,
        idea: "divide every gradient by its norm plus a constant: no threshold to tune",
        verdict: Verdict::Sound,
        modes: &[Mode::Sound],
        composes: "a clip rule, Gaussian noise",
        steps: "scale each record's gradient g to C·g/(‖g‖ + γ); noise N(0, (σC)²) on the sum; C is but a factor on the \
            learning rate",
        guarantee: "a scaled gradient is shorter than C, so each step is one Gaussian mechanism of multiplier σ",
        breaks: "",
        parameters: &[Parameter {
            name: "stability",
            default: 0.01,
            meaning: "γ in g/(‖g‖ + γ); 0.01 in the paper",
        }],
        settings: &[],
        settings_as_published: &[],
    },
    without_privacy: false,
    additive: true,
    needs_classes: false,
    claim: Claim::Step,
    build: |blueprint| {
        let stability = blueprint.parameters.positive("stability")?;
        let threshold = blueprint.threshold()?;
        OneRule::build(move |factor| Box::new(Normalised::new(factor * threshold, stability)))
    },
};

pub static AUTO_S: Entry = BASE;

pub static AUTO_V: Entry = Entry {
    about: About {
        name: "auto-v",
        idea: "divide every gradient by its norm",
        steps: "scale each record's gradient g to C·g/‖g‖ (zero stays zero); noise N(0, (σC)²) on the sum",
        guarantee: "a scaled gradient has length C at most, so each step is one Gaussian mechanism of multiplier σ",
        parameters: &[],
        ..BASE.about
    },
    build: |blueprint| {
        let threshold = blueprint.threshold()?;
        OneRule::build(move |factor| Box::new(Normalised::new(factor * threshold, 0.0)))
    },
    ..BASE
};
