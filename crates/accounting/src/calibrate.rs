//! From a budget to the parameter that uses it up.
//!
//! Every search works for any accountant and any function from the parameter to an event. It ends on the private
//! side: the returned value has been priced, and its epsilon does not exceed the target.

use crate::error::{AccountingError, check_delta};
use crate::pricing::Accountant;
use crate::rdp::Rdp;
use crate::{Adjacency, Event};

/// The guarantee to reach.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Target {
    /// Largest acceptable epsilon.
    pub epsilon: f64,
    /// At this delta.
    pub delta: f64,
    /// Under this neighbouring relation.
    pub adjacency: Adjacency,
}

impl Target {
    pub(crate) fn check(&self) -> Result<(), AccountingError> {
        check_delta(self.delta)?;
        if self.epsilon > 0.0 && self.epsilon.is_finite() {
            Ok(())
        } else {
            Err(AccountingError::out_of_range("epsilon", self.epsilon, "greater than 0"))
        }
    }
}

/// A value that meets the target, and what it was priced at.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Calibrated<Value> {
    /// The parameter.
    pub value: Value,
    /// Its epsilon: at most the target.
    pub epsilon: f64,
}

/// The search stops when the price is within this share of the target.
const CLOSE_ENOUGH: f64 = 2e-4;
/// Prices tried at most.
const MOST_TRIALS: u32 = 120;

/// The smallest noise (or the smallest factor on a whole noise schedule) that meets the target.
///
/// `event` maps a noise multiplier, or a scale factor, to what would run.
///
/// ```
/// use muffle_accounting::{Adjacency, Event, calibrate, rdp::Rdp};
/// let target = calibrate::Target { epsilon: 3.0, delta: 1e-5, adjacency: Adjacency::AddRemove };
/// let train = |noise: f64| Event::gaussian(noise).poisson_sampled(0.01).repeated(1_000);
/// let noise = calibrate::noise_multiplier(&Rdp, &target, train).unwrap();
/// assert!(noise.epsilon <= 3.0);
/// ```
pub fn noise_multiplier(
    accountant: &dyn Accountant,
    target: &Target,
    event: impl Fn(f64) -> Event,
) -> Result<Calibrated<f64>, AccountingError> {
    // In terms of the inverse, more of the parameter costs more, as for the other searches.
    let search = Search {
        parameter: "noise multiplier",
        range: "[0.001, 1e8]",
        lowest: 1e-8,
        highest: 1e3,
        whole: false,
    };
    let found = search.largest(accountant, target, &|precision| event(1.0 / precision))?;
    Ok(Calibrated { value: 1.0 / found.value, epsilon: found.epsilon })
}

/// The largest sample rate that meets the target.
pub fn sample_rate(
    accountant: &dyn Accountant,
    target: &Target,
    event: impl Fn(f64) -> Event,
) -> Result<Calibrated<f64>, AccountingError> {
    let search =
        Search { parameter: "sample rate", range: "[1e-12, 1]", lowest: 1e-12, highest: 1.0, whole: false };
    search.largest(accountant, target, &event)
}

/// The largest number of steps that meets the target. Up to a few thousand it is exact; beyond that it may stop
/// short by a few steps in ten thousand.
pub fn steps(
    accountant: &dyn Accountant,
    target: &Target,
    event: impl Fn(u64) -> Event,
) -> Result<Calibrated<u64>, AccountingError> {
    let search =
        Search { parameter: "number of steps", range: "[1, 1e15]", lowest: 1.0, highest: 1e15, whole: true };
    let found = search.largest(accountant, target, &|steps| event(steps as u64))?;
    Ok(Calibrated { value: found.value as u64, epsilon: found.epsilon })
}

/// A search for the largest affordable value of a parameter that costs more the larger it is.
struct Search {
    parameter: &'static str,
    range: &'static str,
    lowest: f64,
    highest: f64,
    whole: bool,
}

