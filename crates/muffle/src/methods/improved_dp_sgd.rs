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
        steps: "as dp-sgd with a threshold that falls in a line from C to C/10 over the epochs of the run, momentum 0.9",
        guarantee: "the schedule is fixed in advance, so the multiplier is σ at every step, whatever the threshold",
        breaks: "",
        parameters: &[],
        settings: &[
            "clip_schedule={kind=\"polynomial\",initial=1.0,end=0.1,power=1.0}",
            "optimizer={kind=\"sgd\",momentum=0.9}",
        ],
        settings_as_published: &[],
    },
    without_privacy: false,
    additive: true,
    needs_classes: false,
    claim: Claim::Step,
    build: dp_sgd::build,
};
