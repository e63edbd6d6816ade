//! Noise on a bounded sum of gradients.

use super::bounded::{Bound, extremes};
use super::counted::Counted;
use super::runs::{self, Runs};
use super::{Bounded, Mechanism, Released, event, share_of_sum};
use crate::ledger::Receipt;
use crate::noise::{GaussianNoise, LaplaceNoise, Stream};
use muffle_accounting::Event;
use muffle_nn::Engine;

/// Coordinates that get their noise at a time where each has a scale of its own.
const AT_A_TIME: usize = 256;

impl Mechanism {
    /// Adds noise to every coordinate, once, and divides by the public constant.
    ///
    /// The bound decides the noise. In L2 norm it is Gaussian: with one threshold C of deviation `noise_multiplier · C`, with
    /// several as the allocation says (R5), with units in proportion to them. In L1 norm it is Laplace noise of scale
    /// `noise_multiplier · C`. Counts that were taken beside the sum get their own deviation, and the sum as much as is needed
    /// for the whole to have the given multiplier.
    ///
    /// # Source
    /// Abadi et al. 2016, Algorithm 1; with units, Xu et al. 2020 (ADADP), Lemma 9 in the numbering of Li et al. 2024; with
    /// counts, Andrew et al. 2021, "Differentially private learning with adaptive clipping", section 3; Laplace noise, Dwork,
    /// McSherry, Nissim and Smith 2006.
    ///
    /// # Guarantee
    /// One Gaussian or Laplace mechanism with the given noise multiplier, whatever the number of examples, none included; the
    /// event says so. A multiplier of zero adds nothing, and its event is [`Event::NonPrivate`].
    ///
    /// # Panics
    /// If the receipt is for something else; if the multiplier is negative or not finite, or so small or large that the noise
    /// has no scale in single precision; or if the counts alone cost more than the multiplier allows: see [`share_of_sum`].
    pub fn release<'a>(&self, bounded: Bounded<'a>, noise_multiplier: f64, receipt: Receipt) -> Released<'a> {
        let Bounded { engine, bound, counted } = bounded;
        let event = match bound {
            Bound::Groups(_) | Bound::Units { .. } => event(noise_multiplier, Event::gaussian),
            Bound::L1(_) => event(noise_multiplier, Event::laplace),
        };
        let share = counted.as_ref().map_or(noise_multiplier, |counted| {
            share_of_sum(noise_multiplier, counted.bound, counted.deviation)
                .expect("the counts leave room for the sum")
        });
        let counts = counted.map_or(Vec::new(), |counted| self.noisy(counted, receipt.beside()));
        let (stream, event) = receipt.redeem(&event);
        match bound {
            Bound::Groups(bounds) => {
                let tensors = engine.network().parameters().iter();
                let lens: Vec<usize> = tensors.map(|parameter| parameter.range.len()).collect();
                let deviations = bounds.deviations(self.allocation, share, &lens);
                self.add_by_runs(engine, &self.gaussian(stream), &Runs::new(&deviations, &lens, share));
            }
            Bound::Units { units, threshold } => {
                let scale = share * threshold;
                for unit in extremes(engine, &units) {
                    runs::single(scale * f64::from(unit), share);
                }
                self.add_by_coordinate(engine, &self.gaussian(stream), runs::single(scale, share), &units);
            }
            Bound::L1(threshold) => {
                let scale = runs::single(share * threshold, share);
                let noise = LaplaceNoise::new(&self.key, stream);
                self.add(engine, &|first, chunk| noise.add(first as u64, scale, chunk));
            }
        }
        Released::new(engine, event).with_counts(counts)
    }

    pub(super) fn gaussian(&self, stream: Stream) -> GaussianNoise {
        GaussianNoise::new(&self.key, stream).draws(self.draws)
    }

    fn noisy(&self, counted: Counted, stream: Stream) -> Vec<f64> {
        let mut noise = vec![0.0f32; counted.sums.len()];
        self.gaussian(stream).add(0, counted.deviation as f32, &mut noise);
        counted.sums.iter().zip(noise).map(|(sum, noise)| sum + f64::from(noise)).collect()
    }

    /// Adds noise with the deviation of each stretch of coordinates, and divides.
    pub(super) fn add_by_runs(&self, engine: &mut Engine, noise: &GaussianNoise, runs: &Runs) {
        self.add(engine, &|first, chunk| {
            runs.within(first, chunk, |coordinate, deviation, values| {
                if deviation > 0.0 {
                    noise.add(coordinate, deviation, values);
                }
            });
        });
    }

    /// Works on the sum chunk by chunk, and divides by the public constant.
    fn add(&self, engine: &mut Engine, work: &(dyn Fn(usize, &mut [f32]) + Sync)) {
        let share = 1.0 / self.divisor;
        engine.for_each_chunk(&|first, chunk: &mut [f32]| {
            work(first, chunk);
            chunk.iter_mut().for_each(|value| *value *= share);
        });
    }

    /// Adds noise of deviation `scale` times the unit to every coordinate, and divides.
    pub(super) fn add_by_coordinate(
        &self,
        engine: &mut Engine,
        noise: &GaussianNoise,
        scale: f32,
        units: &[f32],
    ) {
        let share = 1.0 / self.divisor;
        engine.for_each_chunk(&|first, chunk: &mut [f32]| {
            let mut normals = [0.0; AT_A_TIME];
            for (part, values) in chunk.chunks_mut(AT_A_TIME).enumerate() {
                let begin = first + part * AT_A_TIME;
                let normals = &mut normals[..values.len()];
                noise.fill(begin as u64, 1.0, normals);
                let noisy = values.iter_mut().zip(normals).zip(&units[begin..]);
                noisy.for_each(|((value, normal), unit)| {
                    *value = share * (*value + scale * *unit * *normal);
                });
            }
        });
    }
}
