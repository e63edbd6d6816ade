//! The private step: per-example gradients are clipped, summed, and released with noise.
//!
//! [`Clipped`] and [`Released`] can be made only here. A clipped sum is consumed by its release, and an optimizer takes
//! nothing but a released gradient, so that misuse does not compile. What does:
//!
//! ```
//! # use muffle::{clip::Flat, mechanism::*, noise::Key, optimizer::{Optimizer, Sgd}};
//! # use muffle_nn::{Engine, Examples, Loss};
//! fn step(engine: &mut Engine, parameters: &mut [f32], examples: &dyn Examples, mechanism: &mut Mechanism) {
//!     let (clipped, _) =
//!         clip(engine, parameters, examples, Loss::SoftmaxCrossEntropy, 0, &Flat::new(1.0)).unwrap();
//!     let (released, _) = mechanism.release(clipped, 1.0);
//!     Sgd::new(parameters.len()).step(parameters, &released, 0.1);
//! }
//! ```
//!
//! An optimizer does not take a raw gradient:
//!
//! ```compile_fail,E0308
//! # use muffle::optimizer::{Optimizer, Sgd};
//! # use muffle_nn::Engine;
//! fn step(engine: &Engine, parameters: &mut [f32]) {
//!     Sgd::new(parameters.len()).step(parameters, engine.gradient(), 0.1);
//! }
//! ```
//!
//! A clipped sum is not released twice, which would show it under two draws of noise for the price of one:
//!
//! ```compile_fail,E0382
//! # use muffle::mechanism::{Clipped, Mechanism};
//! fn twice(clipped: Clipped, mechanism: &mut Mechanism) {
//!     mechanism.release(clipped, 1.0);
//!     mechanism.release(clipped, 1.0);
//! }
//! ```
//!
//! nor read,
//!
//! ```compile_fail,E0599
//! # use muffle::mechanism::Clipped;
//! fn read(clipped: &Clipped) -> f32 {
//!     clipped.gradient()[0]
//! }
//! ```
//!
//! nor scaled through its engine, which it borrows,
//!
//! ```compile_fail,E0499
//! # use muffle::{clip::Flat, mechanism::*};
//! # use muffle_nn::{Engine, Examples, Loss};
//! fn scale(engine: &mut Engine, parameters: &[f32], examples: &dyn Examples, mechanism: &mut Mechanism) {
//!     let (clipped, _) =
//!         clip(engine, parameters, examples, Loss::SoftmaxCrossEntropy, 0, &Flat::new(1.0)).unwrap();
//!     engine.for_each_chunk(&|_, chunk: &mut [f32]| chunk.iter_mut().for_each(|value| *value *= 2.0));
//!     mechanism.release(clipped, 1.0);
//! }
//! ```
//!
//! nor clipped by one rule and released as if by another,
//!
//! ```compile_fail,E0308
//! # use muffle::mechanism::{Clipped, Mechanism};
//! fn laplace(clipped: Clipped, mechanism: &mut Mechanism) {
//!     mechanism.release_laplace(clipped, 1.0);
//! }
//! ```
//!
//! and a released gradient is not made by hand:
//!
//! ```compile_fail,E0451
//! # use muffle::mechanism::Released;
//! fn forge(engine: &muffle_nn::Engine) -> Released<'_> {
//!     Released { engine }
//! }
//! ```

mod answer;
mod clipped;
mod clipped_box;
mod clipped_in_units;
mod clipped_l1;
mod counted;
mod published;
mod reports;
mod runs;
mod written_out;

pub use clipped::{Clipped, clip, clip_hooked};
pub use clipped_box::{clip_box, clip_written_out};
pub use clipped_in_units::{ClippedInUnits, clip_in_units};
pub use clipped_l1::{ClippedL1, clip_l1};
pub use counted::{Count, Counted, clip_and_count};
pub use published::{Unbounded, visit_unbounded, weigh_unbounded};
pub use reports::{Randomiser, Reports};

use crate::clip::{Allocation, Bounds};
use crate::noise::{GaussianNoise, Key, LaplaceNoise, Purpose, Stream};
use muffle_accounting::Event;
use muffle_nn::{Engine, Network, Outcome};
use runs::Runs;

/// What was computed on the way and is **not** private: the loss and the examples left out.
///
/// It is for whoever holds the records. Publishing it, or steering training by it, is outside every guarantee (R6).
#[derive(Debug)]
pub struct Unprotected(pub Outcome);

/// A gradient that went through noise: free to use (R9).
pub struct Released<'a> {
    engine: &'a mut Engine,
}

impl Released<'_> {
    /// The noisy mean gradient.
    pub fn gradient(&self) -> &[f32] {
        self.engine.gradient()
    }

    /// Scales the gradient, for instance back to a length: post-processing (R9).
    pub fn scale(&mut self, factor: f32) {
        self.engine
            .for_each_chunk(&|_, chunk: &mut [f32]| chunk.iter_mut().for_each(|value| *value *= factor));
    }

    /// The threads that made it, for the work behind it.
    pub fn pool(&self) -> &rayon::ThreadPool {
        self.engine.pool()
    }
}

