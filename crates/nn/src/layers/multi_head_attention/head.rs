//! One head of one example: who looks at whom, and what it sees.

use crate::kernel::elementwise::{dot, sum};
use crate::kernel::instructions::vectorised;
use crate::kernel::math::exp;
use crate::kernel::matrix::{Matrix, product};

/// Queries, keys and values of one head: for every step, `width` values of each, `features` apart.
#[derive(Clone, Copy)]
pub struct Head {
    /// Steps of the sequence.
    pub steps: usize,
    /// Features of the head.
    pub width: usize,
    /// Features of all heads.
    pub features: usize,
    /// Whether a step sees only those up to itself.
    pub causal: bool,
}

impl Head {
    /// Values of scratch memory that [`Head::backward`] needs.
    pub fn scratch_len(&self) -> usize {
        self.steps * (self.steps + 3 * self.width)
    }

    fn scale(&self) -> f32 {
        1.0 / (self.width as f32).sqrt()
    }

    /// Writes how much each step looks at each, `P = softmax(Q Kᵀ / √width)`, and what it sees, `P V`.
    ///
    /// # Source
    /// Vaswani et al. 2017, "Attention is all you need", equation (1).
    pub fn forward(&self, rows: &[f32], looks: &mut [f32], seen: &mut [f32]) {
        let steps = self.steps;
        let part = |index: usize| {
            Matrix::strided(&rows[index * self.features..], steps, self.width, 3 * self.features)
        };
        product(part(0), part(1).transposed(), false, looks, steps);
        for (step, row) in looks.chunks_exact_mut(steps).enumerate() {
            let (visible, hidden) = row.split_at_mut(if self.causal { step + 1 } else { steps });
            softmax(visible, self.scale());
            hidden.fill(0.0);
        }
        product(Matrix::rows(looks, steps, steps), part(2), false, seen, self.features);
    }

    /// Turns queries, keys and values into their gradients.
    ///
    /// With `G` the gradient of what is seen: that of the values is `Pᵀ G`, that of the scores `S = P ∘ (G Vᵀ - row sums of
    /// P ∘ G Vᵀ) / √width`, and from there `S K` for the queries and `Sᵀ Q` for the keys.
    pub fn backward(&self, rows: &mut [f32], looks: &[f32], seen_gradient: &[f32], scratch: &mut [f32]) {
        let (steps, width, stride) = (self.steps, self.width, 3 * self.features);
        let (scores, copies) = scratch.split_at_mut(steps * steps);
        for (step, row) in rows.chunks(stride).take(steps).enumerate() {
            for part in 0..3 {
                let copy = &mut copies[(part * steps + step) * width..][..width];
                copy.copy_from_slice(&row[part * self.features..][..width]);
            }
        }
        let [queries, keys, values] =
            [0, 1, 2].map(|part| Matrix::rows(&copies[part * steps * width..], steps, width));
        let upstream = Matrix::strided(seen_gradient, steps, width, self.features);
        product(upstream, values.transposed(), false, scores, steps);
        for (scores, looks) in scores.chunks_exact_mut(steps).zip(looks.chunks_exact(steps)) {
            through_softmax(looks, scores, self.scale());
        }
        let (scores, looks) = (Matrix::rows(scores, steps, steps), Matrix::rows(looks, steps, steps));
        product(scores, keys, false, rows, stride);
        product(scores.transposed(), queries, false, &mut rows[self.features..], stride);
        product(looks.transposed(), upstream, false, &mut rows[2 * self.features..], stride);
    }
}

vectorised! {
    /// Replaces scores by `softmax(scale · scores)`.
    fn softmax(scores: &mut [f32], scale: f32) {
        let largest = largest(scores);
        for score in &mut *scores {
            *score = exp(scale * (*score - largest));
        }
        let share = 1.0 / sum(scores);
        for score in scores {
            *score *= share;
        }
    }

    /// The largest score. NaN loses every comparison; it shows in what is made of it.
    fn largest(scores: &[f32]) -> f32 {
        let larger = |one: f32, other: f32| if other > one { other } else { one };
        let (chunks, rest) = scores.as_chunks::<16>();
        let mut lanes = [f32::NEG_INFINITY; 16];
        for chunk in chunks {
            for (lane, &score) in lanes.iter_mut().zip(chunk) {
                *lane = larger(*lane, score);
            }
        }
        lanes.iter().chain(rest).fold(f32::NEG_INFINITY, |one, &other| larger(one, other))
    }

    /// Turns the gradient of what the softmax gave into that of what it was given.
    fn through_softmax(looks: &[f32], gradient: &mut [f32], scale: f32) {
        let mean = dot(looks, gradient);
        for (gradient, looks) in gradient.iter_mut().zip(looks) {
            *gradient = scale * looks * (*gradient - mean);
        }
    }
}
