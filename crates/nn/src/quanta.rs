//! The grid on which sums over groups of records are added up.

use crate::kernel::instructions::vectorised;

/// Coordinates that are worked on at a time.
pub(crate) const PIECE: usize = 512;
/// The farthest that a sum goes from zero, in quanta: a few hundred such sums are still exact in double precision.
const FARTHEST: f64 = 35_184_372_088_832.0;
/// Parts of a group are rounded to this part of a quantum before they are added up.
pub(crate) const FINE: f64 = 1.0 / 256.0;
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
    /// The quantum of all coordinates from `first` on, if one stretch holds them.
    pub(crate) fn same(&self, first: usize, len: usize) -> Option<f64> {
        let Quanta::Stretches(stretches) = self else { return None };
        let place = stretches.partition_point(|(end, _)| *end <= first);
        stretches.get(place).filter(|(end, _)| first + len <= *end).map(|(_, quantum)| *quantum)
    }

    /// Writes the quanta of the coordinates from `first` on, and their inverses.
    pub(crate) fn write(&self, first: usize, quanta: &mut [f64], inverses: &mut [f64]) {
        match self {
            Quanta::Units { units, quantum } => {
                let units = &units[first..first + quanta.len()];
                for ((own, inverse), unit) in quanta.iter_mut().zip(inverses).zip(units) {
                    *own = quantum * f64::from(*unit);
                    *inverse = 1.0 / *own;
                }
            }
            Quanta::Stretches(stretches) => {
                let (mut done, len) = (0, quanta.len());
                let begin = stretches.partition_point(|(end, _)| *end <= first);
                for (end, quantum) in &stretches[begin..] {
                    let here = done..len.min(end - first);
                    quanta[here.clone()].fill(*quantum);
                    inverses[here.clone()].fill(1.0 / quantum);
                    done = here.end;
                    if done == len {
                        return;
                    }
                }
                assert_eq!(done, len, "every coordinate belongs to a stretch");
            }
        }
    }
}

vectorised! {
    /// `target = source`, in double precision.
    pub(crate) fn widen(target: &mut [f64], source: &[f32]) {
        assert_eq!(target.len(), source.len());
        for (target, source) in target.iter_mut().zip(source) {
            *target = f64::from(*source);
        }
    }

    /// `target += source`, in double precision.
    pub(crate) fn add_widened(target: &mut [f64], source: &[f32]) {
        assert_eq!(target.len(), source.len());
        for (target, source) in target.iter_mut().zip(source) {
            *target += f64::from(*source);
        }
    }

    /// Rounds sums to whole numbers of quanta.
    pub(crate) fn round(sums: &mut [f64], inverses: &[f64]) {
        assert_eq!(sums.len(), inverses.len());
        for (sum, inverse) in sums.iter_mut().zip(inverses) {
            let quanta = (*sum * inverse).clamp(-FARTHEST, FARTHEST);
            *sum = (quanta + ROUNDER) - ROUNDER;
        }
    }

    /// Adds the nearest whole number of [fine](FINE) quanta to each total, and leaves zeros in the place of the sums.
    ///
    /// Totals are whole numbers, so that their sums are exact and do not depend on their order.
    pub(crate) fn take_rounded(totals: &mut [f64], sums: &mut [f32], inverses: &[f64]) {
        assert!(totals.len() == sums.len() && totals.len() == inverses.len());
        for ((total, sum), inverse) in totals.iter_mut().zip(sums).zip(inverses) {
            let quanta = (f64::from(*sum) * (inverse * (1.0 / FINE))).clamp(-FARTHEST, FARTHEST);
            *total += (quanta + ROUNDER) - ROUNDER;
            *sum = 0.0;
        }
    }

    /// Writes whole numbers of quanta, from totals in fine ones.
    pub(crate) fn coarsen(quanta: &mut [f64], totals: &[f64]) {
        assert_eq!(quanta.len(), totals.len());
        for (quanta, total) in quanta.iter_mut().zip(totals) {
            *quanta = (total * FINE + ROUNDER) - ROUNDER;
        }
    }

    /// Writes what totals are worth, times a factor, in single precision.
    pub(crate) fn narrow(values: &mut [f32], totals: &[f64], quanta: &[f64], factor: f64) {
        assert!(values.len() == totals.len() && values.len() == quanta.len());
        for ((value, total), quantum) in values.iter_mut().zip(totals).zip(quanta) {
            *value = (total * (quantum * factor)) as f32;
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
                    let (mut written, mut inverses) = (vec![0.0; last - first], vec![0.0; last - first]);
                    quanta.write(first, &mut written, &mut inverses);
                    if let Some(quantum) = quanta.same(first, last - first) {
                        assert!(expected[first..last].iter().all(|expected| *expected == quantum));
                    }
                    assert_eq!(written, expected[first..last]);
                    assert!(written.iter().zip(&inverses).all(|(quantum, inverse)| quantum * inverse == 1.0));
                }
            }
        }
    }

    #[test]
    fn sums_are_rounded_to_the_nearest() {
        let mut sums = [0.3, -0.3, 0.125, 1e30, -1e30, 0.0];
        round(&mut sums, &[4.0; 6]);
        assert_eq!(sums, [1.0, -1.0, 0.0, FARTHEST, -FARTHEST, 0.0]);
    }

    #[test]
    fn totals_are_whole_and_rounded_to_the_nearest() {
        let mut totals = [1.0; 6];
        let mut sums = [0.3, -0.3, 0.125, 1e30, -1e30, 0.0];
        take_rounded(&mut totals, &mut sums, &[4.0; 6]);
        assert_eq!(totals, [308.0, -306.0, 129.0, 1.0 + FARTHEST, 1.0 - FARTHEST, 1.0]);
        assert_eq!(sums, [0.0; 6]);
        let mut quanta = [f64::NAN; 6];
        coarsen(&mut quanta, &totals);
        assert_eq!(quanta, [1.0, -1.0, 1.0, FARTHEST * FINE, -FARTHEST * FINE, 0.0]);
    }
}
