//! Private ranges of the columns of a table, at the price of one Laplace mechanism.
//!
//! Records are counted in the bins of a public grid of powers of two. The counts get noise, and a range goes from the first to the
//! last place of the grid where the noisy counts stand out of the noise.
//!
//! ```
//! use muffle::ledger::{Access, Ledger};
//! use muffle::{mechanism::Mechanism, noise::Key, ranges};
//! use muffle_accounting::{Adjacency, Event};
//!
//! let mut counts = ranges::Counts::new(1);
//! (0..100_000).for_each(|record| counts.add(&[Some(f64::from(record % 90))]));
//! let noise_multiplier = ranges::noise_multiplier(0.1, Adjacency::AddRemove);
//! let mechanism = Mechanism::new(Key::from_seed(1), 1.0); // a real run takes Key::from_entropy()
//! let access = Access::all(ranges::PURPOSE, 0, Event::laplace(noise_multiplier));
//! let receipt = Ledger::in_memory().pay_one(access)?; // a real run takes Ledger::open
//! let (found, _) = ranges::release(counts, noise_multiplier, &mechanism, receipt);
//! assert_eq!(found, [Some([0.0, 96.0])]);
//! # Ok::<(), muffle::Error>(())
//! ```

mod bins;
#[cfg(test)]
mod tests;

use crate::data::own::Draft;
use crate::error::Result;
use crate::ledger::{Access, Ledger, Purpose, Receipt};
use crate::mechanism::{BoundedVector, Mechanism};
use crate::noise::Key;
use bins::{BINS, QUARTERS};
use muffle_accounting::{Adjacency, Event};

/// What the ledger calls it.
pub const PURPOSE: Purpose = Purpose::new("ranges");

/// What a ledger of ranges is a ledger of.
pub const ORIGIN: &str = "muffle data ranges";

/// How likely it is at most that noise alone moves an end of one column's range outwards.
pub const FAILURE: f64 = 1e-3;

/// How many records have which numbers. Not private yet, and shows nothing of itself.
#[must_use = "counts are of use only to a release"]
pub struct Counts {
    columns: usize,
    /// The bins of the first column, then those of the next.
    counts: Vec<f64>,
}

impl Counts {
    /// No records yet, of so many columns.
    ///
    /// # Panics
    /// Without columns.
    pub fn new(columns: usize) -> Counts {
        assert!(columns > 0, "ranges of no columns");
        Counts { columns, counts: vec![0.0; columns * BINS] }
    }

    /// Counts one record by its numbers, one for each column; what is missing or not finite is not counted.
    ///
    /// # Guarantee
    /// One record changes the counts by at most the number of columns in L1 norm.
    ///
    /// # Panics
    /// If there are more or fewer numbers than columns.
    pub fn add(&mut self, numbers: &[Option<f64>]) {
        assert_eq!(numbers.len(), self.columns, "numbers of a record");
        for (counts, number) in self.counts.chunks_exact_mut(BINS).zip(numbers) {
            if let Some(number) = number.filter(|number| number.is_finite()) {
                counts[bins::bin(number)] += 1.0;
            }
        }
    }
}

/// The noise multiplier at which a [`release`] costs `epsilon` by itself.
///
/// # Guarantee
/// A record that is replaced moves the counts twice as far as one that comes, goes or is blanked.
pub fn noise_multiplier(epsilon: f64, adjacency: Adjacency) -> f64 {
    adjacency.sensitivity() / epsilon
}

/// The range of every column, `None` where too few records stand out of the noise.
///
/// An end of a range is that of the first place, coming from outside, where the noisy counts of one to four neighbouring bins within
/// a power of two add up to more than noise does: what is rarer than [`smallest_end`] records lies outside.
///
/// # Source
/// Wilson et al. 2020, "Differentially private SQL with bounded user contribution", section 5.1.1 (approximate bounds), with
/// bins of a quarter and sums of them.
///
/// # Guarantee
/// One Laplace mechanism with the given noise multiplier; the event says so. With a probability of at most [`FAILURE`] for each
/// column an end lies where there are no records.
pub fn release(
    counts: Counts,
    noise_multiplier: f64,
    mechanism: &Mechanism,
    receipt: Receipt,
) -> (Vec<Option<[f64; 2]>>, Event) {
    let Counts { columns, counts } = counts;
    let bound = columns as f64;
    let (noisy, event) = mechanism.answer(BoundedVector::l1(counts, bound), noise_multiplier, receipt);
    let thresholds = thresholds(noise_multiplier * bound);
    (noisy.chunks_exact(BINS).map(|counts| range(counts, &thresholds)).collect(), event)
}

