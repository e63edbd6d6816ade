//! Gradient descent.

use super::{Optimizer, chunks};
use crate::mechanism::Released;
use crate::state::restore;
use crate::{State, StateError};

/// Gradient descent, with or without momentum.
///
/// # Source
/// Polyak 1964 (momentum), Nesterov 1983, in the form of `torch.optim.SGD`: v ← μv + g, then θ ← θ − ηv, or with Nesterov's
/// look-ahead θ ← θ − η(g + μv).
pub struct Sgd {
    momentum: f32,
    nesterov: bool,
    velocity: Vec<f32>,
    len: usize,
}

impl Sgd {
    /// Plain descent for this many parameters.
    pub fn new(parameters: usize) -> Sgd {
        Sgd { momentum: 0.0, nesterov: false, velocity: Vec::new(), len: parameters }
    }

    /// Adds momentum.
    ///
    /// # Panics
    /// If it is not in [0, 1).
    pub fn momentum(mut self, momentum: f32) -> Sgd {
        assert!((0.0..1.0).contains(&momentum), "a momentum of {momentum} is not in [0, 1)");
        self.momentum = momentum;
        self.velocity = if momentum > 0.0 { vec![0.0; self.len] } else { Vec::new() };
        self
    }

    /// Looks ahead along the momentum.
    pub fn nesterov(mut self) -> Sgd {
        self.nesterov = true;
        self
    }
}

impl Optimizer for Sgd {
    fn step(&mut self, parameters: &mut [f32], released: &Released, learning_rate: f32) {
        let (momentum, nesterov) = (self.momentum, self.nesterov);
        if momentum == 0.0 {
            return chunks::for_each(parameters, released, |parameter, gradient| {
                *parameter -= learning_rate * gradient;
            });
        }
        chunks::for_each_with(parameters, released, &mut self.velocity, |parameter, gradient, velocity| {
            *velocity = momentum * *velocity + gradient;
            let direction = if nesterov { gradient + momentum * *velocity } else { *velocity };
            *parameter -= learning_rate * direction;
        });
    }

    fn state(&self) -> State {
        match self.momentum {
            0.0 => State::new(),
            _ => State::from([("velocity".to_string(), self.velocity.clone())]),
        }
    }

    fn restore(&mut self, state: &State) -> Result<(), StateError> {
        if self.momentum == 0.0 {
            return Ok(());
        }
        restore(state, "velocity", &mut self.velocity)
    }
}
