//! The grid that releases lie on, and what it costs.
//!
//! A sum is rounded to a whole number of quanta and gets noise that is a whole number of quanta. Adding a whole number commutes with
//! rounding, so that the result is the real mechanism on the rounded sum, rounded: post-processing. All that is left of floating
//! point is how far one record moves the rounded sum, and this is a little farther than the bound: the noise is widened by as much.
//! docs/floating-point.md has the argument with its constants.

use muffle_nn::rounding;

/// The largest quantum, as a part of the bound.
const COARSEST: f64 = 1.0 / 262_144.0;
/// The most that rounding to the grid adds to the bound, as a part of it.
pub(super) const SHARE: f64 = 1.0 / 256.0;
/// More quanta than rounding moves a number by: half of one before a record comes, and as much after it; and for sums of gradients half of
/// 1/256 for every part of the record's group before, and of the at most two groups that it becomes after: 192 parts.
const ROUNDINGS: f64 = 1.5;
/// Half the distance from one to the next number in single precision.
const SINGLE: f64 = 1.0 / 16_777_216.0;
/// The farthest that a rounded number goes from zero, in quanta.
const FARTHEST: f64 = 1_125_899_906_842_624.0;

/// What floating point adds to a bound on a sum of gradients, as a part of it, before it is rounded to the grid.
///
/// # Guarantee
/// Every record leaves the sum of its group off by at most [`rounding::ROUNDINGS`]·2⁻²⁴ times its bound in groups of
/// [`rounding::GROUP`], and by [`rounding::SMALL_GROUP_ROUNDINGS`]·2⁻²⁴ in the smaller groups of networks that sum term by term. One
/// record more changes one group: it is off before, and off after, and in small groups no more than in large ones.
pub(crate) const SUMMATION: f64 = 2.0 * (rounding::ROUNDINGS * (rounding::GROUP + 1)) as f64 * SINGLE;

/// A grid for numbers that one record changes only so far.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Grid {
    /// Distance between neighbouring values: a power of two.
    pub quantum: f64,
    /// How far one record moves the rounded numbers, as a multiple of the bound.
    pub widening: f64,
}

impl Grid {
    /// For `len` numbers that one record changes by at most `bound` in L2 norm.
    pub fn l2(bound: f64, len: usize) -> Grid {
        Grid::new(bound, (len as f64).sqrt())
    }

    /// For `len` numbers that one record changes by at most `bound` in L1 norm.
    pub fn l1(bound: f64, len: usize) -> Grid {
        Grid::new(bound, len as f64)
    }

    /// `diagonal` is the length of a vector of ones in the norm of the bound.
    fn new(bound: f64, diagonal: f64) -> Grid {
        let moved = ROUNDINGS * diagonal;
        let quantum = power_of_two_below(bound * COARSEST.min(SHARE / moved));
        Grid { quantum, widening: 1.0 + quantum * moved / bound }
    }

    /// The nearest whole number of quanta.
    pub fn round(&self, value: f64) -> f64 {
        (value / self.quantum).clamp(-FARTHEST, FARTHEST).round_ties_even()
    }
}

/// The most quanta that a bound can be, where a vector of ones has this length in its norm.
pub(super) fn most_quanta(diagonal: f64) -> f64 {
    2.0 / COARSEST.min(SHARE / (ROUNDINGS * diagonal))
}

fn power_of_two_below(value: f64) -> f64 {
    value.log2().floor().exp2()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grid_costs_little_and_says_how_much() {
        for bound in [1e-6, 0.1, 1.0, 3.0, 1e4] {
            for len in [1usize, 10, 1_000, 3_000_000, 1_000_000_000] {
                for (grid, diagonal) in
                    [(Grid::l2(bound, len), (len as f64).sqrt()), (Grid::l1(bound, len), len as f64)]
                {
                    assert!(grid.widening > 1.0 && grid.widening <= 1.0 + SHARE, "{grid:?}");
                    assert_eq!(grid.quantum.log2().fract(), 0.0);
                    assert!(
                        ((grid.widening - 1.0) * bound / (1.5 * grid.quantum * diagonal) - 1.0).abs() < 1e-4
                    );
                }
            }
        }
    }

    #[test]
    fn rounding_is_to_whole_quanta() {
        let grid = Grid::l2(1.0, 4);
        for value in [0.0, 0.3, -0.3, 17.123, -1e5] {
            let quanta = grid.round(value);
            assert_eq!(quanta.fract(), 0.0);
            assert!((quanta * grid.quantum - value).abs() <= grid.quantum / 2.0);
        }
    }
}
