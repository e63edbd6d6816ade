//! Norms of one example's gradients from inner products between its steps.

use crate::kernel::panel::COLUMNS;
use multiversion::multiversion;

/// The vectors of one example, one for each step, in pieces of sixteen values.
#[derive(Clone, Copy)]
pub struct Vectors<'a> {
    /// From the first piece of the first step on.
    pub values: &'a [f32],
    /// Distance between two steps.
    pub step_stride: usize,
    /// Pieces of a vector.
    pub pieces: usize,
    /// Distance between two pieces.
    pub piece_stride: usize,
}

const ROWS: usize = 4;
const OTHERS: usize = 3;
const LANES: usize = 8;

/// Squared norms of `Σ_t d_t ⊗ h_t` and `Σ_t d_t ⊗ x_t`: the inner products of the Gram matrix of `d` with those of
/// `h` and `x`.
///
/// All three Gram matrices are symmetric and are made tile by tile, never as a whole.
///
/// # Source
/// Li et al. 2022, "Large language models can be strong differentially private learners", section 4.
#[multiversion(targets("x86_64+avx2+fma", "x86_64+avx512f+avx512vl+avx512dq+avx512bw"))]
pub fn gram_norms(steps: usize, gradients: Vectors, hidden: Vectors, inputs: Vectors) -> [f32; 2] {
    let mut norms = [0.0; 2];
    for row in (0..steps).step_by(ROWS) {
        let rows: [usize; ROWS] = std::array::from_fn(|index| row + index);
        for other in (0..steps.min(row + ROWS)).step_by(OTHERS) {
            let others: [usize; OTHERS] = std::array::from_fn(|index| other + index);
            let gradients = tile(gradients, steps, rows, others);
            let hidden = tile(hidden, steps, rows, others);
            let inputs = tile(inputs, steps, rows, others);
            for (row_index, &row) in rows.iter().enumerate() {
                for (other_index, &other) in others.iter().enumerate() {
                    // Below the diagonal a product stands for two; above it, and beyond the end, for none.
                    let count = if row >= steps || other > row {
                        continue;
                    } else if other == row {
                        1.0
                    } else {
                        2.0
                    };
                    let gradient = count * gradients[row_index][other_index];
                    norms[0] += gradient * inputs[row_index][other_index];
                    norms[1] += gradient * hidden[row_index][other_index];
                }
            }
        }
    }
    // Rounding can push the norm of a vanishing gradient below zero; NaN must pass.
    norms.map(|norm| if norm < 0.0 { 0.0 } else { norm })
}

/// Inner products of a few steps with a few others; steps beyond the end repeat the last.
#[inline(always)]
fn tile(
    vectors: Vectors,
    steps: usize,
    rows: [usize; ROWS],
    others: [usize; OTHERS],
) -> [[f32; OTHERS]; ROWS] {
    let mut sums = [[[0.0f32; LANES]; OTHERS]; ROWS];
    let start = |step: usize| step.min(steps - 1) * vectors.step_stride;
    let rows = rows.map(start);
    let others = others.map(start);
    for piece in 0..vectors.pieces {
        let values = &vectors.values[piece * vectors.piece_stride..];
        let load = |start: usize| -> &[f32; COLUMNS] {
            values[start..start + COLUMNS].as_array().expect("a whole piece")
        };
        let (rows, others) = (rows.map(load), others.map(load));
        for half in [0, LANES] {
            for (sums, row) in sums.iter_mut().zip(rows) {
                for (sum, other) in sums.iter_mut().zip(others) {
                    for lane in 0..LANES {
                        sum[lane] = row[half + lane].mul_add(other[half + lane], sum[lane]);
                    }
                }
            }
        }
    }
    sums.map(|sums| sums.map(|sum| sum.iter().sum()))
}
