//! Two registers side by side.

use super::Vector;

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
    unsafe fn load(source: *const f32) -> Self {
        // SAFETY: both halves lie within the numbers that the caller promises.
        unsafe { Pair(V::load(source), V::load(source.add(V::WIDTH))) }
    }

    #[inline(always)]
    unsafe fn store(self, target: *mut f32) {
        // SAFETY: both halves lie within the numbers that the caller promises.
        unsafe {
            self.0.store(target);
            self.1.store(target.add(V::WIDTH));
        }
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
    fn minimum(self, other: Self) -> Self {
        Pair(self.0.minimum(other.0), self.1.minimum(other.1))
    }

    #[inline(always)]
    fn maximum(self, other: Self) -> Self {
        Pair(self.0.maximum(other.0), self.1.maximum(other.1))
    }

    #[inline(always)]
    fn accumulate(self, left: Self, right: Self) -> Self {
        Pair(self.0.accumulate(left.0, right.0), self.1.accumulate(left.1, right.1))
    }
}
