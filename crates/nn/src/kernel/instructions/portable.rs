//! Vectors as plain arrays, left to the compiler: NEON on aarch64, SSE2 on x86-64, anything elsewhere.

use super::{InstructionSet, LANES, Pair, Vector};

pub(crate) struct Portable;

impl InstructionSet for Portable {
    type Vector = Quarter;
    type Wide = Pair<Pair<Quarter>>;
    const ROWS: usize = if cfg!(target_arch = "aarch64") { 6 } else { 2 };
    const COLUMNS: usize = 1;
}

const WIDTH: usize = LANES / 4;

/// A quarter of a line: one register of 128 bits.
#[derive(Clone, Copy)]
pub(crate) struct Quarter([f32; WIDTH]);

impl Quarter {
    #[inline(always)]
    fn zip(self, other: Self, operation: impl Fn(f32, f32) -> f32) -> Self {
        let mut result = self;
        for lane in 0..WIDTH {
            result.0[lane] = operation(self.0[lane], other.0[lane]);
        }
        result
    }
}

impl Vector for Quarter {
    const WIDTH: usize = WIDTH;

    #[inline(always)]
    fn splat(value: f32) -> Self {
        Quarter([value; WIDTH])
    }

    #[inline(always)]
    unsafe fn load(source: *const f32) -> Self {
        // SAFETY: the caller promises as many numbers; they may lie anywhere that suits a number.
        Quarter(unsafe { source.cast::<[f32; WIDTH]>().read() })
    }

    #[inline(always)]
    unsafe fn store(self, target: *mut f32) {
        // SAFETY: as in `load`.
        unsafe { target.cast::<[f32; WIDTH]>().write(self.0) };
    }

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        self.zip(other, |left, right| left + right)
    }

    #[inline(always)]
    fn subtract(self, other: Self) -> Self {
        self.zip(other, |left, right| left - right)
    }

    #[inline(always)]
    fn multiply(self, other: Self) -> Self {
        self.zip(other, |left, right| left * right)
    }

    #[inline(always)]
    fn minimum(self, other: Self) -> Self {
        self.zip(other, |left, right| if left < right { left } else { right })
    }

    #[inline(always)]
    fn maximum(self, other: Self) -> Self {
        self.zip(other, |left, right| if left > right { left } else { right })
    }

    #[inline(always)]
    fn accumulate(self, left: Self, right: Self) -> Self {
        let mut result = self;
        for lane in 0..WIDTH {
            // Elsewhere `mul_add` is a slow library call.
            result.0[lane] = if cfg!(target_arch = "aarch64") {
                left.0[lane].mul_add(right.0[lane], self.0[lane])
            } else {
                left.0[lane] * right.0[lane] + self.0[lane]
            };
        }
        result
    }
}
