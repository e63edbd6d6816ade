//! Noise in proportion to the norm of every layer.

use super::{About, Blueprint, BuildResult, Claim, Entry, Method, Mode, Parameter, Release, Step, Verdict};
use crate::clip::{Clip, PerLayer};
use crate::mechanism::{Deviations, Rule};
use crate::state::restore;
use crate::{State, StateError};
use muffle_accounting::Event;

pub static ENTRY: Entry = Entry {
    about: About {
        name: "dp-adam-ilg",
        paper: "Li, Liang, Jiang, Zhang, Differentially private deep learning with importance-based adaptive gradient processing",
        year: 2024,
        idea: "give every layer noise in proportion to the norm of its gradient",
        verdict: Verdict::Unsound,
        modes: &[Mode::Sound, Mode::AsPublished],
        composes: "per-layer clip at thresholds learned from releases, Gaussian noise, a noise schedule in epochs, Adam",
        steps: "sound: clip tensor j of each record at S_j, release with noise shared equally, and let S_j follow the norm of the \
            released tensor less that of its noise, between public limits. As published: take the mean of unclipped \
            gradients; for tensor j with n values let s = α‖g‖/√n, move its values into ±s, add N(0, (σ√n·s)²), where σ is at least \
            σ_* = √(2 ln(1.25/δ))/ε_Lim",
        guarantee: "thresholds come from released gradients only, and J tensors clipped at S_j with noise σ√J·S_j are one Gaussian \
                mechanism of multiplier σ (R5)",
        breaks: "the norm of the batch's own gradient is no sensitivity: where it is zero no noise is added, and elsewhere the \
             noise shows it; no record is clipped; J tensors cost J times what is charged for one",
        parameters: &[
            Parameter { name: "alpha", default: 1.2, meaning: "α, as published; 1.2" },
            Parameter {
                name: "epsilon_limit",
                default: 0.9999,
                meaning: "ε_Lim of equation 7, in (0, 1), by which noise has a floor; 0 for none (as published). The paper has no number: \
                          0.9999 is next to the largest that it allows",
            },
            Parameter {
                name: "divided",
                default: 0.0,
                meaning: "1: noise is divided by the batch size, as the gradients are; 0: as printed (as published)",
            },
            Parameter {
                name: "kappa", default: 4.0, meaning: "κ: S_j is κ times the learned norm (sound)"
            },
            Parameter {
                name: "decay",
                default: 0.9,
                meaning: "share of the learned norms that is kept (sound)",
            },
            Parameter {
                name: "floor",
                default: 0.01,
                meaning: "the smallest S_j as a share of the largest, C/√J (sound)",
            },
        ],
        settings: &[
            "noise_schedule={kind=\"time\",initial=1.0,rate=0.05}",
            "sampler=reshuffled",
            "noise.allocation=equal-share",
            "optimizer={kind=\"adam\"}",
            "learning_rate=0.001",
        ],
        settings_as_published: &[],
    },
    without_privacy: false,
    additive: true,
    needs_classes: false,
    claim: Claim::Step,
    build,
};

fn build(blueprint: &Blueprint) -> BuildResult {
    let (parameters, tensors) = (blueprint.parameters, blueprint.network.parameters().len());
    if blueprint.mode == Mode::AsPublished {
        let limit = parameters.get("epsilon_limit");
        let least_noise = match limit {
            0.0 => 0.0,
            limit if limit > 0.0 && limit < 1.0 => least_noise(blueprint.delta, limit),
            _ => {
                return Err(format!(
                    "parameters.epsilon_limit = {limit} is outside (0, 1), and not 0 for no limit"
                ));
            }
        };
        let share = if parameters.get("divided") == 0.0 { 1.0 } else { 1.0 / blueprint.batch_size as f64 };
        return Ok(Box::new(Published { alpha: parameters.positive("alpha")?, least_noise, share }));
    }
    let (kappa, ceiling) = (parameters.positive("kappa")?, blueprint.threshold()? / (tensors as f64).sqrt());
    Ok(Box::new(DpAdamIlg {
        norms: vec![(ceiling / kappa) as f32; tensors],
        kappa,
        decay: parameters.share("decay")?,
        floor: parameters.share("floor")? * ceiling,
        ceiling,
    }))
}

/// The sound form.
struct DpAdamIlg {
    /// Learned norms of the mean gradient's tensors.
    norms: Vec<f32>,
    kappa: f64,
    decay: f64,
    /// Public limits of the thresholds. Where noise is stronger than gradients its own error looks like a gradient, and the
    /// thresholds would rise without end.
    floor: f64,
    ceiling: f64,
}

impl DpAdamIlg {
    fn rule(&self, factor: f64) -> PerLayer {
        let threshold = |norm: &f32| (self.kappa * f64::from(*norm)).clamp(self.floor, self.ceiling);
        PerLayer::new(self.norms.iter().map(|norm| factor * threshold(norm)).collect())
    }
}

