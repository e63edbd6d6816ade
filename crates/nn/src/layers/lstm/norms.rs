//! Norms of one example's gradients from inner products between its steps.

use super::gradient;
use crate::kernel::dots::{self, OTHERS, ROWS, dots};
use crate::layers::gram::Size;

/// The vectors of one example, one for each step.
#[derive(Clone, Copy)]
pub struct Vectors<'a> {
    /// From the first step on.
    pub values: &'a [f32],
    /// Distance between two steps.
    pub stride: usize,
    /// Length of a vector, padded to whole groups of sixteen.
    pub len: usize,
}

impl<'a> Vectors<'a> {
    /// Inner products of a few steps with a few others; steps beyond the last repeat it.
    fn dots(&self, first_row: usize, first_other: usize, last: usize) -> [[f32; ROWS]; OTHERS] {
        let at = |step: usize| &self.values[step.min(last) * self.stride..][..self.len];
        dots(
            std::array::from_fn(|row| at(first_row + row)),
            std::array::from_fn(|other| at(first_other + other)),
        )
    }
}

/// Squared norms of `Σ_t d_t ⊗ x_t` and `Σ_t d_t ⊗ h_t`: the inner products of the Gram matrix of `d` with those of
/// `x` and `h`.
///
/// All three Gram matrices are symmetric and are made tile by tile, never as a whole.
///
/// # Source
/// Li et al. 2022, "Large language models can be strong differentially private learners", section 4.
pub fn gram_norms(steps: usize, gradients: Vectors, inputs: Vectors, hidden: Vectors) -> [f64; 2] {
    let mut norms = [[0.0f64; ROWS]; 2];
    let mut sizes = [Size::default(); 2];
    for first_row in (0..steps).step_by(ROWS) {
        for first_other in (0..steps.min(first_row + ROWS)).step_by(OTHERS) {
            let [gradients, inputs, hidden] =
                [gradients, inputs, hidden].map(|vectors| vectors.dots(first_row, first_other, steps - 1));
            for other in 0..OTHERS {
                for row in 0..ROWS {
                    let count = pairs(first_row + row, first_other + other, steps);
                    // In double precision: the entries of small gradients have no product in single precision.
                    let gradient = count * f64::from(gradients[other][row]);
                    norms[0][row] += gradient * f64::from(inputs[other][row]);
                    norms[1][row] += gradient * f64::from(hidden[other][row]);
                    if count == 1.0 {
                        sizes[0].add(inputs[other][row], gradients[other][row]);
                        sizes[1].add(hidden[other][row], gradients[other][row]);
                    }
                }
            }
        }
    }
    let entry = |tensor: usize| {
        let other = if tensor == 0 { inputs.len } else { hidden.len };
        dots::roundings(gradients.len) + dots::roundings(other)
    };
    std::array::from_fn(|tensor| {
        let terms = gradient::roundings_of_terms(steps);
        sizes[tensor].guard(norms[tensor].iter().sum(), entry(tensor), gradient::roundings(steps), terms)
    })
}

/// Entries of a symmetric matrix that one product stands for: two below the diagonal, none above it or beyond the end.
fn pairs(row: usize, other: usize, steps: usize) -> f64 {
    if row >= steps || other > row {
        0.0
    } else if other == row {
        1.0
    } else {
        2.0
    }
}
