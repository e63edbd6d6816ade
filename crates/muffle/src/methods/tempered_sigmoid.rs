//! DP-SGD with bounded activations.

use super::{About, Blueprint, BuildResult, Claim, Entry, Mode, Verdict, dp_sgd};
use muffle_nn::layers::activation::Activation;
use muffle_nn::network::Operation;

pub static ENTRY: Entry = Entry {
    about: About {
        name: "tempered-sigmoid",
        paper: "Papernot et al., Tempered sigmoid activations for deep learning with differential privacy, AAAI",
        year: 2021,
        idea: "bounded activations keep gradients small, so less is clipped",
        verdict: Verdict::Sound,
        modes: &[Mode::Sound],
        composes: "dp-sgd and a network with activations s/(1 + e^(−Tx)) − o; (2, 2, 1) is the hyperbolic tangent",
        steps: "as dp-sgd; the idea is in the network (tempered-mnist, tempered-cifar), and one with other activations, or with none, is \
            refused",
        guarantee: "that of dp-sgd: only the architecture differs, and it is fixed in advance",
        breaks: "",
        parameters: &[],
        settings: &[],
        settings_as_published: &[],
    },
    without_privacy: false,
    additive: true,
    needs_classes: false,
    claim: Claim::Step,
    build,
};

/// A network with activations of another kind, or with none, is not what the paper is about.
fn build(blueprint: &Blueprint) -> BuildResult {
    let activations = blueprint.network.nodes().iter().filter_map(|node| match &node.operation {
        Operation::Activation(activation) => Some(activation),
        _ => None,
    });
    let tempered = |activation: &&Activation| {
        matches!(activation, Activation::Tanh | Activation::Sigmoid | Activation::TemperedSigmoid { .. })
    };
    let (tempered, others): (Vec<&Activation>, Vec<&Activation>) = activations.partition(tempered);
    let found = match (others.first(), tempered.is_empty()) {
        (None, false) => return dp_sgd::build(blueprint),
        (Some(other), _) => other.kind(),
        (None, true) => "none",
    };
    Err(format!(
        "method tempered-sigmoid is a network with activations s/(1 + e^(−Tx)) − o, and this one has {found}: take the model \
         tempered-mnist or tempered-cifar, or the layers `tempered-sigmoid`, `tanh` or `sigmoid`; method dp-sgd trains any network"
    ))
}