impl Search {
    fn largest(
        &self,
        accountant: &dyn Accountant,
        target: &Target,
        event: &dyn Fn(f64) -> Event,
    ) -> Result<Calibrated<f64>, AccountingError> {
        target.check()?;
        let price = |accountant: &dyn Accountant, value: f64| {
            accountant.epsilon(&event(value), target.adjacency, target.delta).map(|price| price.epsilon)
        };
        // Rényi prices take microseconds: use them to find the neighbourhood, and a slope.
        let start = match price(&Rdp, 1.0) {
            Ok(_) => self.refine(target, 1.0, 0.02, &|value| price(&Rdp, value)).ok(),
            Err(_) => None,
        };
        self.refine(target, start.map_or(1.0, |found| found.value), CLOSE_ENOUGH, &|value| {
            price(accountant, value)
        })
    }

    fn refine(
        &self,
        target: &Target,
        start: f64,
        close_enough: f64,
        price: &dyn Fn(f64) -> Result<f64, AccountingError>,
    ) -> Result<Calibrated<f64>, AccountingError> {
        let rounded =
            |value: f64| if self.whole { value.floor() } else { value }.clamp(self.lowest, self.highest);
        let mut affordable: Option<(f64, f64)> = None;
        let mut too_much: Option<(f64, f64)> = None;
        let mut value = rounded(start);
        let mut factor = 1.15;
        for trial in 1..=MOST_TRIALS {
            let epsilon = price(value)?;
            if epsilon <= target.epsilon {
                affordable = Some((value, epsilon));
                if value == self.highest || epsilon >= target.epsilon * (1.0 - close_enough) {
                    break;
                }
            } else {
                too_much = Some((value, epsilon));
                if value == self.lowest {
                    break;
                }
            }
            value = match (affordable, too_much) {
                (Some(low), Some(high)) => {
                    if (self.whole && high.0 - low.0 <= (2e-4 * low.0).max(1.0))
                        || high.0 <= low.0 * (1.0 + 1e-9)
                    {
                        break;
                    }
                    rounded(between(low, high, target.epsilon * (1.0 - 0.3 * close_enough), trial))
                        .max(if self.whole { low.0 + 1.0 } else { low.0 })
                        .min(if self.whole { high.0 - 1.0 } else { high.0 })
                }
                (Some(low), None) => {
                    // Epsilon grows at least like a root of most parameters: a ratio of prices hints at the way to go.
                    let hint = (target.epsilon / low.1.max(1e-300)).min(4.0);
                    factor = f64::max(factor * factor, hint).min(1e3);
                    rounded((low.0 * factor).max(if self.whole { low.0 + 1.0 } else { 0.0 }))
                }
                (None, Some(high)) => {
                    factor = (factor * factor).min(1e3);
                    rounded(high.0 / factor)
                }
                (None, None) => value,
            };
        }
        match affordable {
            Some((value, epsilon)) => Ok(Calibrated { value, epsilon }),
            None => Err(AccountingError::Unreachable {
                parameter: self.parameter,
                range: self.range,
                epsilon: target.epsilon,
                delta: target.delta,
                detail: format!(
                    "the cheapest value costs {:.4}",
                    too_much.map_or(f64::INFINITY, |high| high.1)
                ),
            }),
        }
    }
}

/// A point between an affordable and a too expensive value: by interpolation of the logarithms, and every third
/// time by halving, which no shape of the curve can defeat.
fn between(low: (f64, f64), high: (f64, f64), goal: f64, trial: u32) -> f64 {
    let halves = (low.0 * high.0).sqrt();
    if trial.is_multiple_of(3) || low.1 <= 0.0 || !high.1.is_finite() {
        return halves;
    }
    let share = (goal / low.1).ln() / (high.1 / low.1).ln();
    let point = low.0 * (high.0 / low.0).powf(share.clamp(0.01, 0.99));
    if point.is_finite() { point } else { halves }
}
