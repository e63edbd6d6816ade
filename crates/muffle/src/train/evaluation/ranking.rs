//! How well outputs rank records, for a yes or no.

use serde::Serialize;

/// The point of the normal distribution that 2.5 % lie above.
const Z: f64 = 1.959_963_984_540_054;

/// An area under a curve, with an interval at a confidence of 95 %.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Area {
    /// The area.
    pub area: f64,
    /// Where it lies for all records there could be; `None` where the records say nothing of that, as for an area of one.
    pub interval: Option<[f64; 2]>,
}

/// The probability that a record with the property has a larger output than one without; ties count half. `None` if all
/// records are alike.
///
/// # Source
/// Hanley and McNeil 1982, "The meaning and use of the area under a receiver operating characteristic (ROC) curve".
pub(super) fn area_under_roc(pairs: &[(f32, bool)]) -> Option<f64> {
    placements(pairs).map(|[holding, _]| holding.iter().sum::<f64>() / holding.len() as f64)
}

/// The same with the interval of DeLong, cut to 0 to 1.
///
/// # Source
/// DeLong, DeLong and Clarke-Pearson 1988, "Comparing the areas under two or more correlated receiver operating characteristic
/// curves: a nonparametric approach": the variance is that of the placements, computed from ranks as Sun and Xu 2014 do.
pub(super) fn roc_with_interval(pairs: &[(f32, bool)]) -> Option<Area> {
    let both = placements(pairs)?;
    let area = both[0].iter().sum::<f64>() / both[0].len() as f64;
    let variance_of_mean = |values: &Vec<f64>| {
        let squares: f64 = values.iter().map(|value| (value - area).powi(2)).sum();
        squares / (values.len() as f64 - 1.0) / values.len() as f64
    };
    let reach = Z * both.iter().map(variance_of_mean).sum::<f64>().sqrt();
    let interval = (reach > 0.0).then(|| [(area - reach).max(0.0), (area + reach).min(1.0)]);
    Some(Area { area, interval })
}

/// For each record with the property the share of the others below it, and for each of the others the share of those above it;
/// ties count half. The mean of either is the area.
fn placements(pairs: &[(f32, bool)]) -> Option<[Vec<f64>; 2]> {
    let mut sorted = pairs.to_vec();
    sorted.sort_by(|left, right| left.0.total_cmp(&right.0));
    let positives = sorted.iter().filter(|(_, holds)| *holds).count();
    let negatives = sorted.len() - positives;
    if positives == 0 || negatives == 0 {
        return None;
    }
    let (mut of_positives, mut of_negatives) = (Vec::with_capacity(positives), Vec::with_capacity(negatives));
    let (mut below, mut above) = (0.0, positives as f64);
    for ties in sorted.chunk_by(|left, right| left.0 == right.0) {
        let holding = ties.iter().filter(|(_, holds)| *holds).count();
        let others = ties.len() - holding;
        above -= holding as f64;
        let below_here = (below + 0.5 * others as f64) / negatives as f64;
        let above_here = (above + 0.5 * holding as f64) / positives as f64;
        of_positives.extend(std::iter::repeat_n(below_here, holding));
        of_negatives.extend(std::iter::repeat_n(above_here, others));
        below += others as f64;
    }
    Some([of_positives, of_negatives])
}

/// The mean of the precision at every threshold, weighted by the gain in recall there; `None` if all records are alike.
///
/// # Source
/// Average precision, as scikit-learn's `average_precision_score` defines it: a step function, not interpolated.
pub(super) fn area_under_precision_recall(pairs: &[(f32, bool)]) -> Option<f64> {
    let mut sorted = pairs.to_vec();
    sorted.sort_by(|left, right| right.0.total_cmp(&left.0));
    let positives = sorted.iter().filter(|(_, holds)| *holds).count();
    if positives == 0 || positives == sorted.len() {
        return None;
    }
    let (mut found, mut said, mut area) = (0usize, 0usize, 0.0);
    for ties in sorted.chunk_by(|left, right| left.0 == right.0) {
        let holding = ties.iter().filter(|(_, holds)| *holds).count();
        found += holding;
        said += ties.len();
        area += holding as f64 * (found as f64 / said as f64);
    }
    Some(area / positives as f64)
}

