//! One step of one example, forward and back.

use crate::kernel::instructions::vectorised;
use crate::kernel::math::{sigmoid, tanh};

vectorised! {
    /// Turns the sums at the gates (reset, update, candidate), those `from_input` and those `from_hidden`, into their activations,
    /// left in place of the former, and the hidden state into the next:
    /// `r = σ(a_r + b_r)`, `z = σ(a_z + b_z)`, `n = tanh(a_n + r · b_n)`, `h = (1 - z) · n + z · h_before`.
    ///
    /// # Source
    /// Cho et al. 2014, "Learning phrase representations using RNN encoder-decoder for statistical machine translation", with the
    /// reset behind the product, and gate names and order, as in PyTorch's `GRU`.
    pub fn forward(from_input: &mut [f32], from_hidden: &[f32], hidden: &mut [f32]) {
        let units = hidden.len();
        let (reset, rest) = from_input.split_at_mut(units);
        let (update, candidate) = rest.split_at_mut(units);
        let (reset_sum, rest) = from_hidden.split_at(units);
        let (update_sum, candidate_sum) = rest.split_at(units);
        let (candidate, candidate_sum) = (&mut candidate[..units], &candidate_sum[..units]);
        for unit in 0..units {
            reset[unit] = sigmoid(reset[unit] + reset_sum[unit]);
            update[unit] = sigmoid(update[unit] + update_sum[unit]);
            candidate[unit] = tanh(reset[unit].mul_add(candidate_sum[unit], candidate[unit]));
            hidden[unit] = update[unit].mul_add(hidden[unit] - candidate[unit], candidate[unit]);
        }
    }

    /// Turns the activations of the gates into the gradients of both sums, and the gradient of the hidden state into the part of the
    /// state before it that does not come through the sums.
    ///
    /// `from_hidden` holds the sum at the candidate in its last third.
    pub fn backward(
        from_input: &mut [f32],
        from_hidden: &mut [f32],
        before: &[f32],
        hidden_gradient: &mut [f32],
    ) {
        let units = hidden_gradient.len();
        let (reset, rest) = from_input.split_at_mut(units);
        let (update, candidate) = rest.split_at_mut(units);
        let (reset_sum, rest) = from_hidden.split_at_mut(units);
        let (update_sum, candidate_sum) = rest.split_at_mut(units);
        let (candidate, candidate_sum) = (&mut candidate[..units], &mut candidate_sum[..units]);
        let before = &before[..units];
        for unit in 0..units {
            let (r, z, n, gradient) = (reset[unit], update[unit], candidate[unit], hidden_gradient[unit]);
            let at_candidate = gradient * (1.0 - z) * (1.0 - n * n);
            reset[unit] = at_candidate * candidate_sum[unit] * (r * (1.0 - r));
            update[unit] = gradient * (before[unit] - n) * (z * (1.0 - z));
            candidate[unit] = at_candidate;
            reset_sum[unit] = reset[unit];
            update_sum[unit] = update[unit];
            candidate_sum[unit] = at_candidate * r;
            hidden_gradient[unit] = gradient * z;
        }
    }
}
