//! Thresholds that follow a quantile of the gradient norms.

use super::adaptive_threshold::{AdaptiveThreshold, FLOOR};
use super::{About, Blueprint, BuildResult, Claim, Entry, Method, Mode, Parameter, Release, Step, Verdict};
use crate::clip::{Clip, Flat, PerLayer};
use crate::mechanism::{Count, Deviations, share_of_sum};
use crate::state::restore;
use crate::{State, StateError};
use muffle_accounting::Event;
use std::sync::Mutex;

/// Its row of the table.
pub static ENTRY: Entry = Entry {
    about: About {
        name: "quantile-clip",
        paper: "Andrew, Thakkar, McMahan, Ramaswamy, Differentially private learning with adaptive clipping, NeurIPS; as \
            published: Lin et al. 2020, Algorithm 2",
        year: 2021,
        idea: "let the threshold follow a quantile of the norms",
        verdict: Verdict::Unsound,
        modes: &[Mode::Sound, Mode::AsPublished],
        composes: "flat or per-layer clip, noisy counts, Gaussian noise",
        steps: "clip at C; count the records within C, add noise to the count; C ← C·exp(−η(b̃ − γ)). As published (Lin et \
            al.): C is the exact quantile of the batch's own norms, and scales the noise",
        guarantee: "sum and centred counts (each record ±½) are one joint Gaussian mechanism of multiplier σ",
        breaks: "the published form takes the quantile of raw norms: one record moves the threshold, and with it the noise, \
             which is visible in high dimension (R1)",
        parameters: &[
            Parameter {
                name: "quantile",
                default: 0.5,
                meaning: "γ, the share of records to leave unclipped; 0.5",
            },
            Parameter { name: "rate", default: 0.2, meaning: "η, how fast the threshold follows; 0.2" },
            Parameter {
                name: "count_noise",
                default: 0.05,
                meaning: "σ_b as a share of the batch size; 1/20",
            },
            Parameter { name: "per_layer", default: 0.0, meaning: "1 for a threshold for each tensor" },
        ],
        settings: &[],
        settings_as_published: &[],
    },
    without_privacy: false,
    additive: true,
    needs_classes: false,
    claim: Claim::Nothing,
    build,
};

fn build(blueprint: &Blueprint) -> BuildResult {
    let parameters = blueprint.parameters;
    let quantile = parameters.share("quantile")?;
    let tensors = if parameters.get("per_layer") == 0.0 { 1 } else { blueprint.network.parameters().len() };
    let threshold = AdaptiveThreshold {
        value: (blueprint.threshold()? / (tensors as f64).sqrt()) as f32,
        rate: parameters.positive("rate")?,
        floor: FLOOR,
    };
    if blueprint.mode == Mode::AsPublished {
        return Ok(Box::new(Published { quantile, per_layer: tensors > 1 }));
    }
    let deviation = parameters.positive("count_noise")? * blueprint.batch_size as f64;
    let method = QuantileClip {
        thresholds: vec![threshold; tensors],
        quantile,
        deviation,
        batch_size: blueprint.batch_size as f64,
    };
    if let Some(noise) = blueprint.noise_multiplier {
        method.check(noise)?;
    }
    Ok(Box::new(method))
}

/// A threshold for each tensor that follows the median of its norms, from the thresholds of a rule on: for a method that has groups of
/// its own.
pub(super) fn medians(blueprint: &Blueprint, rule: &dyn Clip) -> BuildResult {
    let (rate, batch_size) = (default("rate"), blueprint.batch_size as f64);
    let start = |value: &f64| AdaptiveThreshold { value: *value as f32, rate, floor: FLOOR };
    let method = QuantileClip {
        thresholds: rule.bounds().by_tensor(blueprint.network.parameters().len()).iter().map(start).collect(),
        quantile: default("quantile"),
        deviation: default("count_noise") * batch_size,
        batch_size,
    };
    if let Some(noise) = blueprint.noise_multiplier {
        method.check(noise)?;
    }
    Ok(Box::new(method))
}

fn default(name: &str) -> f64 {
    let own = ENTRY.about.parameters.iter().find(|parameter| parameter.name == name);
    own.expect("a parameter of the table").default
}

/// The sound form.
struct QuantileClip {
    thresholds: Vec<AdaptiveThreshold>,
    quantile: f64,
    deviation: f64,
    batch_size: f64,
}

impl QuantileClip {
    /// L2 norm of one record's centred counts, ±½ for each threshold.
    fn bound(&self) -> f64 {
        0.5 * (self.thresholds.len() as f64).sqrt()
    }

    fn check(&self, noise_multiplier: f64) -> Result<(), String> {
        match share_of_sum(noise_multiplier, self.bound(), self.deviation) {
            Some(_) => Ok(()),
            None => Err(format!(
                "parameters.count_noise gives the counts a deviation of {}, which alone costs more than noise_multiplier \
                 = {noise_multiplier} allows; raise it, or take larger batches",
                self.deviation
            )),
        }
    }

