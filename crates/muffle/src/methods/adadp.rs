//! A bound for every coordinate, learned from what was released before.

use super::{About, Blueprint, BuildResult, Claim, Entry, Method, Mode, Parameter, Release, Step, Verdict};
use crate::chunk::CHUNK;
use crate::mechanism::Rule;
use crate::optimizer::chunks;
use crate::state::restore;
use crate::{State, StateError};
use muffle_accounting::Event;
use muffle_nn::Purpose;
use rayon::prelude::*;

pub static ENTRY: Entry = Entry {
    about: About {
        name: "adadp",
        paper: "Xu Z. et al., An adaptive and fast convergent approach to differentially private deep learning, INFOCOM",
        year: 2020,
        idea: "clip every coordinate at what past releases make of it, with noise in proportion",
        verdict: Verdict::Conditional,
        modes: &[Mode::Sound],
        composes: "coordinate clip, Gaussian noise in proportion, RMSProp",
        steps: "keep E ← γE + (1 − γ)(g̃² − τ²) of released gradients, τ² being the known variance of their noise. While ΣE is below a \
            start, (G·C)², clip at norm C; from then on coordinate i of each record to ±s_i with s_i = β√E_i, all scaled down \
            together if they are longer than C, and noise σ√m·s_i on coordinate i of m",
        guarantee: "s comes from released gradients only, and Σ s²/τ² = 1/σ²: each step is one Gaussian mechanism of multiplier σ",
        breaks: "the printed figures are for reshuffled batches, so they hold under zero_out, not under replace_one or add_remove; and \
             limits that follow squares with the noise in them grow from step to step without end where βσ√m exceeds the batch size, \
             so that here its variance is subtracted and the limits stay within C",
        parameters: &[
            Parameter { name: "decay", default: 0.9, meaning: "γ, how long squares are remembered" },
            Parameter { name: "scale", default: 1.1, meaning: "β, limits over the root of squares" },
            Parameter {
                name: "start",
                default: 0.01,
                meaning: "G: limits follow squares once the root of their sum is above this share of C",
            },
            Parameter {
                name: "floor",
                default: 1e-3,
                meaning: "the smallest limit as a share of C/√m: no coordinate is given up",
            },
        ],
        settings: &["optimizer={kind=\"rms-prop\",decay=0.9}", "learning_rate=0.002"],
        settings_as_published: &[],
    },
    without_privacy: false,
    additive: true,
    needs_classes: false,
    claim: Claim::Step,
    build,
};

fn build(blueprint: &Blueprint) -> BuildResult {
    let parameters = blueprint.parameters;
    Ok(Box::new(AdaDp {
        squares: vec![0.0; blueprint.network.parameter_len()],
        threshold: blueprint.threshold()?,
        decay: parameters.share("decay")? as f32,
        scale: parameters.positive("scale")?,
        start: parameters.share("start")?,
        floor: parameters.share("floor")?,
    }))
}

struct AdaDp {
    /// Moving mean of released squares less the variance of their noise, so that some are negative; zero before the first release.
    squares: Vec<f32>,
    threshold: f64,
    decay: f32,
    scale: f64,
    start: f64,
    floor: f64,
}

/// The sum of some function of squares, chunk by chunk, so that it does not depend on the threads.
fn sum(squares: &[f32], part: impl Fn(f64) -> f64 + Sync) -> f64 {
    let own = |squares: &[f32]| squares.iter().map(|square| part(f64::from(*square))).sum::<f64>();
    squares.par_chunks(CHUNK).map(own).collect::<Vec<f64>>().iter().sum()
}

/// A limit for every coordinate, in proportion to the roots of the squares.
///
/// What noise leaves in the squares beside its variance takes part in the limits, and limits in the noise: where βσ√m exceeds the batch
/// size, limits would grow from step to step without end. So together they have norm `threshold` at most.
fn limits(squares: &[f32], scale: f64, floor: f64, threshold: f64) -> Vec<f32> {
    let norm = scale * sum(squares, |square| square.max(0.0)).sqrt();
    let smallest = (floor * threshold / (squares.len() as f64).sqrt()) as f32;
    // All the smallest limits together have norm floor · threshold.
    let room = threshold * (1.0 - floor * floor).sqrt();
    let factor = (scale * (room / norm.max(room))) as f32;
    let mut limits = vec![0.0; squares.len()];
    limits.par_chunks_mut(CHUNK).zip(squares.par_chunks(CHUNK)).for_each(|(limits, squares)| {
        for (limit, square) in limits.iter_mut().zip(squares) {
            *limit = (factor * square.max(0.0).sqrt()).max(smallest);
        }
    });
    limits
}

