//! What one cell of the loss axis holds.

/// The two moments of a pair (P, Q) over the losses between `a` and `b` from which all discretisations are
/// built. Both are integrals of positive functions, so they keep their relative precision in cells of any width.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Cell {
    /// `∫ (dP − e^a dQ)`.
    pub left: f64,
    /// `∫ (e^b dQ − dP)`.
    pub right: f64,
}

impl Cell {
    /// The moments of known probabilities under P and Q that lie somewhere in a cell, such as the one in which the
    /// support ends.
    pub(crate) fn of_masses((with, without): (f64, f64), outer: (f64, f64)) -> Cell {
        Cell {
            left: (with - outer.0.exp() * without).max(0.0),
            right: (outer.1.exp() * without - with).max(0.0),
        }
    }

    /// The moments of a point mass `mass` (under P) at `loss`.
    pub(crate) fn atom(loss: f64, mass: f64, outer: (f64, f64)) -> Cell {
        Cell { left: -mass * (outer.0 - loss).exp_m1(), right: mass * (outer.1 - loss).exp_m1() }
    }

    pub(crate) fn plus(self, other: Cell) -> Cell {
        Cell { left: self.left + other.left, right: self.right + other.right }
    }
}
