//! DP-SGD.

use super::{About, Blueprint, BuildResult, Claim, Entry, Method, Mode, Release, Step, Verdict};
use crate::clip::ClipRule;
use crate::mechanism::{NoiseKind, Rule};
use muffle_accounting::Event;
use muffle_nn::Purpose;

/// The method that all others are compared with.
pub static ENTRY: Entry = Entry {
    about: About {
        name: "dp-sgd",
        paper: "Abadi et al., Deep learning with differential privacy, CCS",
        year: 2016,
        idea: "clip the gradient of every record, add noise to the sum",
        verdict: Verdict::Sound,
        modes: &[Mode::Sound],
        composes: "any clip rule, sampler, noise and optimizer",
        steps: "sample records; scale each record's gradient to norm C at most; add N(0, (σC)²) once to the sum; divide by \
            the public batch size; take an optimizer's step",
        guarantee: "each step is one Gaussian mechanism of multiplier σ on the sample; the sampler's own bound applies",
        breaks: "",
        parameters: &[],
        settings: &[],
        settings_as_published: &[],
    },
    without_privacy: true,
    additive: true,
    needs_classes: false,
    claim: Claim::Step,
    build,
};

/// Clip, noise, divide.
pub(super) struct DpSgd {
    clip: ClipRule,
    noise: NoiseKind,
    private: bool,
}

pub(super) fn build(blueprint: &Blueprint) -> BuildResult {
    let Blueprint { clip, noise, private, .. } = *blueprint;
    clip.rule(blueprint.network, 1.0)?;
    Ok(Box::new(DpSgd { clip: clip.clone(), noise: noise.kind, private }))
}

impl Method for DpSgd {
    fn event(&self, noise_multiplier: f64) -> Event {
        match self.noise {
            _ if noise_multiplier == 0.0 => Event::NonPrivate,
            NoiseKind::Gaussian => Event::gaussian(noise_multiplier),
            NoiseKind::Laplace => Event::laplace(noise_multiplier),
        }
    }

    fn release<'a>(&mut self, step: Step<'a, '_>) -> muffle_nn::Result<Release<'a>> {
        if !self.private {
            let (sum, unprotected) = step.gradients.weighed(&|_, factors| factors.fill(1.0))?;
            return Ok(Release { gradient: step.mechanism.divide(sum, step.receipt), unprotected });
        }
        let rule = self.clip.rule(step.gradients.network(), step.clip_factor);
        let rule = rule.expect("the rule was checked when it was built");
        let (bounded, unprotected) = step.gradients.bounded(match self.noise {
            NoiseKind::Gaussian => Rule::Norms(&*rule),
            NoiseKind::Laplace => Rule::L1 { threshold: rule.bounds().sensitivity() },
        })?;
        let gradient = step.mechanism.release(bounded, step.noise_multiplier, step.receipt);
        Ok(Release { gradient, unprotected })
    }

    fn is_dp_sgd(&self) -> bool {
        true
    }

    fn purpose(&self) -> Purpose {
        match self.noise {
            NoiseKind::Laplace if self.private => Purpose::Plain,
            _ => Purpose::PerExample,
        }
    }
}
