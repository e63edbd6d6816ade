//! Per-sample adaptive clipping with a weight that is not monotone in the norm.

use super::one_rule::OneRule;
use super::{About, Claim, Entry, Mode, Parameter, Verdict};
use crate::clip::NonMonotone;

pub static ENTRY: Entry = Entry {
    about: About {
        name: "dp-psac",
        paper: "Xia et al., Differentially private learning with per-sample adaptive clipping, AAAI 2023 (arXiv 2022)",
        year: 2022,
        idea: "normalise gradients, but do not blow up the smallest",
        verdict: Verdict::Sound,
        modes: &[Mode::Sound],
        composes: "a clip rule, Gaussian noise",
        steps: "scale each record's gradient by C/(‖g‖ + r/(‖g‖ + r)); noise N(0, (σC)²) on the sum",
        guarantee: "a scaled gradient is shorter than C, so each step is one Gaussian mechanism of multiplier σ",
        breaks: "",
        parameters: &[Parameter { name: "radius", default: 0.1, meaning: "r; 0.1 by default" }],
        settings: &[],
        settings_as_published: &[],
    },
    without_privacy: false,
    additive: true,
    needs_classes: false,
    claim: Claim::Step,
    build: |blueprint| {
        let (threshold, radius) = (blueprint.threshold()?, blueprint.parameters.positive("radius")?);
        OneRule::build(move |factor| Box::new(NonMonotone::new(factor * threshold, radius)))
    },
};
