//! Squared norms from Gram matrices, made safe against cancellation.
//!
//! The gradient of an example is a sum of outer products `Σ_p x_p ⊗ u_p` of inputs and upstream gradients, and its squared norm
//! is `Σ_pq (x_p · x_q) (u_p · u_q)`. Where the terms cancel, the norm comes out of differences of large numbers, and single
//! precision could report one far below the truth; whoever clips by it would let too much through. So all that rounding can
//! have taken away is added.

use crate::kernel::matrix::{Matrix, product};
use crate::rounding::{FAINT, SMALL_GROUP, of_terms, told};

/// Terms of a sum that are added up in single precision before the next ones.
const BLOCK: usize = 128;

/// A rounding to single precision, relative.
const ROUNDING: f64 = 1.0 / (1 << 24) as f64;

/// What underflow can take from one term of an inner product, by [`ROUNDING`]: 2^-149 over 2^-24.
const VANISHING: f64 = 2.0 * f32::MIN_POSITIVE as f64;

/// Roundings that a term of a sum of `terms` can meet when it is taken in blocks: in any order inside a block, and then block
/// after block.
pub(super) fn roundings(terms: usize) -> usize {
    terms.min(BLOCK) + terms.div_ceil(BLOCK)
}

/// `output = rows · rowsᵀ`, in blocks.
pub(super) fn gram(rows: Matrix, output: &mut [f32], count: usize) {
    for (block, columns) in rows.blocks_of_columns(BLOCK).enumerate() {
        product(columns, columns.transposed(), block > 0, output, count);
    }
}

/// `output += leftᵀ · right`, in blocks; `left` and `right` have as many rows.
pub(super) fn add_outer_products(left: Matrix, right: Matrix, output: &mut [f32], width: usize) {
    let blocks = left.transposed().blocks_of_columns(BLOCK).zip(right.transposed().blocks_of_columns(BLOCK));
    for (left, right) in blocks {
        product(left, right.transposed(), true, output, width);
    }
}

/// Roundings that a term meets in [`add_outer_products`] over the positions of a whole group. A block of one or two terms is added
/// term by term, so that what is there meets two roundings.
pub(super) fn roundings_of_terms(positions: usize) -> usize {
    of_terms(positions, BLOCK) + SMALL_GROUP * positions.div_ceil(BLOCK)
}

/// The most that the norm of a gradient can be, `Σ_p |x_p| |u_p|`, term by term: what its terms weigh.
#[derive(Clone, Copy, Default)]
pub(super) struct Size(f64);

impl Size {
    /// Takes in one position: `x_p · x_p` and `u_p · u_p` as they were computed.
    pub fn add(&mut self, input: f32, upstream: f32) {
        let length = |square: f32| (f64::from(square) + VANISHING).sqrt() + FAINT;
        self.0 += length(input) * length(upstream);
    }

    /// A squared norm that is not too small, from the sum of products of Gram entries.
    ///
    /// `entries` are the roundings of an entry of both Gram matrices together, `gradient` those of a value of the gradient that
    /// is then summed alone, and `terms` those of a term in the sum of a group.
    ///
    /// # Guarantee
    /// The result is at least the squared norm of the gradient that is then summed, up to a relative 1e-6, and what is
    /// [told](crate::rounding::told) of terms that weigh as much.
    ///
    /// An entry with r roundings is off by at most `r·2^-24·|x_p||x_q|`, and by `2^-149` for every product that vanishes, which
    /// the lengths in [`Size::add`] make up for: `√((a + e)(b + e)) ≥ √(ab) + e`. So the sum is off by `entries·2^-24·size²`,
    /// products of two roundings aside. The gradient that is summed differs from the true one by a vector of at most
    /// `gradient·2^-24·size`, and the square of its norm by twice that times the size.
    pub fn guard(self, sum: f64, entries: usize, gradient: usize, terms: usize) -> f64 {
        // A comparison that NaN passes.
        let sum = if sum < 0.0 { 0.0 } else { sum };
        let guarded = sum + (entries + 2 * gradient + 2) as f64 * ROUNDING * self.0 * self.0;
        told(guarded, terms as f64 * self.0)
    }
}
