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
        steps: "keep E ← γE + (1 − γ)g̃² of released gradients; clip coordinate i of each record to ±s_i with s_i = β√E_i, all \
            scaled down together if they are longer than C; noise σ√m·s_i on coordinate i of m. The first step clips at \
            norm C",
        guarantee: "s comes from released gradients only, and Σ s²/τ² = 1/σ²: each step is one Gaussian mechanism of multiplier σ",
        breaks: "the printed figures are for reshuffled batches, so they hold under zero_out, not under replace_one or add_remove",
        parameters: &[
            Parameter { name: "decay", default: 0.9, meaning: "γ, how long squares are remembered" },
            Parameter { name: "scale", default: 1.1, meaning: "β, limits over the root of squares" },
            Parameter {
                name: "floor",
                default: 1e-3,
                meaning: "the smallest limit as a share of C/√m: no coordinate is given up",
            },
        ],
        settings: &["optimizer={kind=\"rms-prop\",decay=0.9}", "learning_rate=0.002"],
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
        floor: parameters.share("floor")?,
    }))
}

struct AdaDp {
    /// Moving mean of released squares; all zero before the first release.
    squares: Vec<f32>,
    threshold: f64,
    decay: f32,
    scale: f64,
    floor: f64,
}

/// A limit for every coordinate, in proportion to the roots of the squares.
///
/// Noise takes part in the squares, and limits in the noise: where σ√m exceeds the batch size, limits would grow from step to
/// step without end. So together they have norm `threshold` at most.
fn limits(squares: &[f32], scale: f64, floor: f64, threshold: f64) -> Vec<f32> {
    let sum = |squares: &[f32]| squares.iter().map(|square| f64::from(*square)).sum::<f64>();
    let sums: Vec<f64> = squares.par_chunks(CHUNK).map(sum).collect();
    let norm = scale * sums.iter().sum::<f64>().sqrt();
    let smallest = (floor * threshold / (squares.len() as f64).sqrt()) as f32;
    // All the smallest limits together have norm floor · threshold.
    let room = threshold * (1.0 - floor * floor).sqrt();
    let factor = (scale * (room / norm.max(room))) as f32;
    let mut limits = vec![0.0; squares.len()];
    limits.par_chunks_mut(CHUNK).zip(squares.par_chunks(CHUNK)).for_each(|(limits, squares)| {
        for (limit, square) in limits.iter_mut().zip(squares) {
            *limit = (factor * square.sqrt()).max(smallest);
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
        let history = self.squares.iter().any(|square| *square > 0.0);
        let rule = match history {
            true => {
                let AdaDp { squares, scale, floor, .. } = self;
                let pool = step.gradients.engine.pool();
                Rule::Limits(pool.install(|| limits(squares, *scale, *floor, threshold)))
            }
            false => Rule::WrittenOut { threshold },
        };
        let (bounded, unprotected) = step.gradients.bounded(rule)?;
        let gradient = step.mechanism.release(bounded, step.noise_multiplier, step.receipt);
        chunks::for_each(&mut self.squares, &gradient, |square, value| {
            *square = self.decay * *square + (1.0 - self.decay) * value * value;
        });
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
        // Roots 3, 4, 0, 0 times 2 are shorter than 20; the smallest limit is 0.1 · 20 / √4.
        assert!(near(&limits(&[9.0, 16.0, 0.0, 0.0], 2.0, 0.1, 20.0), &[6.0, 8.0, 1.0, 1.0]));
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
