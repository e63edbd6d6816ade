//! Inner products of a few vectors with a few others, all at once so that each value is loaded once for several products.

#[cfg(target_arch = "x86_64")]
use super::instructions::{Machine, machine};

/// Vectors on the left.
pub const ROWS: usize = 4;

/// Vectors on the right.
pub const OTHERS: usize = 3;

/// `dots[other][row] = Σ_k rows[row][k] · others[other][k]`.
///
/// # Panics
/// If the vectors differ in length, or their length is not a multiple of eight.
#[inline]
pub fn dots(rows: [&[f32]; ROWS], others: [&[f32]; OTHERS]) -> [[f32; ROWS]; OTHERS] {
    let len = rows[0].len();
    assert!(len.is_multiple_of(8), "vectors of {len}");
    assert!(rows.iter().chain(&others).all(|vector| vector.len() == len), "vectors of one length");
    #[cfg(target_arch = "x86_64")]
    if machine() != Machine::Portable {
        // SAFETY: the machine has the instructions, and all vectors have one length, a multiple of eight.
        return unsafe { x86::dots_256(rows, others) };
    }
    others.map(|other| {
        rows.map(|row| {
            let products = row.iter().zip(other).map(|(left, right)| left * right);
            products.sum()
        })
    })
}

/// Roundings that a term of an inner product of this many terms can meet: it is taken in eight parts where the machine can, and
/// one after the other elsewhere.
pub fn roundings(len: usize) -> usize {
    #[cfg(target_arch = "x86_64")]
    if machine() != Machine::Portable {
        return len / 8 + 3;
    }
    len
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{OTHERS, ROWS};
    use std::arch::x86_64::*;

    /// # Safety
    /// The machine has AVX2 and FMA, and all vectors have one length, a multiple of eight.
    #[target_feature(enable = "avx2,fma")]
    pub unsafe fn dots_256(rows: [&[f32]; ROWS], others: [&[f32]; OTHERS]) -> [[f32; ROWS]; OTHERS] {
        let mut sums = [[_mm256_setzero_ps(); ROWS]; OTHERS];
        for start in (0..rows[0].len()).step_by(8) {
            // SAFETY: eight values from `start` on lie inside every vector.
            let (left, right) = unsafe {
                let left: [__m256; ROWS] =
                    std::array::from_fn(|row| _mm256_loadu_ps(rows[row].as_ptr().add(start)));
                let right: [__m256; OTHERS] =
                    std::array::from_fn(|other| _mm256_loadu_ps(others[other].as_ptr().add(start)));
                (left, right)
            };
            for other in 0..OTHERS {
                for row in 0..ROWS {
                    sums[other][row] = _mm256_fmadd_ps(left[row], right[other], sums[other][row]);
                }
            }
        }
        let mut dots = [[0.0; ROWS]; OTHERS];
        for other in 0..OTHERS {
            let [first, second, third, fourth] = sums[other];
            let low = _mm256_hadd_ps(first, second);
            let high = _mm256_hadd_ps(third, fourth);
            let quarters = _mm256_hadd_ps(low, high);
            let total = _mm_add_ps(_mm256_castps256_ps128(quarters), _mm256_extractf128_ps::<1>(quarters));
            // SAFETY: four values fit into a row.
            unsafe { _mm_storeu_ps(dots[other].as_mut_ptr(), total) };
        }
        dots
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_a_naive_sum() {
        let vectors: Vec<Vec<f32>> = (0..ROWS + OTHERS)
            .map(|vector| (0..40).map(|index| ((vector * 37 + index * 11) % 23) as f32 - 11.0).collect())
            .collect();
        let computed = dots(
            std::array::from_fn(|row| &vectors[row][..]),
            std::array::from_fn(|other| &vectors[ROWS + other][..]),
        );
        for (other, dots) in computed.iter().enumerate() {
            for (row, dot) in dots.iter().enumerate() {
                let expected: f32 =
                    (0..40).map(|index| vectors[row][index] * vectors[ROWS + other][index]).sum();
                assert_eq!(*dot, expected, "row {row}, other {other}");
            }
        }
    }
}
