//! A moving average of the weights.

use crate::chunk::CHUNK;
use crate::state::restore;
use crate::{State, StateError};
use rayon::prelude::*;

/// Exponential moving average of the parameters along a run. It is post-processing of released values and free (R9).
///
/// # Source
/// Polyak and Juditsky 1992; De et al. 2022, "Unlocking high-accuracy differentially private image classification through
/// scale", section 3.4, with the warm-up min(decay, (1 + t)/(10 + t)) at update t = 0, 1, ...
pub struct MovingAverage {
    decay: f32,
    updates: u64,
    average: Vec<f32>,
}

impl MovingAverage {
    /// Starts at the first parameters.
    ///
    /// # Panics
    /// If the decay is not in [0, 1).
    pub fn new(parameters: &[f32], decay: f32) -> MovingAverage {
        assert!((0.0..1.0).contains(&decay), "a decay of {decay} is not in [0, 1)");
        MovingAverage { decay, updates: 0, average: parameters.to_vec() }
    }

    /// Moves the average towards the parameters after a step.
    ///
    /// # Panics
    /// If the number of parameters changed.
    pub fn update(&mut self, parameters: &[f32], pool: &rayon::ThreadPool) {
        assert_eq!(parameters.len(), self.average.len(), "one average for each parameter");
        let updates = self.updates as f32;
        let weight = 1.0 - self.decay.min((1.0 + updates) / (10.0 + updates));
        pool.install(|| {
            let chunks = self.average.par_chunks_mut(CHUNK).zip(parameters.par_chunks(CHUNK));
            chunks.for_each(|(average, parameters)| {
                for (average, parameter) in average.iter_mut().zip(parameters) {
                    *average += weight * (parameter - *average);
                }
            });
        });
        self.updates += 1;
    }

    /// The averaged parameters.
    pub fn average(&self) -> &[f32] {
        &self.average
    }

    /// What has to be saved for the next update to be the same.
    pub fn state(&self) -> State {
        State::from([
            // Exact up to 2²⁴ updates, after which the warm-up is long over.
            ("updates".to_string(), vec![self.updates as f32]),
            ("average".to_string(), self.average.clone()),
        ])
    }

    /// Takes over a saved state.
    pub fn restore(&mut self, state: &State) -> Result<(), StateError> {
        let mut updates = [0.0];
        restore(state, "updates", &mut updates)?;
        restore(state, "average", &mut self.average)?;
        self.updates = updates[0] as u64;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_average_follows_by_hand() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        let mut average = MovingAverage::new(&[0.0, 8.0], 0.15);
        // Update 0 has decay min(0.15, 1/10), update 1 has min(0.15, 2/11).
        average.update(&[1.0, 8.0], &pool);
        assert!((average.average()[0] - 0.9).abs() < 1e-6);
        let saved = average.state();
        average.update(&[2.0, 8.0], &pool);
        assert!((average.average()[0] - (0.15 * 0.9 + 0.85 * 2.0)).abs() < 1e-6);
        assert_eq!(average.average()[1], 8.0);

        let mut resumed = MovingAverage::new(&[0.0, 0.0], 0.15);
        resumed.restore(&saved).unwrap();
        resumed.update(&[2.0, 8.0], &pool);
        assert_eq!(resumed.average(), average.average());
    }
}
