//! How well outputs rank and how honest their probabilities are, for a yes or no.

/// Bins of probabilities.
const BINS: usize = 15;

/// The probability that a record with the property has a larger output than one without; ties count half. `None` if all
/// records are alike.
///
/// # Source
/// Hanley and McNeil 1982, "The meaning and use of the area under a receiver operating characteristic (ROC) curve".
pub(super) fn area_under_curve(pairs: &[(f32, bool)]) -> Option<f64> {
    let mut sorted = pairs.to_vec();
    sorted.sort_by(|left, right| left.0.total_cmp(&right.0));
    let positives = sorted.iter().filter(|(_, holds)| *holds).count();
    let negatives = sorted.len() - positives;
    if positives == 0 || negatives == 0 {
        return None;
    }
    let (mut wins, mut below) = (0.0, 0usize);
    for ties in sorted.chunk_by(|left, right| left.0 == right.0) {
        let holding = ties.iter().filter(|(_, holds)| *holds).count();
        let others = ties.len() - holding;
        wins += holding as f64 * (below as f64 + 0.5 * others as f64);
        below += others;
    }
    Some(wins / positives as f64 / negatives as f64)
}

/// The mean over records of the distance between the stated probability and the share that came true, in bins of equal width.
///
/// # Source
/// Guo et al. 2017, "On calibration of modern neural networks", equation 3, on the probability of the second class.
pub(super) fn calibration_error(pairs: &[(f32, bool)]) -> f64 {
    let mut bins = [(0.0, 0.0, 0usize); BINS];
    for (logit, holds) in pairs {
        let probability = 1.0 / (1.0 + (-f64::from(*logit)).exp());
        let (stated, true_ones, count) = &mut bins[((probability * BINS as f64) as usize).min(BINS - 1)];
        *stated += probability;
        *true_ones += f64::from(u8::from(*holds));
        *count += 1;
    }
    bins.iter().map(|(stated, true_ones, _)| f64::abs(stated - true_ones)).sum::<f64>() / pairs.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of the pairs (3, 1), (3, 2), (2, 1), (2, 2) three are in order and one is a tie.
    #[test]
    fn areas_by_hand() {
        let pairs = [(1.0, false), (2.0, false), (2.0, true), (3.0, true)];
        assert_eq!(area_under_curve(&pairs), Some(3.5 / 4.0));
        assert_eq!(area_under_curve(&[(1.0, true), (2.0, true)]), None);
        assert_eq!(area_under_curve(&[(1.0, true), (2.0, false)]), Some(0.0));
    }

    /// Ten records with probability one half, of which eight came true: 0.3 off. Certain and right: nothing off.
    #[test]
    fn calibration_by_hand() {
        let half: Vec<(f32, bool)> = (0..10).map(|record| (0.0, record < 8)).collect();
        assert!((calibration_error(&half) - 0.3).abs() < 1e-12);
        assert!(calibration_error(&[(50.0, true), (-50.0, false)]) < 1e-12);
    }
}
