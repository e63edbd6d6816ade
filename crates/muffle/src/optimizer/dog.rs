//! Distance over gradients.

use super::{Optimizer, chunks};
use crate::chunk::CHUNK;
use crate::mechanism::Released;
use crate::state::restore;
use crate::{State, StateError};
use rayon::prelude::*;

/// How far the first step goes, over one and the length of the first weights.
const FIRST: f64 = 1e-4;

/// Descent that finds its own rate: the farthest that weights have been from where they started, over the root of the sum of all
/// squared lengths of gradients so far. The learning rate multiplies that, so that 1 is the usual one and nothing is left to choose.
///
/// Both are functions of released gradients, so that the rate is free (R9). The noise is part of the lengths: the more there is, the
/// shorter the steps.
///
/// # Source
/// Ivgi, Hinder, Carmon 2023, "DoG is SGD's best friend: a parameter-free dynamic step size schedule", equation 1.
pub struct DistanceOverGradients {
    start: Vec<f32>,
    /// The farthest distance, and the sum of squares; both zero before the first step.
    memory: [f32; 2],
}

impl DistanceOverGradients {
    /// For this many parameters.
    pub fn new(parameters: usize) -> DistanceOverGradients {
        DistanceOverGradients { start: vec![0.0; parameters], memory: [0.0; 2] }
    }
}

/// The sum of a function of pairs of values, in an order that threads do not decide.
fn sum(left: &[f32], right: &[f32], of: impl Fn(f32, f32) -> f32 + Sync) -> f64 {
    let chunk = |(left, right): (&[f32], &[f32])| {
        left.iter().zip(right).map(|(left, right)| f64::from(of(*left, *right))).sum::<f64>()
    };
    let sums: Vec<f64> = left.par_chunks(CHUNK).zip(right.par_chunks(CHUNK)).map(chunk).collect();
    sums.into_iter().sum()
}

impl Optimizer for DistanceOverGradients {
    fn step(&mut self, parameters: &mut [f32], released: &Released, learning_rate: f32) {
        assert_eq!(self.start.len(), parameters.len(), "the optimizer was made for these parameters");
        let [farthest, squares] = &mut self.memory;
        let gradient = released.gradient();
        released.pool().install(|| {
            if *squares == 0.0 {
                self.start.copy_from_slice(parameters);
                let length = sum(parameters, parameters, |one, other| one * other).sqrt();
                *farthest = (FIRST * (1.0 + length)) as f32;
            }
            let distance = sum(parameters, &self.start, |now, start| (now - start) * (now - start)).sqrt();
            *farthest = farthest.max(distance as f32);
            *squares += sum(gradient, gradient, |one, other| one * other) as f32;
        });
        let rate = learning_rate * *farthest / squares.sqrt().max(f32::MIN_POSITIVE);
        chunks::for_each(parameters, released, |parameter, gradient| *parameter -= rate * gradient);
    }

    fn state(&self) -> State {
        State::from([("start".to_string(), self.start.clone()), ("memory".to_string(), self.memory.to_vec())])
    }

    fn restore(&mut self, state: &State) -> Result<(), StateError> {
        restore(state, "start", &mut self.start)?;
        restore(state, "memory", &mut self.memory)
    }
}