/// About how many records at an end of a range stand out of the noise.
pub fn smallest_end(noise_multiplier: f64, columns: usize) -> f64 {
    thresholds(noise_multiplier * columns as f64)[QUARTERS - 1]
}

/// What the sum of one, two, three and four noises of this scale exceeds too rarely to matter.
///
/// # Guarantee
/// Both ends of a column look at every bin once: that any of these sums exceeds its threshold by noise alone has a probability of at
/// most [`FAILURE`]. (Chernoff: a sum of k Laplace variables of scale b exceeds t with probability at most
/// exp(-st/b) / (1 - s²)^k, for any s below 1.)
fn thresholds(scale: f64) -> [f64; QUARTERS] {
    let rarity = (2.0 * BINS as f64 / FAILURE).ln();
    std::array::from_fn(|more| {
        let least = |s: f64| (rarity - (more + 1) as f64 * (1.0 - s * s).ln()) / s;
        scale * (1..100).map(|part| least(f64::from(part) / 100.0)).fold(f64::INFINITY, f64::min)
    })
}

/// The first and the last place of one column's noisy counts that stand out.
fn range(counts: &[f64], thresholds: &[f64; QUARTERS]) -> Option<[f64; 2]> {
    let stands_out = |bins: &mut dyn Iterator<Item = usize>| {
        let mut sum = 0.0;
        bins.zip(thresholds).find_map(|(bin, threshold)| {
            sum += counts[bin];
            (sum > *threshold).then_some(bin)
        })
    };
    let low = bins::powers().find_map(|mut power| stands_out(&mut power))?;
    let high = bins::powers().rev().find_map(|power| stands_out(&mut power.rev()))?;
    let (low, high) = (bins::low(low), bins::high(high));
    // Nothing but zeros stands out: any range with a zero in it will do.
    Some(if low < high { [low, high] } else { [0.0, 1.0] })
}

/// What was found in a table.
#[derive(Debug)]
pub struct Found {
    /// Every open column, with its range if there were records enough.
    pub columns: Vec<(String, Option<[f64; 2]>)>,
    /// What was spent.
    pub event: Event,
    /// About how many records at an end of a range stand out of the noise.
    pub smallest_end: f64,
}

/// Releases the ranges that a draft leaves open, and pays for them at a ledger.
///
/// # Guarantee
/// All columns together cost `epsilon` at delta 0 under `adjacency` of the rows of the table, and are in the ledger before they are
/// released.
///
/// # Panics
/// If the draft leaves nothing open.
pub fn of_table(
    draft: &Draft,
    ledger: &mut Ledger,
    key: Key,
    epsilon: f64,
    adjacency: Adjacency,
) -> Result<Found> {
    let names = draft.open_columns();
    let mut counts = Counts::new(names.len());
    draft.numbers(|numbers| counts.add(numbers))?;
    let noise_multiplier = noise_multiplier(epsilon, adjacency);
    let smallest_end = smallest_end(noise_multiplier, names.len());
    // A draft may be filled in several times: every time is an access of its own.
    let number = ledger.entries().iter().map(|entry| entry.to).max().unwrap_or(0);
    let receipt = ledger.pay_one(Access::all(PURPOSE, number, Event::laplace(noise_multiplier)))?;
    let (ranges, event) = release(counts, noise_multiplier, &Mechanism::new(key, 1.0), receipt);
    Ok(Found { columns: names.into_iter().zip(ranges).collect(), event, smallest_end })
}
