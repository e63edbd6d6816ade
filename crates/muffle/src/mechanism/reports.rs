//! Noise on every record's own gradient, before anything is summed.

use super::grid::Grid;
use super::written_out::{shorten, sum_bounded};
use super::{Gradients, Mechanism, Released, Unprotected, event, scale_of};
use crate::ledger::Receipt;
use crate::noise::IntegerNoise;
use muffle_accounting::Event;
use muffle_nn::Result;

/// Coordinates that get their noise at a time.
const AT_A_TIME: usize = 256;

impl Mechanism {
    /// Sums one report for each record and divides by the public constant: a record's gradient brought to the threshold, noise,
    /// and the result brought to the threshold again.
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
    /// guarantee is for `replace_one` and `zero_out`, and does not count on the noise of other records.
    ///
    /// # Panics
    /// As [`release`](Mechanism::release).
    pub fn report<'a>(
        &self,
        gradients: Gradients<'a, '_>,
        threshold: f64,
        noise_multiplier: f64,
        receipt: Receipt,
    ) -> Result<(Released<'a>, Unprotected)> {
        let event = event(noise_multiplier, Event::gaussian);
        let (stream, event) = receipt.redeem(&event);
        let grid = Grid::l2(threshold, gradients.network().parameter_len());
        let deviation = scale_of(noise_multiplier, threshold * grid.widening) / grid.quantum;
        let noise = IntegerNoise::gaussian(&self.key, stream, deviation);
        let randomise = |record: usize, gradient: &mut [f32]| {
            shorten(gradient, threshold);
            let first = record as u64 * gradient.len() as u64;
            for (part, values) in gradient.chunks_mut(AT_A_TIME).enumerate() {
                let mut totals = [0.0; AT_A_TIME];
                let totals = &mut totals[..values.len()];
                totals
                    .iter_mut()
                    .zip(&*values)
                    .for_each(|(total, value)| *total = grid.round(f64::from(*value)));
                noise.add(first + (part * AT_A_TIME) as u64, totals);
                values
                    .iter_mut()
                    .zip(totals)
                    .for_each(|(value, total)| *value = (*total * grid.quantum) as f32);
            }
            shorten(gradient, threshold);
        };
        let Gradients { engine, parameters, examples, loss, seed } = gradients;
        let work = Gradients { engine: &mut *engine, parameters, examples, loss, seed };
        let unprotected = sum_bounded(work, &randomise)?;
        for excluded in &unprotected.0.excluded {
            let mut report = vec![0.0; parameters.len()];
            randomise(excluded.example, &mut report);
            engine.for_each_chunk(&|first, chunk: &mut [f32]| {
                chunk.iter_mut().zip(&report[first..]).for_each(|(sum, value)| *sum += *value);
            });
        }
        let mut released = Released::new(engine, event);
        released.scale(1.0 / self.divisor);
        Ok((released, unprotected))
    }
}
