//! Grouped clipping.

use super::one_rule::OneRule;
use super::{About, Blueprint, BuildResult, Claim, Entry, Method, Mode, Release, Step, Verdict};
use crate::clip::PerLayer;
use crate::mechanism::Deviations;
use muffle_accounting::Event;
use std::sync::Mutex;

pub static ENTRY: Entry = Entry {
    about: About {
        name: "dpl-ggc",
        paper: "Liu H. et al., Differentially private learning with grouped gradient clipping, ACM MM Asia",
        year: 2021,
        idea: "clip groups of tensors separately, each at its own threshold",
        verdict: Verdict::Conditional,
        modes: &[Mode::Sound, Mode::AsPublished],
        composes: "per-layer clip, Gaussian noise",
        steps: "clip each tensor at C/√G; noise N(0, (σC)²) on the sum. As published (our reading of the abstract): the noise \
            scale is the largest contribution in the batch at hand in place of C",
        guarantee: "groups clipped at public thresholds have joint norm √ΣC², so each step is one Gaussian mechanism of \
                multiplier σ (R5)",
        breaks: "noise scaled by a local sensitivity shows how large the largest record is (R1); a smooth bound would be the \
             global one in such dimensions",
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

fn build(blueprint: &Blueprint) -> BuildResult {
    let threshold = blueprint.threshold()?;
    let tensors = blueprint.network.parameters().len();
    match blueprint.mode {
        Mode::Sound => OneRule::build(move |factor| Box::new(PerLayer::even(factor * threshold, tensors))),
        Mode::AsPublished => Ok(Box::new(Published { threshold, tensors })),
    }
}

/// Noise at the local sensitivity.
struct Published {
    threshold: f64,
    tensors: usize,
}

impl Method for Published {
    fn event(&self, noise_multiplier: f64) -> Event {
        Event::gaussian(noise_multiplier)
    }

    fn release<'a>(&mut self, step: Step<'a, '_>) -> muffle_nn::Result<Release<'a>> {
        let limit = step.clip_factor * self.threshold / (self.tensors as f64).sqrt();
        let largest = Mutex::new(0.0f64);
        let clip = |squared_norms: &[f64], factors: &mut [f32]| {
            let mut square = 0.0f64;
            for (factor, norm) in factors.iter_mut().zip(squared_norms.iter().map(|norm| norm.sqrt())) {
                *factor = if norm > limit { (limit / norm) as f32 } else { 1.0 };
                square += norm.min(limit).powi(2);
            }
            let mut largest = largest.lock().expect("no call panics");
            *largest = largest.max(square.sqrt());
        };
        let (sum, unprotected) = step.gradients.weighed(&clip)?;
        let largest = largest.into_inner().expect("no call panics");
        let deviations = vec![(step.noise_multiplier * largest) as f32; sum.tensors()];
        let gradient = step.mechanism.publish(sum, &Deviations::Tensors(deviations), step.receipt);
        Ok(Release { gradient, unprotected })
    }
}
