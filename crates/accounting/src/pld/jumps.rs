//! Rare large losses, kept apart from the body of a loss.
//!
//! At a small sample rate most steps lose next to nothing, and one that samples the record may lose much. No exponential
//! tilt suits both: one that moves the body to epsilon blows up the jumps, and under one that suits the jumps the part
//! of the body that decides delta drowns in rounding errors. So each loss μ is cut into a body β and jumps γ = μ − β, and
//! `μ^T = β^T + (μ^T − β^T)`: compositions without a jump, and those with at least one. Delta is linear in the composed
//! measure, so it is the sum of two, each with a tilt, a window and a grid of its own; the rounding errors of the
//! second are relative to the small probability of a jump.
//!
//! # Guarantee
//! Both terms are polynomials of β and γ with positive coefficients, so they are monotone in the curves of both, as
//! composition is, and bounds on the two parts give bounds on the sum. The two grids cut at different points. A smaller
//! body has a smaller first term and a larger second one, so for the upper bound the first grid cuts above the cut
//! and the second below it, for the lower bound the other way round.

use super::compose::{Composed, Curve, Part, Side};
use super::discretise::Cells;
use super::plan::Plan;

/// One direction on two grids: for compositions without a jump, and for those with one.
pub(crate) struct Split {
    pub cut: f64,
    pub body: (Vec<(Cells, f64)>, Plan),
    pub jumps: (Vec<(Cells, f64)>, Plan),
}

impl Split {
    /// The best certified epsilon on one side within a bracket, if there is one.
    pub(crate) fn epsilon(&self, delta: f64, side: Side, bracket: (f64, f64)) -> Option<f64> {
        let discretise = match side {
            Side::Upper => Cells::pessimistic,
            Side::Lower => Cells::optimistic,
        };
        let without = |(cells, count): &(Cells, f64)| {
            let [body, _] = cells.split(self.cut, side == Side::Upper);
            Part { body: discretise(&body), jumps: None, count: *count }
        };
        let with = |(cells, count): &(Cells, f64)| {
            let [body, jumps] = cells.split(self.cut, side == Side::Lower);
            Part { body: discretise(&body), jumps: Some(discretise(&jumps)), count: *count }
        };
        let without = Composed::new(&self.body.0.iter().map(without).collect::<Vec<_>>(), &self.body.1);
        let with = Composed::new(&self.jumps.0.iter().map(with).collect::<Vec<_>>(), &self.jumps.1);
        search([without.curve(side), with.curve(side)], delta, side, bracket)
    }
}

/// Bisects for the epsilon at which two curves add up to `delta`. Wherever it stops, its end is certified by the sum there.
fn search(curves: [Curve<'_>; 2], delta: f64, side: Side, (mut low, mut high): (f64, f64)) -> Option<f64> {
    let total = |epsilon: f64| curves.iter().map(|curve| curve.delta(epsilon)).sum::<f64>();
    // An atom at infinity leaves no upper end to start from.
    if high.is_infinite() {
        high = low.max(1.0);
        while total(high) > delta && high < 1e6 {
            high *= 2.0;
        }
    }
    let mut proved = None;
    for _ in 0..50 {
        let middle = 0.5 * (low + high);
        let sum = total(middle);
        if sum > delta {
            low = middle
        } else {
            high = middle
        }
        match side {
            Side::Upper if sum <= delta => proved = Some(middle),
            Side::Lower if sum > delta => proved = Some(middle),
            Side::Upper | Side::Lower => {}
        }
    }
    proved
}
