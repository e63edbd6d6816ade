//! How far rounding may move a sum of gradients: what layers keep to, so that a bound on every record bounds it.
//!
//! A sum over a group of records is rounded before and after one record comes. Where the gradient of a record is a vector of its own,
//! rounding is a part of its norm. Where the terms of several records and positions are summed in one product, it is a part of what
//! the terms weigh, and terms that cancel can weigh far more than the gradient; their weight then limits the record as its norm does.
//! docs/floating-point.md has the whole argument.

/// Most records in a group. Rounding within a group grows with its square, the cost of adding up groups falls with it.
pub const GROUP: usize = 256;

/// Most records in a group where a layer sums the terms of several records in one product.
pub const SMALL_GROUP: usize = 32;

/// Roundings that a value of a record's gradient meets in a group of [`GROUP`]: as many additions, and four multiplications.
pub const ROUNDINGS: usize = GROUP + 4;

/// Roundings that a record may have in a [`SMALL_GROUP`], for which the whole group is off by no more than a [`GROUP`] is.
pub const SMALL_GROUP_ROUNDINGS: usize = ROUNDINGS * (GROUP + 1) / (SMALL_GROUP + 1);

/// Factors below this are taken as zero: what would underflow when they meet a gradient is then bounded by [`FAINT`].
pub const LEAST_FACTOR: f32 = 1.0 / (1u128 << 64) as f32;

/// A length that is added to every vector among the terms of a sum. A vector of 2²⁴ values, times a factor of at least
/// [`LEAST_FACTOR`], is off by 2⁻²⁴ of its length and, for values that underflow, by 2¹²·2⁻¹⁵⁰: 2⁻²⁴ of this length times the factor.
pub const FAINT: f64 = 1.0 / (1u64 << 50) as f64;

/// Roundings that a term meets on its way into the sum of a [`SMALL_GROUP`] where terms are summed in blocks of at most `block`, a
/// micro-batch of `b` records takes at most `b · ⌈positions/block⌉` of them, and each starts at zero and is then added to the sum: by its factor,
/// by its product, within its block in any order, and after every block.
pub(crate) const fn of_terms(positions: usize, block: usize) -> usize {
    2 + block + SMALL_GROUP * positions.div_ceil(block)
}

/// Lengths of blocks to choose from: with whole blocks in every multiple of 192 terms.
const BLOCKS: [usize; 6] = [16, 32, 48, 64, 96, 192];

/// The length of block with the fewest roundings of terms over so many positions.
pub(crate) fn best_block(positions: usize) -> usize {
    BLOCKS
        .into_iter()
        .min_by_key(|block| of_terms(positions, *block))
        .expect("there are blocks to choose from")
}

/// The squared norm to tell of a record whose terms are summed together with those of others, and are off by at most `rounding` times
/// 2⁻²⁴ times its factor.
///
/// # Guarantee
/// A factor that brings the norm told to a bound leaves the record at most [`SMALL_GROUP_ROUNDINGS`] times 2⁻²⁴ of the bound to be off
/// by.
pub fn told(squared_norm: f64, rounding: f64) -> f64 {
    let least = (rounding / SMALL_GROUP_ROUNDINGS as f64).powi(2);
    // A comparison that NaN fails: what is no number stays none.
    if squared_norm < least { least } else { squared_norm }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_groups_are_off_by_no_more_than_large_ones() {
        let off = |records: usize, roundings: usize| (records + 1) * roundings;
        assert!(off(SMALL_GROUP, SMALL_GROUP_ROUNDINGS) <= off(GROUP, ROUNDINGS));
        assert!(off(SMALL_GROUP, SMALL_GROUP_ROUNDINGS + 1) > off(GROUP, ROUNDINGS));
    }

    #[test]
    fn blocks_are_chosen_for_few_roundings() {
        let chosen = [1, 16, 28, 64, 100, 400, 10_000].map(|positions| (best_block(positions), positions));
        let roundings = chosen.map(|(block, positions)| of_terms(positions, block));
        assert_eq!(chosen.map(|(block, _)| block), [16, 16, 32, 32, 64, 96, 192]);
        assert_eq!(roundings, [50, 50, 66, 98, 130, 258, 1890]);
        assert!(BLOCKS.iter().all(|block| 192 % block == 0));
    }

    #[test]
    fn what_terms_weigh_limits_a_record_only_where_they_cancel() {
        assert_eq!(told(4.0, 2.0 * SMALL_GROUP_ROUNDINGS as f64), 4.0);
        assert_eq!(told(4.0, 3.0 * SMALL_GROUP_ROUNDINGS as f64), 9.0);
        assert!(told(f64::NAN, 1.0).is_nan());
        assert_eq!(told(0.0, f64::INFINITY), f64::INFINITY);
    }
}
