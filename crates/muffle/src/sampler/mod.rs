//! Samplers: which records take part in a step, and what that is worth to the accountant.

mod balls_and_bins;
mod charges;
mod choice;
mod fixed_size;
mod partition;
mod poisson;
mod reshuffled;

pub use balls_and_bins::BallsAndBins;
pub use charges::Charges;
pub use choice::SamplerChoice;
pub use fixed_size::FixedSize;
pub use poisson::Poisson;
pub use reshuffled::Reshuffled;

use muffle_accounting::Event;

/// Chooses the records of every step.
///
/// # Guarantee
/// What is drawn depends on the key, the public parameters and the step only, so that a resumed run draws what an
/// uninterrupted one would; and [`amplify`](Sampler::amplify) names the sampling that [`draw`](Sampler::draw) does (R3).
pub trait Sampler {
    /// Positions of the records that take part in a step, in increasing order.
    fn draw(&mut self, step: u64) -> Vec<usize>;

    /// What [`period`](Sampler::period) steps cost that each release `event`.
    fn amplify(&self, event: Event) -> Event;

    /// Number of steps that are charged together: one, or those of an epoch for samplers that deal out every record once.
    fn period(&self) -> u64 {
        1
    }
}
