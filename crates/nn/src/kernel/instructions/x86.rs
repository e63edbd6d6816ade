//! The vector instructions of x86-64 that a processor may or may not have.

use std::arch::x86_64::*;

use super::{InstructionSet, Machine, Pair, Task, Vector, machine};

/// Sixteen registers of half a line.
pub(crate) struct Avx2;

impl InstructionSet for Avx2 {
    type Vector = Half;
    type Wide = Pair<Half>;
    const ROWS: usize = 6;
    const COLUMNS: usize = 1;
}

/// Thirty-two registers of a whole line.
pub(crate) struct Avx512;

impl InstructionSet for Avx512 {
    type Vector = Whole;
    type Wide = Whole;
    const ROWS: usize = 12;
    const COLUMNS: usize = 2;
}

/// Runs `task` unless the processor has neither instruction set; then gives it back.
pub(super) fn dispatch<T: Task>(task: T) -> Option<T> {
    #[target_feature(enable = "avx512f,avx2,fma")]
    fn avx512<T: Task>(task: T) {
        task.run::<Avx512>();
    }

    #[target_feature(enable = "avx2,fma")]
    fn avx2<T: Task>(task: T) {
        task.run::<Avx2>();
    }

    match machine() {
        // SAFETY: the processor has the three features that `avx512` enables, as `machine` has found.
        Machine::Avx512 => unsafe { avx512(task) },
        // SAFETY: the processor has the two features that `avx2` enables, as `machine` has found.
        Machine::Avx2 => unsafe { avx2(task) },
        Machine::Portable => return Some(task),
    }
    None
}

macro_rules! vector {
    (
        $(#[$documentation:meta])* $name:ident, $register:ident, $width:literal,
        $splat:ident, $load:ident, $store:ident, $add:ident, $subtract:ident, $multiply:ident, $accumulate:ident,
        $minimum:ident, $maximum:ident
    ) => {
        $(#[$documentation])*
        #[derive(Clone, Copy)]
        pub(crate) struct $name($register);

        impl Vector for $name {
            const WIDTH: usize = $width;

            #[inline(always)]
            fn splat(value: f32) -> Self {
                // SAFETY: only tasks make vectors, and `dispatch` has found the instructions before it runs one.
                Self(unsafe { $splat(value) })
            }

            #[inline(always)]
            unsafe fn load(source: *const f32) -> Self {
                // SAFETY: the caller promises as many numbers; for the instructions see `splat`.
                Self(unsafe { $load(source) })
            }

            #[inline(always)]
            unsafe fn store(self, target: *mut f32) {
                // SAFETY: the caller promises room for as many numbers; for the instructions see `splat`.
                unsafe { $store(target, self.0) };
            }

            #[inline(always)]
            fn add(self, other: Self) -> Self {
                // SAFETY: as in `splat`.
                Self(unsafe { $add(self.0, other.0) })
            }

            #[inline(always)]
            fn subtract(self, other: Self) -> Self {
                // SAFETY: as in `splat`.
                Self(unsafe { $subtract(self.0, other.0) })
            }

            #[inline(always)]
            fn multiply(self, other: Self) -> Self {
                // SAFETY: as in `splat`.
                Self(unsafe { $multiply(self.0, other.0) })
            }

            #[inline(always)]
            fn minimum(self, other: Self) -> Self {
                // SAFETY: as in `splat`.
                Self(unsafe { $minimum(self.0, other.0) })
            }

            #[inline(always)]
            fn maximum(self, other: Self) -> Self {
                // SAFETY: as in `splat`.
                Self(unsafe { $maximum(self.0, other.0) })
            }

            #[inline(always)]
            fn accumulate(self, left: Self, right: Self) -> Self {
                // SAFETY: as in `splat`.
                Self(unsafe { $accumulate(left.0, right.0, self.0) })
            }
        }
    };
}

vector!(
    /// Half a line: one register of AVX.
    Half, __m256, 8,
    _mm256_set1_ps, _mm256_loadu_ps, _mm256_storeu_ps, _mm256_add_ps, _mm256_sub_ps, _mm256_mul_ps, _mm256_fmadd_ps,
    _mm256_min_ps, _mm256_max_ps
);
vector!(
    /// A line: one register of AVX-512.
    Whole, __m512, 16,
    _mm512_set1_ps, _mm512_loadu_ps, _mm512_storeu_ps, _mm512_add_ps, _mm512_sub_ps, _mm512_mul_ps, _mm512_fmadd_ps,
    _mm512_min_ps, _mm512_max_ps
);
