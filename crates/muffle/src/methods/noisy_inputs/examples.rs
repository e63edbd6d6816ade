//! Records as the published forms see them.

use crate::mechanism::LaplaceNoise;
use muffle_nn::{Examples, Target};

/// Records moved into the range that the paper assumes, with noise on their inputs.
pub struct Noisy<'a> {
    /// The records.
    pub examples: &'a dyn Examples,
    /// Where inputs may lie.
    pub range: [f32; 2],
    /// The scale of the noise on each input; none if empty.
    pub scales: &'a [f64],
    /// Where noise comes from.
    pub draws: &'a LaplaceNoise,
    /// Whether all records take the same noise, or each its own.
    pub shared: bool,
}

impl Examples for Noisy<'_> {
    fn len(&self) -> usize {
        self.examples.len()
    }

    fn read(&self, index: usize, input: &mut [f32]) {
        self.examples.read(index, input);
        let [low, high] = self.range;
        input.iter_mut().for_each(|value| *value = value.clamp(low, high));
        let record = if self.shared { 0 } else { self.examples.identity(index) };
        let mut noise = vec![0.0; self.scales.len()];
        self.draws.fill(record * input.len() as u64, 1.0, &mut noise);
        for ((value, noise), scale) in input.iter_mut().zip(noise).zip(self.scales) {
            *value += (scale * noise) as f32;
        }
    }

    fn target(&self, index: usize) -> Target<'_> {
        self.examples.target(index)
    }

    fn weight(&self, index: usize) -> f32 {
        self.examples.weight(index)
    }

    fn identity(&self, record: usize) -> u64 {
        self.examples.identity(record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mechanism::Mechanism;
    use crate::noise::Key;
    use muffle_nn::Batch;

    /// Records of one batch share their noise, or each has its own, the same whenever it is read.
    #[test]
    fn noise_is_shared_or_each_records_own() {
        let batch = Batch::new(vec![0.2, 0.9, 5.0, -5.0], vec![0, 1]);
        let draws = Mechanism::new(Key::from_seed(4), 1.0).published_once();
        let read = |shared: bool, index: usize| {
            let noisy =
                Noisy { examples: &batch, range: [0.0, 1.0], scales: &[2.0, 3.0], draws: &draws, shared };
            let mut input = [0.0; 2];
            noisy.read(index, &mut input);
            input
        };
        let mut noise = [0.0; 4];
        draws.fill(0, 1.0, &mut noise);
        let near = |found: [f32; 2], expected: [f64; 2]| {
            found.iter().zip(expected).all(|(found, expected)| (f64::from(*found) - expected).abs() < 1e-5)
        };
        assert!(near(read(true, 0), [0.2 + 2.0 * noise[0], 0.9 + 3.0 * noise[1]]));
        assert!(near(read(true, 1), [1.0 + 2.0 * noise[0], 3.0 * noise[1]]), "moved into the range first");
        assert!(near(read(false, 1), [1.0 + 2.0 * noise[2], 3.0 * noise[3]]));
    }
}
