//! DP-SGD on networks that a search has found.

use super::{About, Claim, Entry, Mode, Verdict, dp_sgd};

pub static ENTRY: Entry = Entry {
    about: About {
        name: "dpnas",
        paper: "Cheng et al., DPNAS: neural architecture search for deep learning with differential privacy, AAAI",
        year: 2022,
        idea: "search for networks that learn well under clipping and noise",
        verdict: Verdict::Conditional,
        modes: &[Mode::Sound],
        composes: "dp-sgd and the networks found (dpnas-mnist, dpnas-cifar, or one by muffle search)",
        steps: "as dp-sgd with the paper's settings; σ = 2.15 for 40 epochs on MNIST, σ = 2.0664 for 30 epochs on CIFAR-10 with \
            model = \"dpnas-cifar\"",
        guarantee: "that of dp-sgd, for a network that is fixed in advance; muffle search finds one with noisy rewards, and its \
                certificate says what that cost",
        breaks: "the search itself is not covered: it read rewards from the same records without noise, and the network it found \
             is taken as public here (R8)",
        parameters: &[],
        settings: &[
            "model=\"dpnas-mnist\"",
            "batch_size=2048",
            "learning_rate=2.0",
            "optimizer={kind=\"sgd\",momentum=0.9}",
            "clip={kind=\"flat\",threshold=0.1}",
        ],
        settings_as_published: &[],
    },
    without_privacy: false,
    additive: true,
    needs_classes: false,
    claim: Claim::Step,
    build: dp_sgd::build,
};
