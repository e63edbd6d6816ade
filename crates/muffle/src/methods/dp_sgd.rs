//! DP-SGD.

use super::{Blueprint, BuildResult, Entry, Method, Mode, Release, Step, Verdict};
use crate::mechanism::{clip, clip_l1};
use crate::train::choices::{ClipRule, NoiseKind};
use muffle_accounting::Event;
use muffle_nn::Purpose;

pub static ENTRY: Entry = Entry {
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
    build,
};

/// Clip, noise, divide.
pub(super) struct DpSgd {
    clip: ClipRule,
    noise: NoiseKind,
    private: bool,
}

pub(super) fn build(blueprint: &Blueprint) -> BuildResult {
    let recipe = blueprint.recipe;
    recipe.clip.rule(blueprint.network, 1.0)?;
    Ok(Box::new(DpSgd { clip: recipe.clip.clone(), noise: recipe.noise.kind, private: recipe.private }))
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
        let Step {
            engine, mechanism, parameters, examples, loss, seed, noise_multiplier, clip_factor, ..
        } = step;
        // Without privacy the threshold is far above any gradient that is worth a step: nothing is clipped.
        let rule = if self.private { &self.clip } else { &ClipRule::Flat { threshold: 1e30 } };
        let rule = rule.rule(engine.network(), clip_factor).expect("the rule was checked when it was built");
        let (gradient, event, unprotected) = match self.noise {
            NoiseKind::Gaussian => {
                let (clipped, unprotected) = clip(engine, parameters, examples, loss, seed, &*rule)?;
                let (gradient, event) = mechanism.release(clipped, noise_multiplier);
                (gradient, event, unprotected)
            }
            NoiseKind::Laplace => {
                let threshold = rule.bounds().sensitivity();
                let (clipped, unprotected) = clip_l1(engine, parameters, examples, loss, seed, threshold)?;
                let (gradient, event) = mechanism.release_laplace(clipped, noise_multiplier);
                (gradient, event, unprotected)
            }
        };
        Ok(Release { gradient, event, unprotected })
    }

    fn purpose(&self) -> Purpose {
        match self.noise {
            NoiseKind::Gaussian => Purpose::PerExample,
            NoiseKind::Laplace => Purpose::Plain,
        }
    }
}
