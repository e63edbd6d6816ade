//! Two registers side by side.

use super::{Line, Vector};

/// A vector of twice the width.
#[derive(Clone, Copy)]
pub(crate) struct Pair<V>(V, V);

impl<V: Vector> Vector for Pair<V> {
    const WIDTH: usize = 2 * V::WIDTH;

    #[inline(always)]
    fn splat(value: f32) -> Self {
        Pair(V::splat(value), V::splat(value))
    }

    #[inline(always)]
    fn load(line: &Line, lane: usize) -> Self {
        Pair(V::load(line, lane), V::load(line, lane + V::WIDTH))
    }

    #[inline(always)]
    fn store(self, line: &mut Line, lane: usize) {
        self.0.store(line, lane);
        self.1.store(line, lane + V::WIDTH);
    }

    #[inline(always)]
    fn load_from(source: &[f32], first: usize) -> Self {
        Pair(
            V::load_from(source, first),
            V::load_from(source, first + V::WIDTH),
        )
    }

    #[inline(always)]
    fn store_into(self, target: &mut [f32], first: usize) {
        self.0.store_into(target, first);
        self.1.store_into(target, first + V::WIDTH);
    }

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Pair(self.0.add(other.0), self.1.add(other.1))
    }

    #[inline(always)]
    fn subtract(self, other: Self) -> Self {
        Pair(self.0.subtract(other.0), self.1.subtract(other.1))
    }

    #[inline(always)]
    fn multiply(self, other: Self) -> Self {
        Pair(self.0.multiply(other.0), self.1.multiply(other.1))
    }

    #[inline(always)]
    fn accumulate(self, left: Self, right: Self) -> Self {
        Pair(
            self.0.accumulate(left.0, right.0),
            self.1.accumulate(left.1, right.1),
        )
    }
}