/// Draws the noise of a run, step by step.
///
/// It owns the key's noise streams and counts the steps, so that no stream is used for two releases.
pub struct Mechanism {
    key: Key,
    divisor: f32,
    allocation: Allocation,
    draws: u32,
    next_step: u64,
}

impl Mechanism {
    /// A mechanism that divides every noisy sum by `divisor`: a public constant such as sample rate times nominal number
    /// of records, never the size of the batch at hand (R2).
    ///
    /// The key must not be given to a second mechanism.
    ///
    /// # Panics
    /// If the divisor is not a positive finite number.
    pub fn new(key: Key, divisor: f32) -> Mechanism {
        assert!(
            divisor > 0.0 && divisor.is_finite(),
            "a divisor of {divisor} is not a positive finite number"
        );
        Mechanism { key, divisor, allocation: Allocation::Flat, draws: 1, next_step: 0 }
    }

    /// Shares Gaussian noise among groups in another way than evenly.
    pub fn allocation(mut self, allocation: Allocation) -> Mechanism {
        self.allocation = allocation;
        self
    }

    /// Makes every Gaussian number the sum of several, against attacks on its low bits: see
    /// [`GaussianNoise::draws`](crate::noise::GaussianNoise::draws).
    ///
    /// One draw is the default: where a network has many dense weights, a second one costs more than three per cent of a
    /// step (the example `draws` measures it).
    ///
    /// # Panics
    /// If `draws` is zero.
    pub fn draws(mut self, draws: u32) -> Mechanism {
        assert!(draws > 0, "noise needs at least one draw");
        self.draws = draws;
        self
    }

    /// Continues a run whose next step is `step`.
    pub fn resumed_at(mut self, step: u64) -> Mechanism {
        self.next_step = step;
        self
    }

    /// The step of the next release; each release counts one on.
    pub fn next_step(&self) -> u64 {
        self.next_step
    }

    /// Standard deviation of the noise that [`release`](Mechanism::release) leaves on each tensor of the mean: public, for
    /// whoever wants to know how much of a released gradient is noise.
    pub fn deviations(&self, bounds: &Bounds, noise_multiplier: f64, network: &Network) -> Vec<f64> {
        let lens: Vec<usize> = network.parameters().iter().map(|parameter| parameter.range.len()).collect();
        let deviations = bounds.deviations(self.allocation, noise_multiplier, &lens);
        deviations.into_iter().map(|deviation| deviation / f64::from(self.divisor)).collect()
    }

