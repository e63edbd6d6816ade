//! Sums that are no gradients: counts, votes, vectors, matrices.

use super::grid::Grid;
use super::{Mechanism, event, scale_of};
use crate::ledger::Receipt;
use crate::noise::IntegerNoise;
use muffle_accounting::Event;

/// Numbers of which one record can move only so far. They are not private yet and show nothing of themselves.
///
/// A matrix is given row by row; of a symmetric one a triangle is enough.
#[must_use = "bounded numbers are of use only to a release"]
pub struct BoundedVector {
    values: Vec<f64>,
    norm: Norm,
    bound: f64,
}

/// The norm in which a vector is bounded, and with it the kind of its noise.
#[derive(Clone, Copy)]
enum Norm {
    L1,
    L2,
    /// At most so many numbers move, each by the bound.
    Few(u64),
}

impl BoundedVector {
    /// Numbers that one record changes by at most `bound` in L1 norm: they get Laplace noise.
    ///
    /// # Panics
    /// If the bound is not a positive finite number.
    pub fn l1(values: Vec<f64>, bound: f64) -> BoundedVector {
        BoundedVector { values, norm: Norm::L1, bound: checked(bound) }
    }

    /// Numbers that one record changes by at most `bound` in L2 norm: they get Gaussian noise.
    ///
    /// # Panics
    /// If the bound is not a positive finite number.
    pub fn l2(values: Vec<f64>, bound: f64) -> BoundedVector {
        BoundedVector { values, norm: Norm::L2, bound: checked(bound) }
    }

    /// Numbers of which one record changes at most `moved`, each by at most `bound`: they get Laplace noise, at the price of as many
    /// numbers that are released alone. For votes this is less than their L1 norm would cost.
    ///
    /// # Panics
    /// If the bound is not a positive finite number, or no number moves.
    pub fn few(values: Vec<f64>, moved: u64, bound: f64) -> BoundedVector {
        assert!(moved > 0, "a record that moves nothing needs no noise");
        BoundedVector { values, norm: Norm::Few(moved), bound: checked(bound) }
    }
}

fn checked(bound: f64) -> f64 {
    assert!(bound > 0.0 && bound.is_finite(), "a bound of {bound} is not a positive finite number");
    bound
}

impl Mechanism {
    /// Adds noise of scale `noise_multiplier` times the bound to every number: free to use from then on (R9).
    ///
    /// # Source
    /// Dwork, McSherry, Nissim and Smith 2006, "Calibrating noise to sensitivity in private data analysis".
    ///
    /// # Guarantee
    /// One Laplace or Gaussian mechanism with the given noise multiplier; the event says so. A multiplier of zero adds nothing,
    /// and its event is [`Event::NonPrivate`].
    ///
    /// # Panics
    /// If the receipt is for something else, or the noise multiplier is no number that noise can have.
    pub fn answer(
        &self,
        vector: BoundedVector,
        noise_multiplier: f64,
        receipt: Receipt,
    ) -> (Vec<f64>, Event) {
        let BoundedVector { values, norm, bound } = vector;
        let (grid, event) = match norm {
            Norm::L1 => (Grid::l1(bound, values.len()), event(noise_multiplier, Event::laplace)),
            Norm::L2 => (Grid::l2(bound, values.len()), event(noise_multiplier, Event::gaussian)),
            // Numbers that do not move are rounded alike on both sides, so that each is on a grid of its own.
            Norm::Few(moved) => {
                let released_alone = |multiplier| Event::laplace(multiplier).repeated(moved);
                (Grid::l1(bound, 1), event(noise_multiplier, released_alone))
            }
        };
        let scale = scale_of(noise_multiplier, bound * grid.widening) / grid.quantum;
        let (stream, event) = receipt.redeem(&event);
        let noise = match norm {
            Norm::L1 | Norm::Few(_) => IntegerNoise::laplace(&self.key, stream, scale),
            Norm::L2 => IntegerNoise::gaussian(&self.key, stream, scale),
        };
        (noisy(values, grid, &noise), event)
    }
}

/// Numbers on a grid with noise on the same grid.
pub(super) fn noisy(mut values: Vec<f64>, grid: Grid, noise: &IntegerNoise) -> Vec<f64> {
    values.iter_mut().for_each(|value| *value = grid.round(*value));
    noise.add(0, &mut values);
    values.iter_mut().for_each(|value| *value *= grid.quantum);
    values
}
