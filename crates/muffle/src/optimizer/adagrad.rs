//! AdaGrad.

use super::{Optimizer, chunks};
use crate::mechanism::Released;
use crate::state::restore;
use crate::{State, StateError};

/// Divides by the root of the sum of all squares so far.
///
/// # Source
/// Duchi, Hazan and Singer 2011, "Adaptive subgradient methods"; formulas and constants of `torch.optim.Adagrad`.
pub struct AdaGrad {
    epsilon: f32,
    sum: Vec<f32>,
}

impl AdaGrad {
    /// For this many parameters, ε = 1e-10.
    pub fn new(parameters: usize) -> AdaGrad {
        AdaGrad { epsilon: 1e-10, sum: vec![0.0; parameters] }
    }
}

impl Optimizer for AdaGrad {
    fn step(&mut self, parameters: &mut [f32], released: &Released, learning_rate: f32) {
        let epsilon = self.epsilon;
        chunks::for_each_with(parameters, released, &mut self.sum, |parameter, gradient, sum| {
            *sum += gradient * gradient;
            *parameter -= learning_rate * gradient / (sum.sqrt() + epsilon);
        });
    }

    fn state(&self) -> State {
        State::from([("sum".to_string(), self.sum.clone())])
    }

    fn restore(&mut self, state: &State) -> Result<(), StateError> {
        restore(state, "sum", &mut self.sum)
    }
}
