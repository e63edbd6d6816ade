//! The maps of a scheme in two dimensions, for many channels at once.

use std::marker::PhantomData;

use super::scheme::Scheme;
use crate::kernel::instructions::Vector;

/// A linear map in one dimension, from `FROM` values to `TO`.
pub(super) trait Transform<const FROM: usize, const TO: usize> {
    fn apply<V: Vector>(values: [V; FROM]) -> [V; TO];
}

/// Where the pixels of a tile lie: the first, and how far on the next row and the next column are.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) first: usize,
    pub(super) row: usize,
    pub(super) column: usize,
}

/// What becomes of the numbers that are already there.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Mode {
    Overwrite,
    Add,
}

/// Applies a map along both dimensions of a tile, for `lanes` channels that follow each other in memory.
#[inline(always)]
pub(super) fn transform<F: Transform<FROM, TO>, V: Vector, const FROM: usize, const TO: usize>(
    source: &[f32],
    from: Place,
    target: &mut [f32],
    to: Place,
    lanes: usize,
    mode: Mode,
) {
    assert!(lanes.is_multiple_of(V::WIDTH));
    assert!(from.first + (FROM - 1) * (from.row + from.column) + lanes <= source.len());
    assert!(to.first + (TO - 1) * (to.row + to.column) + lanes <= target.len());
    let (source, target) = (source.as_ptr(), target.as_mut_ptr());
    for lane in (0..lanes).step_by(V::WIDTH) {
        let mut half = [[V::zero(); FROM]; TO];
        for column in 0..FROM {
            let mut values = [V::zero(); FROM];
            for row in 0..FROM {
                let place = from.first + row * from.row + column * from.column + lane;
                // SAFETY: the last place, plus its lanes, is within the source, as asserted above.
                values[row] = unsafe { V::load(source.add(place)) };
            }
            let values = F::apply(values);
            for row in 0..TO {
                half[row][column] = values[row];
            }
        }
        for row in 0..TO {
            let values = F::apply(half[row]);
            for column in 0..TO {
                let place = to.first + row * to.row + column * to.column + lane;
                // SAFETY: the last place, plus its lanes, is within the target, as asserted above.
                unsafe {
                    let target = target.add(place);
                    match mode {
                        Mode::Overwrite => values[column].store(target),
                        Mode::Add => V::load(target).add(values[column]).store(target),
                    }
                }
            }
        }
    }
}

/// Names one map of a scheme as a type.
macro_rules! transform {
    ($(#[$documentation:meta])* $name:ident, $map:ident, $from:ident, $to:ident) => {
        $(#[$documentation])*
        pub(super) struct $name<S, const TILE: usize, const OUTPUTS: usize, const TAPS: usize>(PhantomData<S>);

        impl<S: Scheme<TILE, OUTPUTS, TAPS>, const TILE: usize, const OUTPUTS: usize, const TAPS: usize>
            Transform<$from, $to> for $name<S, TILE, OUTPUTS, TAPS>
        {
            #[inline(always)]
            fn apply<V: Vector>(values: [V; $from]) -> [V; $to] {
                S::$map(values)
            }
        }
    };
}

transform!(
    /// [`Scheme::input`]
    Input, input, TILE, TILE
);
transform!(
    /// [`Scheme::weight`]
    Weight, weight, TAPS, TILE
);
transform!(
    /// [`Scheme::output`]
    Output, output, TILE, OUTPUTS
);
transform!(
    /// [`Scheme::upstream`]
    Upstream, upstream, OUTPUTS, TILE
);
transform!(
    /// [`Scheme::gradient`]
    Gradient, gradient, TILE, TAPS
);
