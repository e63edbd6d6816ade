//! RMSProp.

use super::{Optimizer, chunks};
use crate::mechanism::Released;
use crate::state::restore;
use crate::{State, StateError};

/// Divides by the root of a moving mean of squares.
///
/// # Source
/// Tieleman and Hinton 2012, lecture 6.5; formulas and constants of `torch.optim.RMSprop`.
pub struct RmsProp {
    decay: f64,
    epsilon: f32,
    square: Vec<f32>,
}

impl RmsProp {
    /// For this many parameters: decay rate 0.99, ε = 1e-8.
    pub fn new(parameters: usize) -> RmsProp {
        RmsProp { decay: 0.99, epsilon: 1e-8, square: vec![0.0; parameters] }
    }

    /// Another decay rate of the squares.
    ///
    /// # Panics
    /// If it is not in [0, 1).
    pub fn decay(mut self, decay: f64) -> RmsProp {
        assert!((0.0..1.0).contains(&decay), "a decay rate of {decay} is not in [0, 1)");
        self.decay = decay;
        self
    }
}

impl Optimizer for RmsProp {
    fn step(&mut self, parameters: &mut [f32], released: &Released, learning_rate: f32) {
        let (decay, rest, epsilon) = (self.decay as f32, (1.0 - self.decay) as f32, self.epsilon);
        chunks::for_each_with(parameters, released, &mut self.square, |parameter, gradient, square| {
            *square = decay * *square + rest * gradient * gradient;
            *parameter -= learning_rate * gradient / (square.sqrt() + epsilon);
        });
    }

    fn state(&self) -> State {
        State::from([("square".to_string(), self.square.clone())])
    }

    fn restore(&mut self, state: &State) -> Result<(), StateError> {
        restore(state, "square", &mut self.square)
    }
}
