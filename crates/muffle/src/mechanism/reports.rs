//! Noise on every record's own gradient, before anything is summed.

use super::written_out::{shorten, sum_bounded};
use super::{Mechanism, Released, Unprotected, event, runs};
use crate::noise::GaussianNoise;
use muffle_accounting::Event;
use muffle_nn::{Engine, Examples, Loss, Result};

/// Turns each record's gradient into a noisy report.
pub struct Randomiser {
    noise: GaussianNoise,
    threshold: f64,
    noise_multiplier: f64,
}

/// A sum of noisy reports, one for each record.
#[must_use = "reports are of use only to a release"]
pub struct Reports<'a> {
    engine: &'a mut Engine,
    noise_multiplier: f64,
}

impl Randomiser {
    /// Sums one report for each record: its gradient brought to the threshold, noise, and the result brought to the threshold
    /// again.
    ///
    /// Every gradient is written out: the engine has to be one for [`Purpose::Plain`](muffle_nn::Purpose::Plain).
    ///
    /// # Source
    /// Lin et al. 2020, equations 16 to 18, with a clip before the noise.
    ///
    /// # Guarantee
    /// A report is a Gaussian mechanism of its record alone: two gradients within the threshold are at most two thresholds
    /// apart, and one is at most one threshold from zero. A record whose gradient is not finite reports as the zero
    /// gradient does, so that the number of reports is the number of records. That number is therefore public: the
    /// guarantee is for `replace_one` and `zero_out`.
    pub fn reports<'a>(
        self,
        engine: &'a mut Engine,
        parameters: &[f32],
        examples: &dyn Examples,
        loss: Loss,
        seed: u64,
    ) -> Result<(Reports<'a>, Unprotected)> {
        let Randomiser { noise, threshold, noise_multiplier } = self;
        let deviation = runs::single(noise_multiplier * threshold, noise_multiplier);
        let randomise = |record: usize, gradient: &mut [f32]| {
            shorten(gradient, threshold);
            noise.add(record as u64 * gradient.len() as u64, deviation, gradient);
            shorten(gradient, threshold);
        };
        let unprotected = sum_bounded(engine, parameters, examples, loss, seed, &randomise)?;
        for excluded in &unprotected.0.excluded {
            let mut report = vec![0.0; parameters.len()];
            randomise(excluded.example, &mut report);
            engine.for_each_chunk(&|first, chunk: &mut [f32]| {
                chunk.iter_mut().zip(&report[first..]).for_each(|(sum, value)| *sum += *value);
            });
        }
        Ok((Reports { engine, noise_multiplier }, unprotected))
    }
}

impl Mechanism {
    /// The noise of the next release, for every record of a step; it counts one step on.
    pub fn randomiser(&mut self, threshold: f64, noise_multiplier: f64) -> Randomiser {
        let stream = self.next_stream();
        let noise = GaussianNoise::new(&self.key, stream).draws(self.draws);
        Randomiser { noise, threshold, noise_multiplier }
    }

    /// Divides a sum of reports by the public constant.
    ///
    /// # Guarantee
    /// As one Gaussian mechanism with the reports' multiplier, under `replace_one` and `zero_out`: the noise of the other
    /// records is not counted on.
    pub fn release_reports<'a>(&self, reports: Reports<'a>) -> (Released<'a>, Event) {
        let Reports { engine, noise_multiplier } = reports;
        let mut released = Released { engine };
        released.scale(1.0 / self.divisor);
        (released, event(noise_multiplier, Event::gaussian))
    }
}