impl Method for AdaDp {
    fn event(&self, noise_multiplier: f64) -> Event {
        Event::gaussian(noise_multiplier)
    }

    fn release<'a>(&mut self, step: Step<'a, '_>) -> muffle_nn::Result<Release<'a>> {
        let threshold = step.clip_factor * self.threshold;
        let AdaDp { squares, scale, floor, decay, .. } = self;
        let (scale, floor, decay) = (*scale, *floor, *decay);
        let pool = step.gradients.engine.pool();
        let started = pool.install(|| sum(squares, |square| square)) > (self.start * threshold).powi(2);
        let limits = started.then(|| pool.install(|| limits(squares, scale, floor, threshold)));
        // The deviation of the noise over the limit of a coordinate; one limit stands for all where the whole has a norm.
        let diagonal = if started { (squares.len() as f64).sqrt() } else { 1.0 };
        let noise = (step.noise_multiplier * diagonal / step.mechanism.divisor()) as f32;
        let own = |limit: f32, square: f32, value: f32| {
            decay * square + (1.0 - decay) * (value * value - (noise * limit).powi(2))
        };
        let rule = match &limits {
            Some(limits) => Rule::Limits(limits.clone()),
            None => Rule::WrittenOut { threshold },
        };
        let (bounded, unprotected) = step.gradients.bounded(rule)?;
        let gradient = step.mechanism.release(bounded, step.noise_multiplier, step.receipt);
        match limits {
            Some(mut limits) => {
                chunks::for_each_with(squares, &gradient, &mut limits, |square, value, limit| {
                    *square = own(*limit, *square, value);
                })
            }
            None => chunks::for_each(squares, &gradient, |square, value| {
                *square = own(threshold as f32, *square, value);
            }),
        }
        Ok(Release { gradient, unprotected })
    }

    fn purpose(&self) -> Purpose {
        Purpose::Plain
    }

    fn state(&self) -> State {
        State::from([("squares".to_string(), self.squares.clone())])
    }

    fn restore(&mut self, state: &State) -> Result<(), StateError> {
        restore(state, "squares", &mut self.squares)
    }
}

#[cfg(test)]
mod tests {
    use super::limits;

    fn near(left: &[f32], right: &[f32]) -> bool {
        left.iter().zip(right).all(|(left, right)| (left - right).abs() < 1e-6)
    }

    #[test]
    fn limits_by_hand() {
        // Roots 3, 4, 0, 0 times 2 are shorter than 20; the smallest limit is 0.1 · 20 / √4. A square below zero is noise.
        assert!(near(&limits(&[9.0, 16.0, 0.0, -7.0], 2.0, 0.1, 20.0), &[6.0, 8.0, 1.0, 1.0]));
        // With a threshold of 5, the ten of 6 and 8 become 5√0.99.
        let half = 0.99f32.sqrt() / 2.0;
        let expected = [6.0 * half, 8.0 * half, 0.25, 0.25];
        assert!(near(&limits(&[9.0, 16.0, 0.0, 0.0], 2.0, 0.1, 5.0), &expected));
    }

    #[test]
    fn limits_are_never_longer_than_the_threshold() {
        for squares in [vec![1e30, 1e-30, 0.0], vec![1e-12; 3], vec![4.0, 4.0, 4.0]] {
            let limits = limits(&squares, 1.1, 1e-3, 0.5);
            let norm = limits.iter().map(|limit| f64::from(*limit).powi(2)).sum::<f64>().sqrt();
            assert!(norm <= 0.5 * (1.0 + 1e-6), "{squares:?}: {norm}");
            assert!(limits.iter().all(|limit| limit.is_normal()));
        }
    }
}
