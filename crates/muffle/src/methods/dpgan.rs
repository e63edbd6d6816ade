//! DPGAN: the critic of a generator.

use super::{
    About, Blueprint, BuildResult, Claim, Entry, Method, Mode, Parameter, Release, Step, Verdict, dp_sgd,
};
use crate::mechanism::Deviations;
use crate::sampler::SamplerChoice;
use muffle_accounting::{
    Accountant, AccountingError, Adjacency, Composition, Event, Mechanism, Price, Sampling, Standing,
};

/// Its row of the table.
pub static ENTRY: Entry = Entry {
    about: About {
        name: "dpgan",
        paper: "Xie, Lin, Wang, Wang, Zhou, Differentially private generative adversarial network, arXiv 1802.06739",
        year: 2018,
        idea: "noise on the gradients of the critic: the generator learns from it and may be published",
        verdict: Verdict::Unsound,
        modes: &[Mode::Sound, Mode::AsPublished],
        composes: "dp-sgd on the critic, a generator that sees the critic only; non-saturating or Wasserstein objective",
        steps: "sample records; clip the gradient of the critic's loss on each; add N(0, (σC)²) once to the sum; add the \
            gradient on as many generated records, clipped alike, without noise; divide by the public batch size. After \
            several such steps one of the generator. As published: no clip, the gradient on a pair of a record and a generated one, \
            and σ = 2q√(n_d ln(1/δ))/ε for n_d = 5 steps, with noise on the mean (as the review prints it) or inside the mean",
        guarantee: "each step of the critic is one Gaussian mechanism of multiplier σ on the sample, and all of them are composed; what \
                is generated owes nothing to records but through released weights (R9)",
        breaks: "nothing bounds a record's gradient; the budget is that of one outer loop, and the formula is asymptotic: inside the \
             mean σ is so small that a record is seen whenever it is sampled (R3, R6)",
        parameters: &[
            Parameter {
                name: "inside",
                default: 1.0,
                meaning: "1: the published noise is inside the mean, σ·c on the sum, as in the paper and its code; 0: outside, σ·c \
                          on the mean, as the review prints it",
            },
            Parameter {
                name: "gradient_bound",
                default: 1.0,
                meaning: "c, which the paper takes to bound a record's gradient and does not compute; its code has 1",
            },
        ],
        settings: &[],
        settings_as_published: &[],
    },
    without_privacy: true,
    additive: true,
    needs_classes: false,
    claim: Claim::Step,
    build,
};

fn build(blueprint: &Blueprint) -> BuildResult {
    let (inside, bound) =
        (blueprint.parameters.get("inside") != 0.0, blueprint.parameters.positive("gradient_bound")?);
    match blueprint.mode {
        Mode::AsPublished if blueprint.private => {
            let factor = if inside { bound } else { bound * blueprint.batch_size as f64 };
            Ok(Box::new(Published { factor }))
        }
        _ => dp_sgd::build(blueprint),
    }
}

/// No clip, and noise of a scale that nobody computed.
struct Published {
    /// The deviation of the noise on the sum over σ.
    factor: f64,
}

impl Method for Published {
    fn event(&self, noise_multiplier: f64) -> Event {
        Event::gaussian(noise_multiplier)
    }

    fn accountant(&self, _sampler: SamplerChoice) -> &'static dyn Accountant {
        &OuterLoop
    }

    fn release<'a>(&mut self, step: Step<'a, '_>) -> muffle_nn::Result<Release<'a>> {
        let (sum, unprotected) = step.gradients.weighed(&|_, factors| factors.fill(1.0))?;
        let deviation = (step.noise_multiplier * self.factor) as f32;
        let deviations = Deviations::Tensors(vec![deviation; sum.tensors()]);
        Ok(Release { gradient: step.mechanism.publish(sum, &deviations, step.receipt), unprotected })
    }
}

/// Steps of the critic for one of the generator, which the published price is for.
const CRITIC_STEPS: f64 = 5.0;

/// The published price: ε = 2q√(n_d ln(1/δ))/σ, of one outer loop, however many there are.
///
/// # Source
/// Xie et al. 2018, Theorem 1, in the form of Shen and Zhong 2021, section 5.2; n_d = 5 is that of the paper's code.
///
/// # Guarantee
/// None: the asymptotic formula of Abadi et al. holds for ε below a constant times q²n_d only.
struct OuterLoop;

impl Accountant for OuterLoop {
    fn name(&self) -> &'static str {
        "dpgan_outer_loop"
    }

    fn standing(&self) -> Standing {
        Standing::Published
    }

    fn assumption(&self) -> &'static str {
        "one outer loop of five critic steps, by an asymptotic formula outside its range."
    }

    fn price(
        &self,
        composition: &Composition,
        _adjacency: Adjacency,
        delta: f64,
    ) -> Result<Price, AccountingError> {
        let step = |mechanism: Mechanism| {
            let rate = match mechanism.sampling {
                Sampling::Poisson { sample_rate } | Sampling::FixedSize { sample_rate } => sample_rate,
                Sampling::Full | Sampling::Partitioned { .. } => 1.0,
            };
            match mechanism.release {
                muffle_accounting::Release::Gaussian { noise_multiplier } => {
                    2.0 * rate * (CRITIC_STEPS * -delta.ln()).sqrt() / noise_multiplier
                }
                _ => f64::INFINITY,
            }
        };
        let worst = composition.steps.iter().map(|part| step(part.mechanism)).fold(0.0, f64::max);
        Ok(Price::upper(worst))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The figures of the catalogue: q = 64/60000, δ = 1e-5, ε = 0.96 is σ = 0.017.
    #[test]
    fn the_published_noise_is_next_to_nothing() {
        let price = |sigma: f64| {
            let steps = Event::gaussian(sigma).poisson_sampled(64.0 / 60_000.0).repeated(100_000);
            OuterLoop.epsilon(&steps, Adjacency::AddRemove, 1e-5).unwrap().epsilon
        };
        assert!((price(0.01686) - 0.96).abs() < 1e-3, "{}", price(0.01686));
        assert!((price(0.01686 * 0.96 / 11.5) - 11.5).abs() < 0.02);
    }
}