/// The same with the logit interval, for as many trials as there are records with the property.
///
/// # Source
/// Boyd, Eng and Page 2013, "Area under the precision-recall curve: point estimates and confidence intervals".
pub(super) fn precision_recall_with_interval(pairs: &[(f32, bool)]) -> Option<Area> {
    let area = area_under_precision_recall(pairs)?;
    let positives = pairs.iter().filter(|(_, holds)| *holds).count();
    let variance = area * (1.0 - area) * positives as f64;
    let (odds, reach) = ((area / (1.0 - area)).ln(), Z / variance.sqrt());
    let share = |odds: f64| 1.0 / (1.0 + (-odds).exp());
    let interval = (variance > 0.0).then(|| [share(odds - reach), share(odds + reach)]);
    Some(Area { area, interval })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::{Key, Purpose, Stream, Uniform};

    /// Of the pairs (3, 1), (3, 2), (2, 1), (2, 2) three are in order and one is a tie.
    #[test]
    fn areas_by_hand() {
        let pairs = [(1.0, false), (2.0, false), (2.0, true), (3.0, true)];
        assert_eq!(area_under_roc(&pairs), Some(3.5 / 4.0));
        // Precision 1 at recall 1/2, then 2/3 at recall 1.
        assert!((area_under_precision_recall(&pairs).unwrap() - (0.5 + 0.5 * 2.0 / 3.0)).abs() < 1e-12);
        let reversed = [(1.0, true), (2.0, false)];
        assert_eq!(
            (area_under_roc(&reversed), area_under_precision_recall(&reversed)),
            (Some(0.0), Some(0.5))
        );
    }

    #[test]
    fn records_that_are_all_alike_have_no_area() {
        for pairs in [vec![], vec![(1.0, true), (2.0, true)], vec![(1.0, false)]] {
            assert_eq!((roc_with_interval(&pairs), precision_recall_with_interval(&pairs)), (None, None));
        }
    }

    /// The examples in the documentation of scikit-learn's `roc_auc_score` and `average_precision_score`.
    #[test]
    fn areas_are_those_of_scikit_learn() {
        let pairs = [(0.1, false), (0.4, false), (0.35, true), (0.8, true)];
        assert_eq!(area_under_roc(&pairs), Some(0.75));
        assert!((area_under_precision_recall(&pairs).unwrap() - 0.83).abs() < 0.005);
        assert!((area_under_precision_recall(&pairs).unwrap() - 2.5 / 3.0).abs() < 1e-12);
    }

    /// Placements by counting pairs, variances by their formula.
    #[test]
    fn intervals_by_hand() {
        let pairs =
            [(1.0, false), (2.0, false), (3.0, false), (5.0, false), (2.5, true), (3.0, true), (6.0, true)];
        // Below 2.5 are 2 of 4, below 3 are 2 and a tie, below 6 all; above 3 are 1 and a tie of 3, above 5 one of 3.
        let positives = [0.5, 0.625, 1.0];
        let negatives = [1.0, 1.0, 0.5, 1.0 / 3.0];
        let area = 2.125 / 3.0;
        let spread = |values: &[f64]| {
            let squares: f64 = values.iter().map(|value| (value - area) * (value - area)).sum();
            squares / ((values.len() - 1) * values.len()) as f64
        };
        let reach = 1.959_963_984_540_054 * (spread(&positives) + spread(&negatives)).sqrt();
        let found = roc_with_interval(&pairs).unwrap();
        assert!((found.area - area).abs() < 1e-12);
        let [low, high] = found.interval.unwrap();
        assert!((low - (area - reach)).abs() < 1e-12 && high == 1.0, "{low} {high}");
        // An area of 5/6 with two positives: the logit is ln 5, its deviation 1 / √(2 · 5/36).
        let four = [(0.1, false), (0.4, false), (0.35, true), (0.8, true)];
        let found = precision_recall_with_interval(&four).unwrap().interval.unwrap();
        let reach = 1.959_963_984_540_054 / (10f64 / 36.0).sqrt();
        for (found, sign) in found.into_iter().zip([-1.0, 1.0]) {
            let odds = 5.0 * f64::exp(sign * reach);
            assert!((found - odds / (1.0 + odds)).abs() < 1e-12);
        }
        assert_eq!(roc_with_interval(&[(0.0, false), (1.0, true)]).unwrap().interval, None);
    }

    /// Uniform outputs between 0 and 1, those with the property raised by 0.2: the area is 1 − 0.8²/2 = 0.68. 1000 samples of 60
    /// and 60: a correct interval misses in 50 ± 6.9 of them, and the normal approximation costs a little; more than 90 has
    /// probability below 1e-7.
    #[test]
    fn the_interval_holds_the_area_as_often_as_it_says() {
        let mut uniform = Uniform::new(&Key::from_seed(3), Stream::new(Purpose::Audit, 0));
        let missed = (0..1000)
            .filter(|_| {
                let pairs: Vec<(f32, bool)> = (0..120)
                    .map(|record| {
                        let output = uniform.below(1 << 24) as f32 / (1u32 << 24) as f32;
                        (if record < 60 { output } else { output + 0.2 }, record >= 60)
                    })
                    .collect();
                let [low, high] = roc_with_interval(&pairs).unwrap().interval.unwrap();
                !(low..=high).contains(&0.68)
            })
            .count();
        assert!((15..=90).contains(&missed), "{missed}");
    }
}
