//! Training or test, decided for each record by itself.

use sha2::{Digest, Sha256};

/// Whether a record belongs to the test split, by a hash of its own content.
///
/// # Guarantee
/// The answer depends on the record and the fraction alone: adding or removing one record never moves another, so
/// neighbouring data sets stay neighbouring after the split. Equal records fall on the same side.
pub fn is_test(content: &[u8], fraction: f64) -> bool {
    let mut hash = Sha256::new();
    hash.update(b"muffle split");
    hash.update(content);
    let digest = hash.finalize();
    let word = u64::from_le_bytes(std::array::from_fn(|index| digest[index]));
    (word as f64) < fraction * 2f64.powi(64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fraction_is_met() {
        let count = (0..10_000u32).filter(|record| is_test(&record.to_le_bytes(), 0.2)).count();
        // Standard deviation 40.
        assert!((1_800..2_200).contains(&count), "{count}");
        assert!(!is_test(b"a", 0.0) && is_test(b"a", 1.0));
    }
}
