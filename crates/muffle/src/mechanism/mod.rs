//! The private step: gradients of records are bounded, summed, and released with noise.
//!
//! Everything private leaves through few doors: [`Mechanism::release`] for sums of gradients, [`Mechanism::answer`] for
//! numbers of any other kind, [`Mechanism::report`] for records that add their own noise, and, for algorithms that nobody
//! has proved, [`Mechanism::publish`]. Each takes its noise from the bound and its stream from the receipt. Noise is drawn
//! nowhere else.
//!
//! [`Bounded`] and [`Released`] can be made only here. A bounded sum and the [receipt](crate::ledger::Receipt) of what was paid
//! for it are consumed by the release, and an optimizer takes nothing but a released gradient, so that misuse does not
//! compile. What does:
//!
//! ```
//! # use muffle::{clip::Flat, ledger::Receipt, mechanism::*, optimizer::{Optimizer, Sgd}};
//! fn step(gradients: Gradients, parameters: &mut [f32], mechanism: &Mechanism, receipt: Receipt) {
//!     let (bounded, _) = gradients.bounded(Rule::Norms(&Flat::new(1.0))).unwrap();
//!     let released = mechanism.release(bounded, 1.0, receipt);
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
//! Nothing is released that was not paid for,
//!
//! ```compile_fail,E0061
//! # use muffle::mechanism::{Bounded, Mechanism};
//! fn unpaid(bounded: Bounded, mechanism: &Mechanism) {
//!     mechanism.release(bounded, 1.0);
//! }
//! ```
//!
//! nor twice, which would show it under two draws of noise,
//!
//! ```compile_fail,E0382
//! # use muffle::{ledger::Receipt, mechanism::{Bounded, Mechanism}};
//! fn twice(bounded: Bounded, mechanism: &Mechanism, first: Receipt, second: Receipt) {
//!     mechanism.release(bounded, 1.0, first);
//!     mechanism.release(bounded, 1.0, second);
//! }
//! ```
//!
//! nor read before,
//!
//! ```compile_fail,E0599
//! # use muffle::mechanism::Bounded;
//! fn read(bounded: &Bounded) -> f32 {
//!     bounded.gradient()[0]
//! }
//! ```
//!
//! nor scaled through its engine, which it borrows,
//!
//! ```compile_fail,E0499
//! # use muffle::{clip::Flat, ledger::Receipt, mechanism::*};
//! # use muffle_nn::{Engine, Examples, Loss};
//! fn scale(engine: &mut Engine, parameters: &[f32], examples: &dyn Examples, mechanism: &Mechanism, receipt: Receipt) {
//!     let gradients =
//!         Gradients { engine: &mut *engine, parameters, examples, loss: Loss::SoftmaxCrossEntropy, seed: 0 };
//!     let (bounded, _) = gradients.bounded(Rule::Norms(&Flat::new(1.0))).unwrap();
//!     engine.for_each_chunk(&|_, chunk: &mut [f32]| chunk.iter_mut().for_each(|value| *value *= 2.0));
//!     mechanism.release(bounded, 1.0, receipt);
//! }
//! ```
//!
//! and a released gradient is not made by hand:
//!
//! ```compile_fail,E0423
//! # use muffle::mechanism::Released;
//! # use muffle_accounting::Event;
//! fn forge(engine: &mut muffle_nn::Engine) -> Released<'_> {
//!     Released { engine, event: Event::gaussian(1.0), counts: Vec::new() }
//! }
//! ```

mod bounded;
mod choice;
mod counted;
mod gradients;
mod grid;
mod local;
mod release;
mod released;
mod reports;
mod runs;
mod smooth;
mod unbounded;
mod vector;
mod written_out;

pub use bounded::Bounded;
pub use choice::{Noise, NoiseKind};
pub use counted::Count;
pub use gradients::{Gradients, Rule};
pub use local::{Reported, Reporting};
pub use released::{Released, Unprotected};
pub use unbounded::{Deviations, LaplaceNoise, Unbounded};
pub use vector::BoundedVector;

use crate::clip::{Allocation, Bounds};
use crate::noise::Key;
use muffle_accounting::Event;
use muffle_nn::Network;

/// Draws the noise of a run.
///
/// It owns the key's streams of noise and hands each out for one [receipt](crate::ledger::Receipt).
#[derive(Clone)]
pub struct Mechanism {
    key: Key,
    divisor: f32,
    allocation: Allocation,
}

