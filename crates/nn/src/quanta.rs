//! The grid on which sums over groups of records are added up.

use crate::kernel::instructions::vectorised;

/// Coordinates that are worked on at a time.
pub(crate) const PIECE: usize = 512;
/// The farthest that a sum goes from zero, in quanta: a few hundred such sums are still exact in double precision.
const FARTHEST: f64 = 35_184_372_088_832.0;
/// Adding and taking away 1.5 · 2⁵² rounds smaller numbers to integers.
const ROUNDER: f64 = 1.5 * 4_503_599_627_370_496.0;

/// The distance between neighbouring values of each coordinate.
#[derive(Clone, Debug)]
pub enum Quanta {
    /// The same for stretches of coordinates: where each ends, and its quantum.
    Stretches(Vec<(usize, f64)>),
    /// A multiple of each coordinate's own unit.
    Units {
        /// One for every coordinate.
        units: Vec<f32>,
        /// The quantum of a coordinate whose unit is one.
        quantum: f64,
    },
}

impl Quanta {
    /// Writes the quanta of the coordinates from `first` on.
    pub(crate) fn write(&self, first: usize, quanta: &mut [f64]) {
        match self {
            Quanta::Units { units, quantum } => {
                let units = &units[first..first + quanta.len()];
                quanta.iter_mut().zip(units).for_each(|(own, unit)| *own = quantum * f64::from(*unit));
            }
            Quanta::Stretches(stretches) => {
                let (mut rest, mut coordinate) = (quanta, first);
                let begin = stretches.partition_point(|(end, _)| *end <= first);
                for (end, quantum) in &stretches[begin..] {
                    let count = (end - coordinate).min(rest.len());
                    let (now, later) = rest.split_at_mut(count);
                    now.fill(*quantum);
                    (rest, coordinate) = (later, coordinate + count);
                    if rest.is_empty() {
                        return;
                    }
                }
                assert!(rest.is_empty(), "every coordinate belongs to a stretch");
            }
        }
    }
}

vectorised! {
    /// `target += source`, in double precision.
    pub(crate) fn add_widened(target: &mut [f64], source: &[f32]) {
        assert_eq!(target.len(), source.len());
        for (target, source) in target.iter_mut().zip(source) {
            *target += f64::from(*source);
        }
    }

    /// Adds the nearest whole number of quanta to each total.
    ///
    /// Totals are whole numbers, so that their sums are exact and do not depend on their order.
    pub(crate) fn add_rounded(totals: &mut [f64], sums: &[f64], inverses: &[f64]) {
        assert!(totals.len() == sums.len() && totals.len() == inverses.len());
        for ((total, sum), inverse) in totals.iter_mut().zip(sums).zip(inverses) {
            let quanta = (sum * inverse).clamp(-FARTHEST, FARTHEST);
            *total += (quanta + ROUNDER) - ROUNDER;
        }
    }

    /// Writes values in single precision.
    pub(crate) fn narrow(values: &mut [f32], totals: &[f64]) {
        assert_eq!(values.len(), totals.len());
        for (value, total) in values.iter_mut().zip(totals) {
            *value = *total as f32;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quanta_follow_stretches_and_units_from_any_place() {
        let stretches = Quanta::Stretches(vec![(3, 0.5), (4, 0.25), (9, 2.0)]);
        let units = Quanta::Units { units: vec![1.0, 1.0, 1.0, 0.5, 4.0, 4.0, 4.0, 4.0, 4.0], quantum: 0.5 };
        let expected = [0.5, 0.5, 0.5, 0.25, 2.0, 2.0, 2.0, 2.0, 2.0];
        for first in 0..9 {
            for last in first..=9 {
                for quanta in [&stretches, &units] {
                    let mut written = vec![0.0; last - first];
                    quanta.write(first, &mut written);
                    assert_eq!(written, expected[first..last]);
                }
            }
        }
    }

    #[test]
    fn totals_are_whole_and_rounded_to_the_nearest() {
        let mut totals = [1.0; 6];
        add_rounded(&mut totals, &[0.3, -0.3, 0.125, 1e30, -1e30, 0.0], &[4.0; 6]);
        assert_eq!(totals, [2.0, 0.0, 1.0, 1.0 + FARTHEST, 1.0 - FARTHEST, 1.0]);
    }
}
