//! Relevance through attention: who looks at whom is given, what is seen gets all.

use super::MultiHeadAttention;
use super::head::Head;
use crate::kernel::shares::{add_shares, ratio};
use crate::layer::Carry;

impl MultiHeadAttention {
    /// From the outputs to what each step sees, from there to the values it sees, in proportion to how much it looks at them,
    /// and on to the steps behind these. Queries and keys get nothing.
    pub(super) fn carry(&self, Carry { weights, values, upstream, downstream, stabiliser, tape, .. }: Carry) {
        let Head { steps, width, features, .. } = self.head;
        let [rows_len, looks_len, seen_len] = self.lens();
        let (rows, rest) = tape.split_at(rows_len);
        let (looks, rest) = rest.split_at(looks_len);
        let seen = &rest[..seen_len];
        let [before, behind] = self.dense.parameters(&weights);
        let ratios = |relevance: &[f32], sums: &[f32]| -> Vec<f32> {
            relevance.iter().zip(sums).map(|(&relevance, &sum)| ratio(relevance, sum, stabiliser)).collect()
        };
        let at = |step: usize| step * features..(step + 1) * features;

        let mut at_seen = vec![0.0; seen_len];
        let behind = &behind[..features * features];
        let outputs = ratios(upstream, values.output);
        for step in 0..steps {
            add_shares(behind, &outputs[at(step)], &seen[at(step)], &mut at_seen[at(step)]);
        }

        let sees = ratios(&at_seen, seen);
        let value = |step: usize| &rows[step * 3 * features + 2 * features..][..features];
        let mut at_values = vec![0.0; seen_len];
        for (head, looks) in looks.chunks_exact(steps * steps).enumerate() {
            let columns = head * width..(head + 1) * width;
            for (step, looks) in looks.chunks_exact(steps).enumerate() {
                for (other, look) in looks.iter().enumerate() {
                    for column in columns.clone() {
                        at_values[other * features + column] +=
                            sees[step * features + column] * (look * value(other)[column]);
                    }
                }
            }
        }

        downstream.fill(0.0);
        let of_values = &before[2 * features * features..3 * features * features];
        for step in 0..steps {
            let ratios = ratios(&at_values[at(step)], value(step));
            add_shares(of_values, &ratios, &values.input[at(step)], &mut downstream[at(step)]);
        }
    }
}
