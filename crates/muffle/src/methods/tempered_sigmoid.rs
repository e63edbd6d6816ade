//! DP-SGD with bounded activations.

use super::{About, Claim, Entry, Mode, Verdict, dp_sgd};

pub static ENTRY: Entry = Entry {
    about: About {
        name: "tempered-sigmoid",
        paper: "Papernot et al., Tempered sigmoid activations for deep learning with differential privacy, AAAI",
        year: 2021,
        idea: "bounded activations keep gradients small, so less is clipped",
        verdict: Verdict::Sound,
        modes: &[Mode::Sound],
        composes: "dp-sgd and a network with activations s/(1 + e^(−Tx)) − o; (2, 2, 1) is the hyperbolic tangent",
        steps: "as dp-sgd; the idea is in the network (tempered-mnist, tempered-cifar)",
        guarantee: "that of dp-sgd: only the architecture differs, and it is fixed in advance",
        breaks: "",
        parameters: &[],
        settings: &[],
    },
    without_privacy: false,
    additive: true,
    needs_classes: false,
    claim: Claim::Step,
    build: dp_sgd::build,
};
