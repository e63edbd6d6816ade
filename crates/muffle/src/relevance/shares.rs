//! Released relevances as shares of their mean.

/// Relevances over their mean, raised to a floor and brought back to a mean of one; all alike if there is no relevance at all.
/// What noise has made negative counts as zero.
pub fn shares(relevance: &[f64], floor: f64) -> Vec<f32> {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let positive: Vec<f64> = relevance.iter().map(|value| value.max(0.0)).collect();
    let usual = mean(&positive);
    if usual <= 0.0 {
        return vec![1.0; relevance.len()];
    }
    let raised: Vec<f64> = positive.iter().map(|value| (value / usual).max(floor)).collect();
    let usual = mean(&raised);
    raised.iter().map(|value| (value / usual) as f32).collect()
}

#[cfg(test)]
mod tests {
    use super::shares;

    #[test]
    fn shares_by_hand() {
        // Mean 2, so 2.25, 0.75 and, raised from a negative number, 0.1: together 3.1 in place of 3.
        let found = shares(&[4.5, 1.5, -3.0], 0.1);
        let expected = [2.25, 0.75, 0.1].map(|share| share * 3.0 / 3.1);
        let near = |(left, right): (&f32, &f64)| (f64::from(*left) - right).abs() < 1e-6;
        assert!(found.iter().zip(&expected).all(near), "{found:?}");
        assert_eq!(shares(&[-1.0, 0.0], 0.1), [1.0, 1.0]);
    }
}
