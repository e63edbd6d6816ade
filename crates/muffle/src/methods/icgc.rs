//! Individual clipping at the median tensor norm.

use super::adaptive_threshold::AdaptiveThreshold;
use super::{About, Blueprint, BuildResult, Claim, Entry, Method, Mode, Parameter, Release, Step, Verdict};
use crate::clip::PerLayer;
use crate::mechanism::{Count, Deviations, share_of_sum};
use crate::state::restore;
use crate::{State, StateError};
use muffle_accounting::Event;
use std::sync::Mutex;

pub static ENTRY: Entry = Entry {
    about: About {
        name: "icgc",
        paper: "Ma, Kong, Huang, Image classification based on layered gradient clipping under differential privacy, IEEE Access",
        year: 2023,
        idea: "clip every tensor at the median of the record's own tensor norms",
        verdict: Verdict::Unsound,
        modes: &[Mode::Sound, Mode::AsPublished],
        composes: "per-layer clip at one threshold, noisy counts, Gaussian noise",
        steps: "sound: one threshold C_t for all k tensors, which follows the median tensor norm by noisy counts; noise σ√k·C_t, and the \
            release times C/(√k·C_t), so that a step does not shrink with the threshold. As published, by plain descent: each \
            record's own median clips its tensors, plus 1/T², and scales its noise. The paper's second part, adaptive weighted \
            fusion, is in the network: two copies behind a fusion layer (models icgc-1-fused and icgc-2-fused, docs/models.md), \
            whose 2k tensors are clipped at one threshold",
        guarantee: "k tensors clipped at C have joint norm √k·C, and 2k of two networks √2 times that; with the counts one joint \
                Gaussian mechanism of multiplier σ",
        breaks: "the threshold of a record grows with its gradient, so nothing bounds it; the noise scale shows the largest \
             record; k tensors clipped at C have norm √k·C, not C, and two networks √2 times that; less noise at the same number of steps costs more, not less",
        parameters: &[
            Parameter { name: "rate", default: 0.2, meaning: "η, how fast C follows (sound)" },
            Parameter {
                name: "count_noise",
                default: 0.05,
                meaning: "σ_b as a share of the batch size (sound)",
            },
            Parameter {
                name: "outside",
                default: 0.0,
                meaning: "as published: 1 for one draw of noise at the mean threshold, 0 for a draw for each record",
            },
        ],
        settings: &[],
        settings_as_published: &["optimizer={kind=\"sgd\"}", "moving_average="],
    },
    without_privacy: false,
    additive: true,
    needs_classes: false,
    claim: Claim::Step,
    build,
};

fn build(blueprint: &Blueprint) -> BuildResult {
    let (parameters, tensors) = (blueprint.parameters, blueprint.network.parameters().len());
    if tensors < 2 {
        return Err("method icgc takes a median over tensors; the network has only one".to_string());
    }
    if blueprint.mode == Mode::AsPublished {
        let steps = blueprint.steps.unwrap_or(1000) as f32;
        return Ok(Box::new(Published { outside: parameters.get("outside") != 0.0, margin: steps.powi(-2) }));
    }
    let threshold = AdaptiveThreshold {
        value: (blueprint.threshold()? / (tensors as f64).sqrt()) as f32,
        rate: parameters.positive("rate")?,
        floor: 1e-6,
    };
    let batch_size = blueprint.batch_size as f64;
    Ok(Box::new(Icgc {
        threshold,
        norm: blueprint.threshold()?,
        tensors,
        deviation: parameters.positive("count_noise")? * batch_size,
        batch_size,
    }))
}

/// The sound form.
struct Icgc {
    threshold: AdaptiveThreshold,
    /// C, which releases are brought to.
    norm: f64,
    tensors: usize,
    deviation: f64,
    batch_size: f64,
}

/// A record's share of tensors within the threshold, less one half.
const BOUND: f64 = 0.5;

