//! A number whose sensitivity is itself private, with noise scaled by a smooth bound on it.

use super::Mechanism;
use crate::ledger::Receipt;
use crate::noise::IntegerNoise;

/// Distance between neighbouring values.
const QUANTUM: f64 = 1.0 / 4_294_967_296.0;
/// The smallest sensitivity that noise is scaled by: so many quanta that rounding adds less than [`WIDENING`] to it. The larger of a
/// smooth bound and a constant is a smooth bound.
const SMALLEST: f64 = 1e-6;
/// What rounding adds to the sensitivity at most, as a factor.
const WIDENING: f64 = 1.0 + 4.0 * QUANTUM / SMALLEST;

impl Mechanism {
    /// Adds Gaussian noise of deviation `noise_multiplier` times a smooth bound on the sensitivity of a number.
    ///
    /// # Source
    /// Nissim, Raskhodnikova and Smith 2007, "Smooth sensitivity and sampling in private data analysis"; the price of Gaussian noise
    /// is that of [`Sanitised`](muffle_accounting::pate::Sanitised).
    ///
    /// # Guarantee
    /// That of whoever made the bound and priced the release: the receipt is for that price. What is released lies on a public grid.
    pub fn answer_smoothly(
        &self,
        value: f64,
        sensitivity: f64,
        noise_multiplier: f64,
        receipt: Receipt,
    ) -> f64 {
        let event = receipt.release().clone();
        let (stream, _) = receipt.redeem(&event);
        let deviation = sensitivity.max(SMALLEST) * WIDENING * noise_multiplier;
        let noise = IntegerNoise::gaussian(&self.key, stream, deviation / QUANTUM);
        let mut quanta = [(value / QUANTUM).round_ties_even()];
        noise.add(0, &mut quanta);
        quanta[0] * QUANTUM
    }
}
