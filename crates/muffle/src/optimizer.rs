//! Optimizers: what becomes of a released gradient. All of it is post-processing and free.

use crate::mechanism::Released;
use rayon::prelude::*;

/// Gradient descent with a fixed learning rate.
pub struct GradientDescent {
    /// Length of a step.
    pub learning_rate: f32,
}

impl GradientDescent {
    /// Moves the parameters against the gradient.
    pub fn step(&self, parameters: &mut [f32], released: &Released) {
        /// Values a thread moves at a time.
        const CHUNK: usize = 1 << 14;
        let chunks = parameters.par_chunks_mut(CHUNK).zip(released.gradient().par_chunks(CHUNK));
        released.pool().install(|| {
            chunks.for_each(|(parameters, gradient)| {
                for (parameter, gradient) in parameters.iter_mut().zip(gradient) {
                    *parameter -= self.learning_rate * gradient;
                }
            });
        });
    }
}
