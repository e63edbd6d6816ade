//! GANobfuscator: the critic of a generator, clipped group by group.

use super::adaptive_threshold::FLOOR;
use super::{
    About, Blueprint, BuildResult, Claim, Entry, Method, Mode, Parameter, Release, Step, Verdict, dp_sgd,
    quantile_clip,
};
use crate::clip::{Clip, ClipRule, PerLayer};
use crate::mechanism::{Deviations, Rule};
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
        steps: "thresholds c_j for each tensor: given, the mean norms on public records anew in every step, or medians that follow noisy \
            counts; clip every record's whole gradient, penalty included, tensor by tensor; noise on the sum. As published: N(0, \
            (σc_j)²) on tensor j, and σ is what is charged",
        guarantee: "groups clipped at c_j with noise τ_j are one Gaussian mechanism of multiplier (Σc_j²/τ_j²)^(−½), which is σ (R5); counts \
                are a part of the same mechanism",
        breaks: "G groups with noise σc_j each are a mechanism of multiplier σ/√G, and σ is charged (R5); public records are a part of \
             the private ones in the released code (R6)",
        parameters: &[
            Parameter {
                name: "reading",
                default: 0.0,
                meaning: "where the published noise goes: 0 once on the sum, as the price has it; 1 on every record; 2 on the mean",
            },
            Parameter {
                name: "thresholds",
                default: 0.0,
                meaning: "c_j: 0 those of clip; 1 the mean norms on a batch of public records, anew in every step, as printed; 2 medians \
                          that follow noisy counts, paid for (sound)",
            },
        ],
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
    let rule = blueprint.clip.rule(blueprint.network, 1.0)?;
    let public = match (blueprint.parameters.get("thresholds"), blueprint.mode) {
        (0.0, _) => None,
        (1.0, _) => Some(rule.bounds().by_tensor(blueprint.network.parameters().len())),
        (2.0, Mode::Sound) => return quantile_clip::medians(blueprint, &*rule),
        (2.0, Mode::AsPublished) => {
            return Err(
                "parameters.thresholds = 2 is not in the paper: take 0 or 1, or mode = \"sound\"".to_string()
            );
        }
        (other, _) => return Err(format!("parameters.thresholds = {other} is none of 0, 1 and 2")),
    };
    let published = (blueprint.mode == Mode::AsPublished).then_some(factor);
    if !blueprint.private || (public.is_none() && published.is_none()) {
        return dp_sgd::build(blueprint);
    }
    Ok(Box::new(Grouped { clip: blueprint.clip.clone(), public, published }))
}

/// Thresholds of the groups, and noise for all of them together, or for each as if it were the only one.
struct Grouped {
    clip: ClipRule,
    /// Thresholds of the tensors by public records, if they come from there.
    public: Option<Vec<f64>>,
    /// In the published form, the deviation of the noise on the sum over that for one group.
    published: Option<f64>,
}

impl Method for Grouped {
    fn event(&self, noise_multiplier: f64) -> Event {
        Event::gaussian(noise_multiplier)
    }

    fn is_gaussian(&self) -> bool {
        true
    }

    fn follows_public(&self) -> bool {
        self.public.is_some()
    }

    fn follow_public(&mut self, norms: &[f64]) {
        self.public = Some(norms.iter().map(|norm| norm.max(FLOOR)).collect());
    }

    fn thresholds(&self) -> Option<Vec<f64>> {
        self.public.clone()
    }

    fn release<'a>(&mut self, step: Step<'a, '_>) -> muffle_nn::Result<Release<'a>> {
        let rule: Box<dyn Clip> = match &self.public {
            Some(norms) => {
                Box::new(PerLayer::new(norms.iter().map(|norm| step.clip_factor * norm).collect()))
            }
            None => {
                let rule = self.clip.rule(step.gradients.network(), step.clip_factor);
                rule.expect("the rule was checked when it was built")
            }
        };
        let Some(factor) = self.published else {
            let (bounded, unprotected) = step.gradients.bounded(Rule::Norms(&*rule))?;
            let gradient = step.mechanism.release(bounded, step.noise_multiplier, step.receipt);
            return Ok(Release { gradient, unprotected });
        };
        let bounds = rule.bounds().clone();
        let (sum, unprotected) = step.gradients.weighed(&|norms, factors| rule.factors(norms, factors))?;
        let deviation = |threshold: &f64| (step.noise_multiplier * factor * threshold) as f32;
        let deviations = Deviations::Tensors(bounds.by_tensor(sum.tensors()).iter().map(deviation).collect());
        Ok(Release { gradient: step.mechanism.publish(sum, &deviations, step.receipt), unprotected })
    }
}
