//! A share of some records, and how sure it is.

use crate::bounds::interval;
use serde::Serialize;

/// A share of so many records, with the interval of Clopper and Pearson at a confidence of 95 %.
///
/// The interval says how far the share may be from that of all records there could be, if these are a random sample of them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Share {
    /// The share.
    pub share: f64,
    /// Where the rate behind it lies.
    pub interval: [f64; 2],
    /// Of how many.
    pub of: u64,
}

impl Share {
    /// So many of so many; `None` of none.
    pub fn new(part: u64, of: u64) -> Option<Share> {
        (of > 0).then(|| Share { share: part as f64 / of as f64, interval: interval(part, of), of })
    }
}
