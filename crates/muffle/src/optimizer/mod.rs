//! Optimizers: what becomes of a released gradient. All of it is post-processing and free (R9).

mod adagrad;
mod adam;
mod choice;
pub(crate) mod chunks;
mod dog;
mod rms_prop;
mod sgd;

pub use adagrad::AdaGrad;
pub use adam::Adam;
pub use choice::OptimizerChoice;
pub use dog::DistanceOverGradients;
pub use rms_prop::RmsProp;
pub use sgd::Sgd;

use crate::mechanism::Released;
use crate::{State, StateError};

/// Moves parameters by released gradients.
///
/// The result does not depend on the number of threads.
pub trait Optimizer {
    /// Takes one step.
    ///
    /// # Panics
    /// If the optimizer was made for another number of parameters.
    fn step(&mut self, parameters: &mut [f32], released: &Released, learning_rate: f32);

    /// What has to be saved for the next step to be the same.
    fn state(&self) -> State;

    /// Takes over a saved state.
    fn restore(&mut self, state: &State) -> Result<(), StateError>;
}

#[cfg(test)]
mod tests;