    fn rule(&self, factor: f64) -> Box<dyn Clip> {
        let values = self.thresholds.iter().map(|threshold| factor * f64::from(threshold.value));
        match self.thresholds.len() {
            1 => Box::new(Flat::new(values.sum())),
            _ => Box::new(PerLayer::new(values.collect())),
        }
    }
}

impl Method for QuantileClip {
    fn event(&self, noise_multiplier: f64) -> Event {
        // A multiplier that leaves nothing to the sum has no price, so that calibration looks elsewhere.
        if self.check(noise_multiplier).is_err() {
            return Event::NonPrivate;
        }
        Event::gaussian(noise_multiplier)
    }

    fn release<'a>(&mut self, step: Step<'a, '_>) -> muffle_nn::Result<Release<'a>> {
        let rule = self.rule(step.clip_factor);
        let bounds = rule.bounds().clone();
        let within = |squared_norms: &[f64], numbers: &mut [i64]| {
            // One threshold bounds the whole gradient, several bound a tensor each.
            let whole = numbers.len() == 1;
            for (place, (number, threshold)) in numbers.iter_mut().zip(bounds.thresholds()).enumerate() {
                let own = if whole { squared_norms } else { &squared_norms[place..=place] };
                let square: f64 = own.iter().sum();
                *number = if square <= threshold * threshold { 1 } else { -1 };
            }
        };
        let count = Count {
            width: self.thresholds.len(),
            unit: 0.5,
            bound: self.bound(),
            deviation: self.deviation,
            of: &within,
        };
        let (bounded, unprotected) = step.gradients.bounded_and_counted(&*rule, &count)?;
        let gradient = step.mechanism.release(bounded, step.noise_multiplier, step.receipt);
        for (threshold, count) in self.thresholds.iter_mut().zip(gradient.counts()) {
            threshold.follow(0.5 + count / self.batch_size - self.quantile);
        }
        Ok(Release { gradient, unprotected })
    }

    fn thresholds(&self) -> Option<Vec<f64>> {
        let values = self.thresholds.iter().map(|threshold| f64::from(threshold.value));
        (self.thresholds.len() > 1).then(|| values.collect())
    }

    fn state(&self) -> State {
        let values = self.thresholds.iter().map(|threshold| threshold.value).collect();
        State::from([("thresholds".to_string(), values)])
    }

    fn restore(&mut self, state: &State) -> Result<(), StateError> {
        let mut values = vec![0.0; self.thresholds.len()];
        restore(state, "thresholds", &mut values)?;
        self.thresholds.iter_mut().zip(values).for_each(|(threshold, value)| threshold.value = value);
        Ok(())
    }
}

/// The form of Lin et al.: the exact quantile of the batch.
struct Published {
    quantile: f64,
    per_layer: bool,
}

impl Method for Published {
    fn event(&self, noise_multiplier: f64) -> Event {
        Event::gaussian(noise_multiplier)
    }

    fn release<'a>(&mut self, mut step: Step<'a, '_>) -> muffle_nn::Result<Release<'a>> {
        let norms = Mutex::new(Vec::new());
        let look = |squared_norms: &[f64], factors: &mut [f32]| {
            norms.lock().expect("no call panics").push(squared_norms.iter().sum::<f64>().sqrt());
            factors.fill(0.0);
        };
        let (_, unprotected) = step.gradients.again().weighed(&look)?;
        let mut norms = norms.into_inner().expect("no call panics");
        norms.sort_by(f64::total_cmp);
        let place = (self.quantile * norms.len() as f64) as usize;
        // Of an empty batch there is no quantile, and as printed no noise.
        let threshold = norms.get(place.min(norms.len().saturating_sub(1))).copied().unwrap_or(0.0);
        let per_layer = self.per_layer;
        let clip = |squared_norms: &[f64], factors: &mut [f32]| {
            let norm = squared_norms.iter().sum::<f64>().sqrt();
            for (factor, square) in factors.iter_mut().zip(squared_norms) {
                // As printed, the threshold of a layer is the record's own norm over the number of layers.
                let (own, limit) = match per_layer {
                    true => (square.sqrt(), norm / squared_norms.len() as f64),
                    false => (norm, threshold),
                };
                *factor = if own > limit { (limit / own) as f32 } else { 1.0 };
            }
        };
        let (sum, _) = step.gradients.weighed(&clip)?;
        let tensors = sum.tensors();
        let deviations = vec![(step.noise_multiplier * threshold) as f32; tensors];
        let gradient = step.mechanism.publish(sum, &Deviations::Tensors(deviations), step.receipt);
        Ok(Release { gradient, unprotected })
    }
}