    /// Adds Gaussian noise to every coordinate, once, and divides by the public constant.
    ///
    /// With one threshold C the standard deviation is `noise_multiplier · C`; with several, the allocation decides (R5).
    ///
    /// # Source
    /// Abadi et al. 2016, Algorithm 1.
    ///
    /// # Guarantee
    /// One Gaussian mechanism with the given noise multiplier, whatever the number of examples, none included; the event
    /// says so. A multiplier of zero adds nothing, and its event is [`Event::NonPrivate`].
    ///
    /// # Panics
    /// If the multiplier is negative or not finite, or so small or large that the noise has no standard deviation in
    /// single precision.
    pub fn release<'a>(&mut self, clipped: Clipped<'a>, noise_multiplier: f64) -> (Released<'a>, Event) {
        let (engine, bounds) = clipped.into_parts();
        let lens: Vec<usize> =
            engine.network().parameters().iter().map(|parameter| parameter.range.len()).collect();
        let deviations = bounds.deviations(self.allocation, noise_multiplier, &lens);
        let runs = Runs::new(&deviations, &lens, noise_multiplier);
        let stream = self.next_stream();
        let noise = GaussianNoise::new(&self.key, stream).draws(self.draws);
        let share = 1.0 / self.divisor;
        engine.for_each_chunk(&|first, chunk: &mut [f32]| {
            runs.within(first, chunk, |coordinate, deviation, values| {
                noise.add(coordinate, deviation, values);
            });
            chunk.iter_mut().for_each(|value| *value *= share);
        });
        (Released { engine }, event(noise_multiplier, Event::gaussian))
    }

    /// Releases a clipped sum together with counts of the same records, as one Gaussian mechanism.
    ///
    /// The counts get noise of standard deviation `count_deviation`; the sum gets as much as is needed for the whole to
    /// have the given multiplier.
    ///
    /// # Source
    /// Andrew et al. 2021, "Differentially private learning with adaptive clipping", section 3.
    ///
    /// # Guarantee
    /// Scaled by their deviations, sum and counts together move by at most 1/`noise_multiplier`: one Gaussian mechanism
    /// with that multiplier.
    ///
    /// # Panics
    /// As [`release`](Mechanism::release), or if the counts alone cost more than the multiplier allows: see
    /// [`share_of_sum`].
    pub fn release_with_counts<'a>(
        &mut self,
        clipped: Clipped<'a>,
        counted: Counted,
        noise_multiplier: f64,
        count_deviation: f64,
    ) -> (Released<'a>, Vec<f64>, Event) {
        let share = share_of_sum(noise_multiplier, counted.bound, count_deviation)
            .expect("the counts leave room for the sum");
        // The first stream of statistics belongs to what comes before training.
        let stream = Stream::new(Purpose::StatisticNoise, self.next_step + 1);
        let mut noise = vec![0.0f32; counted.sums.len()];
        GaussianNoise::new(&self.key, stream).draws(self.draws).add(0, count_deviation as f32, &mut noise);
        let counts = counted.sums.iter().zip(noise).map(|(sum, noise)| sum + f64::from(noise)).collect();
        let (released, _) = self.release(clipped, share);
        (released, counts, Event::gaussian(noise_multiplier))
    }

    /// Adds noise of a scale that nobody vouches for, as a paper prints it, and divides by the public constant.
    ///
    /// # Guarantee
    /// None: the event is the claim that is given, and its price is infinite.
    ///
    /// # Panics
    /// If the claim is not one.
    pub fn publish<'a>(
        &mut self,
        sum: Unbounded<'a>,
        deviations: &[f32],
        claim: Event,
    ) -> (Released<'a>, Event) {
        assert!(matches!(claim, Event::Claimed { .. }), "an unproved release is a claim");
        let engine = sum.engine;
        let ends: Vec<usize> = engine.network().parameters().iter().map(|tensor| tensor.range.end).collect();
        let stream = self.next_stream();
        let noise = GaussianNoise::new(&self.key, stream).draws(self.draws);
        let share = 1.0 / self.divisor;
        engine.for_each_chunk(&|first, chunk: &mut [f32]| {
            let (mut begin, last) = (first, first + chunk.len());
            while begin < last {
                let tensor = ends.partition_point(|end| *end <= begin);
                let end = ends[tensor].min(last);
                let values = &mut chunk[begin - first..end - first];
                if deviations[tensor] > 0.0 {
                    noise.add(begin as u64, deviations[tensor], values);
                }
                begin = end;
            }
            chunk.iter_mut().for_each(|value| *value *= share);
        });
        (Released { engine }, claim)
    }

    /// Noise of the next release, for papers that add it to every example; example `e` takes its coordinates from
    /// `e` times the number of parameters on.
    pub fn published_noise(&self) -> GaussianNoise {
        GaussianNoise::new(&self.key, Stream::new(Purpose::StatisticNoise, self.next_step + 1))
    }

    /// Adds Laplace noise of scale `noise_multiplier` times the threshold to every coordinate, once, and divides by the
    /// public constant.
    ///
    /// # Source
    /// Dwork, McSherry, Nissim and Smith 2006, "Calibrating noise to sensitivity in private data analysis".
    ///
    /// # Guarantee
    /// One Laplace mechanism with the given noise multiplier, whatever the number of examples, none included; the event
    /// says so. A multiplier of zero adds nothing, and its event is [`Event::NonPrivate`].
    ///
    /// # Panics
    /// As [`release`](Mechanism::release).
    pub fn release_laplace<'a>(
        &mut self,
        clipped: ClippedL1<'a>,
        noise_multiplier: f64,
    ) -> (Released<'a>, Event) {
        let (engine, threshold) = clipped.into_parts();
        let scale = runs::single(noise_multiplier * threshold, noise_multiplier);
        let stream = self.next_stream();
        let noise = LaplaceNoise::new(&self.key, stream);
        let share = 1.0 / self.divisor;
        engine.for_each_chunk(&|first, chunk: &mut [f32]| {
            noise.add(first as u64, scale, chunk);
            chunk.iter_mut().for_each(|value| *value *= share);
        });
        (Released { engine }, event(noise_multiplier, Event::laplace))
    }

    fn next_stream(&mut self) -> Stream {
        let stream = Stream::new(Purpose::GradientNoise, self.next_step);
        self.next_step += 1;
        stream
    }
}

/// The multiplier that is left for a sum when counts of this bound are released beside it; `None` if nothing is.
///
/// # Source
/// Andrew et al. 2021: z⁻² = z_Δ⁻² + (bound/σ_b)².
pub fn share_of_sum(noise_multiplier: f64, bound: f64, count_deviation: f64) -> Option<f64> {
    let left = noise_multiplier.powi(-2) - (bound / count_deviation).powi(2);
    Some(left.powf(-0.5)).filter(|share| *share > 0.0 && share.is_finite())
}

/// The event of a mechanism; without noise there is none.
pub(crate) fn event(noise_multiplier: f64, mechanism: impl Fn(f64) -> Event) -> Event {
    if noise_multiplier > 0.0 { mechanism(noise_multiplier) } else { Event::NonPrivate }
}

#[cfg(test)]
impl<'a> Released<'a> {
    /// A gradient made up for a test of what comes after release.
    pub(crate) fn made_up(engine: &'a mut Engine) -> Released<'a> {
        Released { engine }
    }
}