impl Method for Icgc {
    fn event(&self, noise_multiplier: f64) -> Event {
        match share_of_sum(noise_multiplier, BOUND, self.deviation) {
            Some(_) => Event::gaussian(noise_multiplier),
            None => Event::NonPrivate,
        }
    }

    fn release<'a>(&mut self, step: Step<'a, '_>) -> muffle_nn::Result<Release<'a>> {
        let (tensors, threshold) = (self.tensors, step.clip_factor * f64::from(self.threshold.value));
        let rule = PerLayer::new(vec![threshold; tensors]);
        let square = threshold * threshold;
        let share = |squared_norms: &[f64], numbers: &mut [i64]| {
            let within = squared_norms.iter().filter(|norm| **norm <= square).count();
            numbers[0] = 2 * within as i64 - tensors as i64;
        };
        let (unit, deviation) = (0.5 / tensors as f64, self.deviation);
        let count = Count { width: 1, unit, bound: BOUND, deviation, of: &share };
        let (bounded, unprotected) = step.gradients.bounded_and_counted(&rule, &count)?;
        let mut gradient = step.mechanism.release(bounded, step.noise_multiplier, step.receipt);
        // The threshold follows from releases, so that this is free (R9).
        gradient.scale((step.clip_factor * self.norm / ((tensors as f64).sqrt() * threshold)) as f32);
        self.threshold.follow(gradient.counts()[0] / self.batch_size);
        Ok(Release { gradient, unprotected })
    }

    fn state(&self) -> State {
        State::from([("threshold".to_string(), vec![self.threshold.value])])
    }

    fn restore(&mut self, state: &State) -> Result<(), StateError> {
        let mut value = [0.0];
        restore(state, "threshold", &mut value)?;
        self.threshold.value = value[0];
        Ok(())
    }
}

/// The form of the paper.
struct Published {
    outside: bool,
    /// β = 1/T².
    margin: f32,
}

/// The mean of the two middle values, or the middle one.
pub(super) fn median(values: &mut [f32]) -> f32 {
    values.sort_by(f32::total_cmp);
    let half = values.len() / 2;
    if values.len().is_multiple_of(2) { 0.5 * (values[half - 1] + values[half]) } else { values[half] }
}

impl Method for Published {
    fn event(&self, noise_multiplier: f64) -> Event {
        Event::gaussian(noise_multiplier)
    }

    fn release<'a>(&mut self, step: Step<'a, '_>) -> muffle_nn::Result<Release<'a>> {
        let margin = self.margin;
        let thresholds = Mutex::new(Vec::new());
        let clip = |squared_norms: &[f64], factors: &mut [f32]| {
            let norms: Vec<f32> = squared_norms.iter().map(|norm| norm.sqrt() as f32).collect();
            let threshold = median(&mut norms.clone());
            for (factor, norm) in factors.iter_mut().zip(&norms) {
                *factor = if *norm > threshold { threshold / norm } else { 1.0 };
            }
            thresholds.lock().expect("no call panics").push(threshold + margin);
        };
        let (sum, unprotected) = step.gradients.weighed(&clip)?;
        let mut thresholds = thresholds.into_inner().expect("no call panics");
        // Threads finish in any order, and the last bits of a sum depend on it.
        thresholds.sort_by(f32::total_cmp);
        let scale = match self.outside {
            true => {
                let mean = thresholds.iter().map(|value| f64::from(*value)).sum::<f64>();
                mean / thresholds.len().max(1) as f64
            }
            // Independent draws for each record add up to one draw with the sum of their variances.
            false => thresholds.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>().sqrt(),
        };
        let deviations = vec![(step.noise_multiplier * scale) as f32; sum.tensors()];
        let gradient = step.mechanism.publish(sum, &Deviations::Tensors(deviations), step.receipt);
        Ok(Release { gradient, unprotected })
    }
}

#[cfg(test)]
mod tests {
    use super::median;

    #[test]
    fn medians_by_hand() {
        assert_eq!(median(&mut [3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&mut [4.0, 1.0, 2.0, 3.0]), 2.5);
    }
}
