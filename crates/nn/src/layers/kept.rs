//! Gradients kept on the tape: a weight's and a bias's, for every example.

use crate::kernel::elementwise::{add_scaled, add_two_scaled};
use crate::layer::Factors;

/// Where the gradients of a layer with a weight and, perhaps, a bias lie.
pub(super) struct Kept<'a> {
    /// The tape.
    pub tape: &'a [f32],
    /// Values on the tape for each example.
    pub block: usize,
    /// Place of the gradients in an example's block.
    pub first: usize,
    /// Values of the weight.
    pub weight_len: usize,
    /// Values of the bias; zero if there is none.
    pub bias_len: usize,
}

impl Kept<'_> {
    /// The gradients of one example: of the weight, and of the bias.
    pub fn of(&self, example: usize) -> (&[f32], &[f32]) {
        let own = &self.tape[example * self.block + self.first..][..self.weight_len + self.bias_len];
        own.split_at(self.weight_len)
    }

    /// Adds the gradients, each times its factor.
    pub fn accumulate(&self, factors: Factors, gradient: &mut [f32]) {
        let (weight_sum, bias_sum) = gradient.split_at_mut(self.weight_len);
        let examples = factors.examples();
        for first in examples.clone().step_by(2) {
            let (weight, bias) = self.of(first);
            if first + 1 == examples.end {
                add_scaled(weight_sum, factors.at(0, first), weight);
                if self.bias_len > 0 {
                    add_scaled(bias_sum, factors.at(1, first), bias);
                }
                continue;
            }
            let (next_weight, next_bias) = self.of(first + 1);
            let both = |tensor| [factors.at(tensor, first), factors.at(tensor, first + 1)];
            add_two_scaled(weight_sum, both(0), [weight, next_weight]);
            if self.bias_len > 0 {
                add_two_scaled(bias_sum, both(1), [bias, next_bias]);
            }
        }
    }
}
