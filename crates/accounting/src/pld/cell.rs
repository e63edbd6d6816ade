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
    /// The moments of the same mass as part of a wider cell: `self` covers losses from `inner.0` to `inner.1`,
    /// the result is relative to the ends of `outer`.
    pub(crate) fn widened(self, inner: (f64, f64), outer: (f64, f64)) -> Cell {
        // e^b · Q of the cell, from left + right = (e^b − e^a) Q.
        let scaled = (self.left + self.right) / -(inner.0 - inner.1).exp_m1();
        if scaled == 0.0 {
            return Cell::default();
        }
        let below = (inner.0 - inner.1).exp() - (outer.0 - inner.1).exp();
        Cell {
            left: self.left + scaled * below,
            right: self.right + scaled * (outer.1 - inner.1).exp_m1(),
        }
    }

    /// The moments of a point mass `mass` (under P) at `loss`.
    pub(crate) fn atom(loss: f64, mass: f64, outer: (f64, f64)) -> Cell {
        Cell {
            left: -mass * (outer.0 - loss).exp_m1(),
            right: mass * (outer.1 - loss).exp_m1(),
        }
    }

    pub(crate) fn plus(self, other: Cell) -> Cell {
        Cell {
            left: self.left + other.left,
            right: self.right + other.right,
        }
    }
}
