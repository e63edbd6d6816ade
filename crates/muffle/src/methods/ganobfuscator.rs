//! GANobfuscator: the critic of a generator, clipped group by group.

use super::{
    About, Blueprint, BuildResult, Claim, Entry, Method, Mode, Parameter, Release, Step, Verdict, dp_sgd,
};
use crate::clip::{Clip, ClipRule};
use crate::mechanism::Deviations;
use muffle_accounting::Event;

/// Its row of the table.
pub static ENTRY: Entry = Entry {
    about: About {
        name: "ganobfuscator",
        paper: "Xu, Ren, Zhang, Zhang, Qin, Ren, GANobfuscator: mitigating information leakage under GAN via differential privacy, \
            IEEE TIFS",
        year: 2019,
        idea: "clip each group of the critic's weights at a threshold of its own",
        verdict: Verdict::Conditional,
        modes: &[Mode::Sound, Mode::AsPublished],
        composes: "dp-sgd on the critic with one threshold for each tensor, Wasserstein objective with a gradient penalty",
        steps: "thresholds c_j for each tensor, public or the mean norms on public records; clip every record's whole gradient, penalty \
            included, tensor by tensor; noise on the sum. As published: N(0, (σc_j)²) on tensor j, and σ is what is charged",
        guarantee: "groups clipped at c_j with noise τ_j are one Gaussian mechanism of multiplier (Σc_j²/τ_j²)^(−½), which is σ (R5)",
        breaks: "G groups with noise σc_j each are a mechanism of multiplier σ/√G, and σ is charged (R5); public records are a part of \
             the private ones in the released code (R6)",
        parameters: &[Parameter {
            name: "reading",
            default: 0.0,
            meaning: "where the published noise goes: 0 once on the sum, as the price has it; 1 on every record; 2 on the mean",
        }],
        settings: &["clip={kind=\"per-layer\",threshold=1.0}", "noise={allocation=\"equal-share\"}"],
        settings_as_published: &[],
    },
    without_privacy: true,
    additive: true,
    needs_classes: false,
    claim: Claim::Step,
    build,
};

fn build(blueprint: &Blueprint) -> BuildResult {
    let batch = blueprint.batch_size as f64;
    let factor = match blueprint.parameters.get("reading") {
        0.0 => 1.0,
        1.0 => batch.sqrt(),
        2.0 => batch,
        other => return Err(format!("parameters.reading = {other} is none of 0, 1 and 2")),
    };
    match blueprint.mode {
        Mode::AsPublished if blueprint.private => {
            blueprint.clip.rule(blueprint.network, 1.0)?;
            Ok(Box::new(Published { clip: blueprint.clip.clone(), factor }))
        }
        _ => dp_sgd::build(blueprint),
    }
}

/// Noise for each group as if it were the only one.
struct Published {
    clip: ClipRule,
    /// The deviation of the noise on the sum over that for one group.
    factor: f64,
}

impl Method for Published {
    fn event(&self, noise_multiplier: f64) -> Event {
        Event::gaussian(noise_multiplier)
    }

    fn is_gaussian(&self) -> bool {
        true
    }

    fn release<'a>(&mut self, step: Step<'a, '_>) -> muffle_nn::Result<Release<'a>> {
        let rule = self.clip.rule(step.gradients.network(), step.clip_factor);
        let rule: Box<dyn Clip> = rule.expect("the rule was checked when it was built");
        let bounds = rule.bounds().clone();
        let (sum, unprotected) = step.gradients.weighed(&|norms, factors| rule.factors(norms, factors))?;
        let deviation = |tensor: usize| {
            (step.noise_multiplier * self.factor * bounds.thresholds()[bounds.group(tensor)]) as f32
        };
        let deviations = Deviations::Tensors((0..sum.tensors()).map(deviation).collect());
        Ok(Release { gradient: step.mechanism.publish(sum, &deviations, step.receipt), unprotected })
    }
}
