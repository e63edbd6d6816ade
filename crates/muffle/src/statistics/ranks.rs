//! Ranks of values that may be equal.

/// The rank of every value from one, equal values sharing the mean of their ranks, and the sum of t³ − t over groups of t
/// equal values.
///
/// # Source
/// Kruskal and Wallis 1952, "Use of ranks in one-criterion variance analysis", §1.2.
pub(super) fn shared_ranks(values: &[f64]) -> (Vec<f64>, f64) {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let (mut ranks, mut ties, mut begin) = (vec![0.0; values.len()], 0.0, 0);
    for group in order.chunk_by(|&a, &b| values[a] == values[b]) {
        let count = group.len() as f64;
        let shared = begin as f64 + 0.5 * (count + 1.0);
        group.iter().for_each(|&place| ranks[place] = shared);
        ties += count.powi(3) - count;
        begin += group.len();
    }
    (ranks, ties)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_share_their_ranks() {
        let (ranks, ties) = shared_ranks(&[5.0, 1.0, 5.0, 0.0, 5.0, 1.0]);
        assert_eq!(ranks, [5.0, 2.5, 5.0, 1.0, 5.0, 2.5]);
        assert_eq!(ties, 24.0 + 6.0);
    }
}
