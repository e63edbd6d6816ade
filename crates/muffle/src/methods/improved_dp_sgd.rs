//! DP-SGD with a threshold that shrinks, and momentum.

use super::{About, Claim, Entry, Mode, Verdict, dp_sgd};

pub static ENTRY: Entry = Entry {
    about: About {
        name: "improved-dp-sgd",
        paper: "Yu D., Zhang, Chen, Improve the gradient perturbation approach for differentially private optimization, PPML workshop",
        year: 2018,
        idea: "gradients shrink in training, so threshold and noise shrink with them",
        verdict: Verdict::Sound,
        modes: &[Mode::Sound],
        composes: "dp-sgd, a clip schedule, momentum",
        steps: "as dp-sgd with threshold C·(1 − t/T) and at least C/10, momentum 0.9",
        guarantee: "the schedule is fixed in advance, so the multiplier is σ at every step, whatever the threshold",
        breaks: "",
        parameters: &[],
        settings: &[
            "clip_schedule={kind=\"polynomial\",initial=1.0,end=0.1,power=1.0,period=30}",
            "optimizer={kind=\"sgd\",momentum=0.9}",
        ],
    },
    without_privacy: false,
    additive: true,
    needs_classes: false,
    claim: Claim::Step,
    build: dp_sgd::build,
};
