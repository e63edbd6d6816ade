//! Noise on a bounded sum of gradients.

use super::bounded::{Bound, stretches};
use super::counted::Counted;
use super::grid::{Grid, SUMMATION};
use super::vector::noisy;
use super::{Bounded, Mechanism, Released, event, scale_of, share_of_sum};
use crate::ledger::Receipt;
use crate::noise::{IntegerNoise, Stream};
use muffle_accounting::Event;
use muffle_nn::Engine;

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
    /// If the receipt is for something else; if the multiplier is negative or not finite, or so large that no noise has such a scale; or if the counts alone cost more than the multiplier allows: see [`share_of_sum`].
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
        let noise = self.noise_by_stretch(engine, &bound, share, stream);
        engine.settle(1.0 / f64::from(self.divisor), &|first, totals| {
            let (mut coordinate, mut rest) = (first, totals);
            let begin = noise.partition_point(|(end, _)| *end <= first);
            for (end, noise) in &noise[begin..] {
                let (now, later) = rest.split_at_mut((end - coordinate).min(rest.len()));
                noise.add(coordinate as u64, now);
                (coordinate, rest) = (*end, later);
                if rest.is_empty() {
                    break;
                }
            }
        });
        Released::new(engine, event).with_counts(counts)
    }

    /// The noise of each stretch of coordinates, in quanta, with the end of the stretch.
    fn noise_by_stretch(
        &self,
        engine: &Engine,
        bound: &Bound,
        noise_multiplier: f64,
        stream: Stream,
    ) -> Vec<(usize, IntegerNoise)> {
        let scale = |bound: f64, grid: Grid| {
            scale_of(noise_multiplier, bound) * (grid.widening + SUMMATION) / grid.quantum
        };
        let gaussian = |end: usize, bound: f64, grid: Grid| {
            (end, IntegerNoise::gaussian(&self.key, stream, scale(bound, grid)))
        };
        let lens: Vec<usize> =
            engine.network().parameters().iter().map(|tensor| tensor.range.len()).collect();
        match bound {
            Bound::Groups(bounds) => {
                let deviations = bounds.deviations(self.allocation, 1.0, &lens);
                let stretches = stretches(bounds, &lens).into_iter();
                stretches.map(|(end, tensor, grid)| gaussian(end, deviations[tensor], grid)).collect()
            }
            Bound::Units { threshold } => {
                let len = lens.iter().sum();
                vec![gaussian(len, *threshold, Grid::l2(*threshold, len))]
            }
            Bound::L1(threshold) => {
                let len = lens.iter().sum();
                let scale = scale(*threshold, Grid::l1(*threshold, len));
                vec![(len, IntegerNoise::laplace(&self.key, stream, scale))]
            }
        }
    }

    fn noisy(&self, counted: Counted, stream: Stream) -> Vec<f64> {
        let grid = Grid::l2(counted.bound, counted.sums.len());
        let deviation = counted.deviation * grid.widening / grid.quantum;
        noisy(counted.sums, grid, &IntegerNoise::gaussian(&self.key, stream, deviation))
    }
}