impl Mechanism {
    /// A mechanism that divides every noisy sum by `divisor`: a public constant such as sample rate times nominal number
    /// of records, never the size of the batch at hand (R2).
    ///
    /// # Panics
    /// If the divisor is not a positive finite number.
    pub fn new(key: Key, divisor: f32) -> Mechanism {
        assert!(
            divisor > 0.0 && divisor.is_finite(),
            "a divisor of {divisor} is not a positive finite number"
        );
        Mechanism { key, divisor, allocation: Allocation::Flat }
    }

    /// Shares Gaussian noise among groups in another way than evenly.
    pub fn allocation(mut self, allocation: Allocation) -> Mechanism {
        self.allocation = allocation;
        self
    }

    /// The public constant that every noisy sum is divided by.
    pub fn divisor(&self) -> f64 {
        f64::from(self.divisor)
    }

    /// Standard deviation of the noise that [`release`](Mechanism::release) leaves on each tensor of the mean: public, for
    /// whoever wants to know how much of a released gradient is noise.
    pub fn deviations(&self, bounds: &Bounds, noise_multiplier: f64, network: &Network) -> Vec<f64> {
        let lens: Vec<usize> = network.parameters().iter().map(|parameter| parameter.range.len()).collect();
        let (grids, divisor) = (bounded::grids(bounds, &lens), f64::from(self.divisor));
        let deviations = bounds.deviations(self.allocation, noise_multiplier, &lens).into_iter();
        let widened = deviations.enumerate().map(|(tensor, deviation)| {
            deviation * (grids[bounds.group(tensor)].widening + grid::SUMMATION) / divisor
        });
        widened.collect()
    }
}

/// The noise on a sum of gradients is this much wider than its bound asks for, so that it covers how floating point moves a sum of so
/// many parameters beside the record (docs/floating-point.md).
pub fn widening(bound: f64, parameters: usize) -> f64 {
    grid::Grid::l2(bound, parameters).widening + grid::SUMMATION
}

/// The most that noise on a sum of gradients is wider than its bound asks for.
pub(crate) fn most_widening() -> f64 {
    grid::SHARE + grid::SUMMATION
}

/// A bound on the scale of the noise on a sum of gradients in quanta of its grid.
pub(crate) fn largest_scale(noise_multiplier: f64, parameters: usize, laplace: bool) -> f64 {
    let diagonal = if laplace { parameters as f64 } else { (parameters as f64).sqrt() };
    noise_multiplier * (1.0 + most_widening()) * grid::most_quanta(diagonal)
}

/// The largest noise multiplier that noise can have in a network of so many parameters.
pub(crate) fn largest_multiplier(parameters: usize) -> f64 {
    crate::noise::LARGEST_SCALE / largest_scale(1.0, parameters, true)
}

/// The multiplier that is left for a sum when counts of this bound are released beside it; `None` if nothing is.
///
/// # Source
/// Andrew et al. 2021: z⁻² = z_Δ⁻² + (bound/σ_b)².
pub fn share_of_sum(noise_multiplier: f64, bound: f64, count_deviation: f64) -> Option<f64> {
    let left = noise_multiplier.powi(-2) - (bound / count_deviation).powi(2);
    Some(left.powf(-0.5)).filter(|share| *share > 0.0 && share.is_finite())
}

/// The scale of noise for a bound.
///
/// # Panics
/// If the multiplier is negative or not finite, or so small that the noise would vanish: it would not be what its event says.
pub(crate) fn scale_of(noise_multiplier: f64, bound: f64) -> f64 {
    assert!(
        noise_multiplier >= 0.0 && noise_multiplier.is_finite(),
        "a noise multiplier of {noise_multiplier} is not a finite number of at least zero"
    );
    let scale = noise_multiplier * bound;
    assert!(
        scale.is_normal() || noise_multiplier == 0.0,
        "noise of scale {scale} does not fit into a number"
    );
    scale
}

/// The event of a mechanism; without noise there is none.
pub(crate) fn event(noise_multiplier: f64, mechanism: impl Fn(f64) -> Event) -> Event {
    if noise_multiplier > 0.0 { mechanism(noise_multiplier) } else { Event::NonPrivate }
}
