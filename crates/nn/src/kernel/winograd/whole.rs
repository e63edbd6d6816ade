//! Whole lines in and out of registers.

use crate::kernel::instructions::Vector;
use crate::kernel::line::{LANES, Line};

#[inline(always)]
pub(super) fn load<V: Vector>(line: &Line) -> V {
    const { assert!(V::WIDTH == LANES) };
    // SAFETY: a line has as many numbers as are read.
    unsafe { V::load(line.0.as_ptr()) }
}

#[inline(always)]
pub(super) fn store<V: Vector>(vector: V, line: &mut Line) {
    const { assert!(V::WIDTH == LANES) };
    // SAFETY: a line has as many numbers as are written.
    unsafe { vector.store(line.0.as_mut_ptr()) };
}
