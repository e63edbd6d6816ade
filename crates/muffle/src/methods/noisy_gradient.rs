//! Noise before the clip.

use super::{About, Blueprint, BuildResult, Claim, Entry, Method, Mode, Parameter, Release, Step, Verdict};
use crate::clip::Flat;
use crate::mechanism::{Deviations, Rule};
use crate::sampler::SamplerChoice;
use muffle_accounting::rdp::Rdp;
use muffle_accounting::{Accountant, Event};
use muffle_nn::Purpose;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// Its row of the table.
pub static ENTRY: Entry = Entry {
    about: About {
        name: "noisy-gradient",
        paper: "Lin et al., Differential privacy protection over deep learning: an investigation of its impacted factors",
        year: 2020,
        idea: "add the noise first and clip afterwards, so that every update is bounded",
        verdict: Verdict::Unsound,
        modes: &[Mode::Sound, Mode::AsPublished],
        composes: "flat clip, Gaussian noise, a second clip of the noisy mean",
        steps: "sound: clip each gradient at C, add N(0, (σC)²) to the sum, divide, and scale the noisy mean back to C. As \
            published: add N(0, (σC)²) to each record's gradient, clip the result at C, and take the mean over the records at hand; \
            with parameters.together = 1, what that comes to in many dimensions: of d values of noise the length is σC√d, so \
            that record i gets the factor w = min(1, C/√(‖g‖² + dσ²C²)), and the sum one draw of deviation σC√Σw²; along each record's \
            own gradient the paper's clip takes noise away, which this does not: it is for accuracies, not for audits",
        guarantee: "scaling a released mean is post-processing: each step is one Gaussian mechanism of multiplier σ",
        breaks: "a gradient that is large before the noise leaves it almost unchanged, and the clip then removes what noise \
             there is: no epsilon is finite, and the paper proves none",
        parameters: &[Parameter {
            name: "together",
            default: 0.0,
            meaning: "as published: 1 for one draw of noise in a step, for large networks; 0 for a draw for each record",
        }],
        settings: &[],
        settings_as_published: &[],
    },
    without_privacy: false,
    additive: false,
    needs_classes: false,
    claim: Claim::Nothing,
    build,
};

fn build(blueprint: &Blueprint) -> BuildResult {
    let threshold = blueprint.threshold()?;
    Ok(match blueprint.mode {
        Mode::Sound => Box::new(NoisyGradient { threshold }),
        Mode::AsPublished if blueprint.parameters.get("together") != 0.0 => Box::new(Together { threshold }),
        Mode::AsPublished if blueprint.views > 1 => {
            return Err("method noisy-gradient as published noises every example: use one view".to_string());
        }
        Mode::AsPublished => Box::new(Published { threshold }),
    })
}

/// The sound form.
struct NoisyGradient {
    threshold: f64,
}

impl Method for NoisyGradient {
    fn event(&self, noise_multiplier: f64) -> Event {
        Event::gaussian(noise_multiplier)
    }

    fn release<'a>(&mut self, step: Step<'a, '_>) -> muffle_nn::Result<Release<'a>> {
        let threshold = step.clip_factor * self.threshold;
        let (bounded, unprotected) = step.gradients.bounded(Rule::Norms(&Flat::new(threshold)))?;
        let mut gradient = step.mechanism.release(bounded, step.noise_multiplier, step.receipt);
        let norm = gradient.gradient().iter().map(|value| f64::from(*value).powi(2)).sum::<f64>().sqrt();
        if norm > threshold {
            gradient.scale((threshold / norm) as f32);
        }
        Ok(Release { gradient, unprotected })
    }
}

/// The form of the paper, with a draw of noise for each record.
struct Published {
    threshold: f64,
}

impl Method for Published {
    fn event(&self, noise_multiplier: f64) -> Event {
        Event::gaussian(noise_multiplier)
    }

    fn release<'a>(&mut self, step: Step<'a, '_>) -> muffle_nn::Result<Release<'a>> {
        let threshold = step.clip_factor * self.threshold;
        let deviation = (step.noise_multiplier * threshold) as f32;
        let noise = step.mechanism.published_noise(&step.receipt);
        let records = AtomicU64::new(0);
        let perturb = |example: usize, gradient: &mut [f32], sum: &mut [f32]| {
            noise.add(example as u64 * gradient.len() as u64, deviation, gradient);
            let norm = gradient.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>().sqrt();
            let factor = if norm > threshold { (threshold / norm) as f32 } else { 1.0 };
            sum.iter_mut().zip(gradient).for_each(|(sum, value)| *sum += factor * *value);
            records.fetch_add(1, Ordering::Relaxed);
        };
        let (sum, unprotected) = step.gradients.visited(&perturb)?;
        let silent = vec![0.0; sum.tensors()];
        let mut gradient = step.mechanism.publish(sum, &Deviations::Tensors(silent), step.receipt);
        // A mean, where sound forms divide by what is public.
        gradient.scale((step.mechanism.divisor() / records.into_inner().max(1) as f64) as f32);
        Ok(Release { gradient, unprotected })
    }

    /// The paper names none. This one prices samples of either kind.
    fn accountant(&self, _: SamplerChoice) -> &'static dyn Accountant {
        &Rdp
    }

    fn purpose(&self) -> Purpose {
        Purpose::Plain
    }
}

/// The form of the paper in many dimensions, with one draw of noise for all records of a step.
///
/// The length of d normals is √d up to a relative 1/√(2d), and their part along a gradient is one of d: a factor that follows from the
/// noise of a record follows from d, and noise behind fixed factors adds up to one draw.
struct Together {
    threshold: f64,
}

impl Method for Together {
    fn event(&self, noise_multiplier: f64) -> Event {
        Event::gaussian(noise_multiplier)
    }

    fn release<'a>(&mut self, step: Step<'a, '_>) -> muffle_nn::Result<Release<'a>> {
        let threshold = step.clip_factor * self.threshold;
        let deviation = step.noise_multiplier * threshold;
        let squared_noise = deviation.powi(2) * step.gradients.network().parameter_len() as f64;
        let weights = Mutex::new(Vec::new());
        let clip = |squared_norms: &[f64], factors: &mut [f32]| {
            let length = (squared_norms.iter().sum::<f64>() + squared_noise).sqrt();
            let factor = if length > threshold { threshold / length } else { 1.0 };
            factors.fill(factor as f32);
            weights.lock().expect("no call panics").push(factor);
        };
        let (sum, unprotected) = step.gradients.weighed(&clip)?;
        let mut weights = weights.into_inner().expect("no call panics");
        // Threads finish in any order, and the last bits of a sum depend on it.
        weights.sort_by(f64::total_cmp);
        let scale = weights.iter().map(|weight| weight.powi(2)).sum::<f64>().sqrt();
        let deviations = vec![(deviation * scale) as f32; sum.tensors()];
        let mut gradient = step.mechanism.publish(sum, &Deviations::Tensors(deviations), step.receipt);
        gradient.scale((step.mechanism.divisor() / weights.len().max(1) as f64) as f32);
        Ok(Release { gradient, unprotected })
    }

    fn accountant(&self, _: SamplerChoice) -> &'static dyn Accountant {
        &Rdp
    }
}
