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
    /// The moments of the same mass over a cell that reaches further, such as the one in which the support ends.
    /// `without` is the mass under Q. Nothing cancels: `e^inner − e^outer` is added times Q on either side.
    pub(crate) fn widened(self, without: f64, inner: (f64, f64), outer: (f64, f64)) -> Cell {
        let gap = |to: f64, from: f64| if to == from { 0.0 } else { from.exp() * (to - from).exp_m1() };
        Cell {
            left: self.left + gap(inner.0, outer.0) * without,
            right: self.right + gap(outer.1, inner.1) * without,
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
