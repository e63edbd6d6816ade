//! Noise on every record before the sum, with a clip on both sides.

use super::{About, Blueprint, BuildResult, Claim, Entry, Method, Mode, Release, Step, Verdict};
use crate::sampler::SamplerChoice;
use muffle_accounting::{Adjacency, Event};
use muffle_nn::Purpose;

pub static ENTRY: Entry = Entry {
    about: About {
        name: "ng-local",
        paper: "Lin et al., Differential privacy protection over deep learning: an investigation of its impacted factors; with a clip before the noise",
        year: 2020,
        idea: "let every record report a noisy gradient of its own, so that the sum needs no trust",
        verdict: Verdict::Unsound,
        modes: &[Mode::Sound],
        composes: "flat clip, Gaussian noise for each record, a second clip, samples of public size",
        steps: "clip each gradient at C, add N(0, (σC)²) to it, clip the result at C, and sum; a record whose gradient is not \
            finite reports noise alone",
        guarantee: "each participation is a Gaussian mechanism of multiplier σ on one record, under replace_one (μ = 2/σ) and \
                zero_out (μ = 1/σ); what other records add is not counted on",
        breaks: "without the first clip, as published (method noisy-gradient), no epsilon is finite; whether a record reports at \
             all is not hidden, so samples whose size is private are refused",
        parameters: &[],
        settings: &["sampler=fixed-size", "adjacency=replace_one"],
        settings_as_published: &[],
    },
    without_privacy: false,
    additive: false,
    needs_classes: false,
    claim: Claim::Step,
    build,
};

fn build(blueprint: &Blueprint) -> BuildResult {
    if blueprint.sampler == SamplerChoice::Poisson || blueprint.adjacency == Adjacency::AddRemove {
        return Err("method ng-local releases one report for each record, so their number is public: set sampler = \
                    \"fixed-size\", \"reshuffled\" or \"balls-and-bins\", and adjacency = \"replace_one\" or \"zero_out\""
            .to_string());
    }
    Ok(Box::new(NgLocal { threshold: blueprint.threshold()? }))
}

struct NgLocal {
    threshold: f64,
}

impl Method for NgLocal {
    fn event(&self, noise_multiplier: f64) -> Event {
        Event::gaussian(noise_multiplier)
    }

    fn release<'a>(&mut self, step: Step<'a, '_>) -> muffle_nn::Result<Release<'a>> {
        let threshold = step.clip_factor * self.threshold;
        let (gradient, unprotected) =
            step.mechanism.report(step.gradients, threshold, step.noise_multiplier, step.receipt)?;
        Ok(Release { gradient, unprotected })
    }

    fn purpose(&self) -> Purpose {
        Purpose::Plain
    }
}
