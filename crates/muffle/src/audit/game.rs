//! What an attacker plays.

use crate::error::Result;
use std::ops::Range;

/// Two neighbouring data sets, and what is released from either.
pub trait Game: Send {
    /// The pair, in words.
    fn name(&self) -> &str;

    /// What the attacker sees when the record is present or not, with randomness that follows from the seed.
    fn play(&mut self, present: bool, seed: u64) -> Result<Vec<f32>>;

    /// Parts of what is seen that have noise of their own, in order: the tensors.
    fn parts(&self) -> Vec<Range<usize>>;
}
