//! Input noise by relevance, feature by feature.

use super::noisy_inputs::{self, Form};
use super::{About, Blueprint, BuildResult, Claim, Entry, Mode, Parameter, Verdict, relevant_inputs};

pub static ENTRY: Entry = Entry {
    about: About {
        name: "adlm",
        paper: "Phan et al., Adaptive Laplace mechanism: differential privacy preservation in deep learning, ICDM",
        year: 2017,
        idea: "add less noise where an input matters more to the output, once, and train freely",
        verdict: Verdict::Unsound,
        modes: &[Mode::Sound, Mode::AsPublished],
        composes: "layer-wise relevance propagation, private average relevance, a clip and Gaussian noise in units of inputs",
        steps: "β is the share of each input in the relevance, on average one, at least a floor. Sound: β is released once, with \
            Laplace noise, at the first weights, which are random and so public; then DP-SGD with noise of deviation σC/√β on \
            the column of each input in the first dense layer, and σC elsewhere, each record's gradient scaled so that its norm \
            in these units is C at most. In front of a convolution, whose weights all inputs share, a layer `scale` feeds each \
            input times √β. As published (with the noise of the released code, one draw for all records of a step): β from a network \
            that was trained on the same records without privacy, R̄ + Lap(2d/(|D|ε₁)) on relevances stretched to 0 to 1; inputs with \
            (1/|L|)·Lap(Δ/(βε₂)), the first bias with (1/|L|)·Lap(Δ/ε₂), the coefficients of the cross-entropy up to degree two with \
            Lap(m(|h| + |h|²/4)/ε₃); gradients of any length",
        guarantee: "β is a Laplace mechanism over all records, charged before the first step. Over the deviations a record has \
                norm 1/σ at most, so each step is one Gaussian mechanism of multiplier σ",
        breaks: "records of a step share their noise, so that differences of two inputs have none; gradients below the last layer see \
             exact labels; noise is drawn anew in every step and paid for once; relevance comes from a network trained without \
             privacy, and neither its extremes nor the part of a record in it are bounded (R1, R6)",
        parameters: &[
            RELEVANCE_EPSILON,
            STABILISER,
            FLOOR,
            RELEVANCE_SHARE,
            INPUT_SHARE,
            LOSS_SHARE,
            LOW,
            HIGH,
            RELEVANCE_EPOCHS,
            Parameter { name: PATCH, default: 1.0, meaning: PATCH_MEANING },
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

pub(super) const RELEVANCE_EPSILON: Parameter = Parameter {
    name: "relevance_epsilon",
    default: 0.1,
    meaning: "what the release of relevance costs by itself (sound)",
};
pub(super) const STABILISER: Parameter =
    Parameter { name: "stabiliser", default: 0.01, meaning: "β of relevance propagation" };
pub(super) const FLOOR: Parameter = Parameter {
    name: "floor",
    default: 0.1,
    meaning: "the least share of an input in the relevance, over the mean (sound)",
};

pub(super) const RELEVANCE_SHARE: Parameter =
    Parameter {
        name: "relevance_share", default: 0.25, meaning: "ε₁ over ε₁ + ε₂ + ε₃ (as published)"
    };
pub(super) const INPUT_SHARE: Parameter =
    Parameter {
        name: "input_share", default: 0.25, meaning: "ε₂ over ε₁ + ε₂ + ε₃ (as published)"
    };
pub(super) const LOSS_SHARE: Parameter =
    Parameter {
        name: "loss_share", default: 0.5, meaning: "ε₃ over ε₁ + ε₂ + ε₃ (as published)"
    };
pub(super) const LOW: Parameter =
    Parameter { name: "low", default: 0.0, meaning: "the least that an input can be (as published)" };
pub(super) const HIGH: Parameter =
    Parameter { name: "high", default: 1.0, meaning: "the most that an input can be (as published)" };
pub(super) const RELEVANCE_EPOCHS: Parameter = Parameter {
    name: "relevance_epochs",
    default: 1.0,
    meaning: "passes over the records to train the network of relevance, LeNet-5 for digits (as published)",
};
pub(super) const PATCH: &str = "patch_sensitivity";
pub(super) const PATCH_MEANING: &str = "1 takes Δ for 2·positions·patch of the first layer, as the released code of adlm; 0 for 2·|h₀|·d, as printed (as published)";

fn build(blueprint: &Blueprint) -> BuildResult {
    match blueprint.mode {
        Mode::Sound => relevant_inputs::build(blueprint, None),
        Mode::AsPublished => noisy_inputs::build(blueprint, Form { shared: true, regions: None }),
    }
}
