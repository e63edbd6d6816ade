//! Adam and AdamW.

use super::{Optimizer, chunks};
use crate::mechanism::Released;
use crate::state::restore;
use crate::{State, StateError};

/// Adaptive moments; with weight decay, AdamW.
///
/// # Source
/// Kingma and Ba 2015, "Adam"; Loshchilov and Hutter 2019, "Decoupled weight decay regularization"; formulas and constants
/// of `torch.optim.Adam` and `torch.optim.AdamW`.
pub struct Adam {
    betas: (f64, f64),
    epsilon: f32,
    weight_decay: f32,
    steps: u64,
    mean: Vec<f32>,
    square: Vec<f32>,
}

impl Adam {
    /// Adam for this many parameters: decay rates 0.9 and 0.999, ε = 1e-8, no weight decay.
    pub fn new(parameters: usize) -> Adam {
        Adam {
            betas: (0.9, 0.999),
            epsilon: 1e-8,
            weight_decay: 0.0,
            steps: 0,
            mean: vec![0.0; parameters],
            square: vec![0.0; parameters],
        }
    }

    /// AdamW: before each step the parameters shrink by learning rate times `weight_decay` (0.01 is usual).
    ///
    /// # Panics
    /// If it is negative or not finite.
    pub fn weight_decay(mut self, weight_decay: f32) -> Adam {
        assert!(weight_decay >= 0.0 && weight_decay.is_finite(), "a weight decay of {weight_decay}");
        self.weight_decay = weight_decay;
        self
    }

    /// Other decay rates of the two moments.
    ///
    /// # Panics
    /// If one is not in [0, 1).
    pub fn betas(mut self, mean: f64, square: f64) -> Adam {
        assert!((0.0..1.0).contains(&mean), "a decay rate of {mean} is not in [0, 1)");
        assert!((0.0..1.0).contains(&square), "a decay rate of {square} is not in [0, 1)");
        self.betas = (mean, square);
        self
    }

    /// Another constant in the denominator. Noise makes the square of every gradient large, so private training often
    /// wants more than the usual 1e-8.
    ///
    /// # Panics
    /// If it is not positive.
    pub fn epsilon(mut self, epsilon: f32) -> Adam {
        assert!(epsilon > 0.0, "an epsilon of {epsilon} is not positive");
        self.epsilon = epsilon;
        self
    }
}

impl Optimizer for Adam {
    fn step(&mut self, parameters: &mut [f32], released: &Released, learning_rate: f32) {
        self.steps += 1;
        // In double precision: one minus a power close to one.
        let (beta_mean, beta_square) = self.betas;
        let correction = |beta: f64| 1.0 - beta.powf(self.steps as f64);
        let rate = (f64::from(learning_rate) / correction(beta_mean)) as f32;
        let root = correction(beta_square).sqrt() as f32;
        let (epsilon, shrink) = (self.epsilon, 1.0 - learning_rate * self.weight_decay);
        let (new_mean, new_square) = ((1.0 - beta_mean) as f32, (1.0 - beta_square) as f32);
        let old_square = beta_square as f32;
        let memory = (&mut self.mean[..], &mut self.square[..]);
        chunks::for_each_with_two(parameters, released, memory, |parameter, gradient, mean, square| {
            *mean += (gradient - *mean) * new_mean;
            *square = old_square * *square + new_square * gradient * gradient;
            *parameter = shrink * *parameter - rate * *mean / (square.sqrt() / root + epsilon);
        });
    }

    fn state(&self) -> State {
        State::from([
            // Exact up to 2²⁴ steps, after which the corrections are one anyway.
            ("steps".to_string(), vec![self.steps as f32]),
            ("mean".to_string(), self.mean.clone()),
            ("square".to_string(), self.square.clone()),
        ])
    }

    fn restore(&mut self, state: &State) -> Result<(), StateError> {
        let mut steps = [0.0];
        restore(state, "steps", &mut steps)?;
        restore(state, "mean", &mut self.mean)?;
        restore(state, "square", &mut self.square)?;
        self.steps = steps[0] as u64;
        Ok(())
    }
}
