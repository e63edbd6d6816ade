//! How honest stated probabilities are.

use super::decision::probability;
use serde::Serialize;

/// Bins of probabilities, of equal width.
const BINS: usize = 15;

/// Stated probabilities beside the shares that came true: the curve, and how far it is from the diagonal.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Calibration {
    /// Mean over records of the distance between both.
    pub error: f64,
    /// The curve; bins without records are left out.
    pub bins: Vec<Bin>,
}

/// The records whose stated probability lies in a range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Bin {
    /// The range, its upper end left out but for the last.
    pub range: [f64; 2],
    /// How many.
    pub records: u64,
    /// Mean of the stated probabilities.
    pub stated: f64,
    /// The share of which it was true.
    pub came_true: f64,
}

impl Calibration {
    /// Of logarithms of odds with what was true; `None` of none.
    ///
    /// # Source
    /// Guo et al. 2017, "On calibration of modern neural networks", equation 3, on the probability of one class.
    pub(super) fn of(pairs: &[(f32, bool)]) -> Option<Calibration> {
        let mut sums = [(0u64, 0.0, 0u64); BINS];
        for (margin, holds) in pairs {
            let probability = probability(*margin);
            let (records, stated, came_true) =
                &mut sums[((probability * BINS as f64) as usize).min(BINS - 1)];
            *records += 1;
            *stated += probability;
            *came_true += u64::from(*holds);
        }
        let distance: f64 =
            sums.iter().map(|(_, stated, came_true)| (stated - *came_true as f64).abs()).sum();
        let bins = sums.iter().enumerate().filter(|(_, (records, ..))| *records > 0);
        let bins = bins.map(|(place, &(records, stated, came_true))| {
            let share = 1.0 / records as f64;
            let range = [place, place + 1].map(|end| end as f64 / BINS as f64);
            Bin { range, records, stated: stated * share, came_true: came_true as f64 * share }
        });
        (!pairs.is_empty())
            .then(|| Calibration { error: distance / pairs.len() as f64, bins: bins.collect() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten records with probability one half, of which eight came true: 0.3 off. Certain and right: nothing off.
    #[test]
    fn calibration_by_hand() {
        let half: Vec<(f32, bool)> = (0..10).map(|record| (0.0, record < 8)).collect();
        let found = Calibration::of(&half).unwrap();
        assert!((found.error - 0.3).abs() < 1e-12);
        let [bin] = found.bins[..] else { panic!("{found:?}") };
        assert_eq!((bin.range, bin.records, bin.stated), ([7.0 / 15.0, 8.0 / 15.0], 10, 0.5));
        assert!((bin.came_true - 0.8).abs() < 1e-12);
        let sure = Calibration::of(&[(50.0, true), (-50.0, false), (f32::INFINITY, true)]).unwrap();
        assert!(sure.error < 1e-12 && sure.bins.len() == 2, "{sure:?}");
        assert_eq!(Calibration::of(&[]), None);
    }
}