/// The moving mean of a norm, after a release: its square less that of the noise on it, which is public.
fn follow(norm: f32, decay: f64, released: &[f32], deviation: f64) -> f32 {
    let square: f64 = released.iter().map(|value| f64::from(*value).powi(2)).sum();
    let noise = released.len() as f64 * deviation * deviation;
    (decay * f64::from(norm) + (1.0 - decay) * (square - noise).max(0.0).sqrt()) as f32
}

impl Method for DpAdamIlg {
    fn event(&self, noise_multiplier: f64) -> Event {
        Event::gaussian(noise_multiplier)
    }

    fn release<'a>(&mut self, step: Step<'a, '_>) -> muffle_nn::Result<Release<'a>> {
        let rule = self.rule(step.clip_factor);
        let network = step.gradients.network();
        let deviations = step.mechanism.deviations(rule.bounds(), step.noise_multiplier, network);
        let ranges: Vec<_> = network.parameters().iter().map(|tensor| tensor.range.clone()).collect();
        let (bounded, unprotected) = step.gradients.bounded(Rule::Norms(&rule))?;
        let gradient = step.mechanism.release(bounded, step.noise_multiplier, step.receipt);
        for ((norm, range), deviation) in self.norms.iter_mut().zip(ranges).zip(deviations) {
            *norm = follow(*norm, self.decay, &gradient.gradient()[range], deviation);
        }
        Ok(Release { gradient, unprotected })
    }

    fn state(&self) -> State {
        State::from([("norms".to_string(), self.norms.clone())])
    }

    fn restore(&mut self, state: &State) -> Result<(), StateError> {
        restore(state, "norms", &mut self.norms)
    }
}

/// The noise below which the schedule does not fall.
///
/// # Source
/// Li et al. 2024, equation 7.
fn least_noise(delta: f64, epsilon_limit: f64) -> f64 {
    (2.0 * (1.25 / delta).ln()).sqrt() / epsilon_limit
}

/// The form of the paper.
struct Published {
    alpha: f64,
    /// σ_*.
    least_noise: f64,
    /// How much of the printed noise there is.
    share: f64,
}

impl Method for Published {
    fn event(&self, noise_multiplier: f64) -> Event {
        Event::gaussian(noise_multiplier.max(self.least_noise))
    }

    fn release<'a>(&mut self, step: Step<'a, '_>) -> muffle_nn::Result<Release<'a>> {
        let lens: Vec<usize> =
            step.gradients.network().parameters().iter().map(|tensor| tensor.range.len()).collect();
        let unclipped = |_: &[f64], factors: &mut [f32]| factors.fill(1.0);
        let (mut sum, unprotected) = step.gradients.weighed(&unclipped)?;
        // Sum and mean differ by a factor that scales all of this alike.
        let bounds: Vec<f64> = sum.norms().into_iter().map(|norm| self.alpha * norm).collect();
        let limit = |(bound, len): (&f64, &usize)| (bound / (*len as f64).sqrt()) as f32;
        sum.clamp(&bounds.iter().zip(&lens).map(limit).collect::<Vec<f32>>());
        let noise = self.share * step.noise_multiplier.max(self.least_noise);
        let deviations: Vec<f32> = bounds.iter().map(|bound| (noise * bound) as f32).collect();
        let gradient = step.mechanism.publish(sum, &Deviations::Tensors(deviations), step.receipt);
        Ok(Release { gradient, unprotected })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_learned_norm_by_hand() {
        // 25 − 4 · 2² = 9, whose root is 3: 0.9 · 1 + 0.1 · 3.
        assert!((follow(1.0, 0.9, &[3.0, 4.0, 0.0, 0.0], 2.0) - 1.2).abs() < 1e-6);
        // Noise longer than the release leaves nothing.
        assert!((follow(1.0, 0.9, &[1.0, 1.0], 2.0) - 0.9).abs() < 1e-6);
    }

    /// √(2 ln 125,000) is 4.8448; the paper's runs need it to be out of their way, so that ε_Lim is 0.814 at least: 5.952.
    #[test]
    fn the_floor_of_the_noise_by_hand() {
        assert!((least_noise(1e-5, 0.9) - 4.844_805 / 0.9).abs() < 1e-5);
        let floor = least_noise(1e-5, 0.814);
        assert!((floor - 5.9518).abs() < 1e-3, "{floor}");
        let published = Published { alpha: 1.2, least_noise: floor, share: 1.0 };
        assert_eq!(published.event(10.0), Event::gaussian(10.0));
        assert_eq!(published.event(2.0), Event::gaussian(floor));
    }

    #[test]
    fn thresholds_stay_between_public_limits() {
        let method =
            DpAdamIlg { norms: vec![0.0, 0.1, 9.0], kappa: 4.0, decay: 0.9, floor: 0.01, ceiling: 0.5 };
        let thresholds = method.rule(2.0).bounds().thresholds().to_vec();
        assert_eq!(thresholds[0], 0.02);
        assert!((thresholds[1] - 0.8).abs() < 1e-6);
        assert_eq!(thresholds[2], 1.0);
    }
}
