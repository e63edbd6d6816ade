//! Embedding and mean in one: a text becomes the mean of its tokens' feature vectors.

use crate::error::Result;
use crate::kernel::elementwise::{add, add_scaled, squared_norm};
use crate::kernel::shares::ratio;
use crate::layer::{Backward, Carry, Factors, Forward, Gradients, Layer, RelevanceRule, Summation, Tensor};
use crate::layers::Context;
use crate::layers::embedding::Embedding;
use crate::shape::Shape;

/// The mean of the rows of all tokens but the one that fills up short texts; zeros if there is no other.
///
/// A number that is no token gives NaN, as an [`Embedding`] does.
///
/// # Source
/// PyTorch's `EmbeddingBag` with `mode="mean"` and `padding_idx`.
pub struct EmbeddingBag {
    table: Embedding,
}

impl EmbeddingBag {
    /// A table of `tokens` rows of `features` values, of which that of `padding` does not count.
    pub fn new(
        context: &Context,
        tokens: usize,
        features: usize,
        padding: Option<usize>,
    ) -> Result<EmbeddingBag> {
        Ok(EmbeddingBag { table: Embedding::new(context, tokens, features, padding)? })
    }

    /// The tokens of one example that count.
    fn counted<'a>(&'a self, tokens: &'a [f32]) -> impl Iterator<Item = f32> + Clone + 'a {
        tokens.iter().copied().filter(|&token| !self.table.is_padding(token))
    }

    /// Calls `each` with every token that counts, once, and with its share of the mean.
    fn for_each_share(&self, tokens: &[f32], mut each: impl FnMut(f32, f32)) {
        let counted = self.counted(tokens);
        let all = counted.clone().count() as f32;
        for (place, token) in counted.clone().enumerate() {
            if !counted.clone().take(place).any(|other| other == token) {
                let count = counted.clone().filter(|&other| other == token).count();
                each(token, count as f32 / all);
            }
        }
    }
}

impl Layer for EmbeddingBag {
    fn kind(&self) -> &'static str {
        "embedding-bag"
    }

    fn output(&self) -> Shape {
        Shape::Vector(self.table.features)
    }

    fn tensors(&self) -> Vec<Tensor> {
        self.table.tensors()
    }

    fn forward(&self, Forward { weights, input, output, .. }: Forward) {
        let features = self.table.features;
        let examples = input.chunks_exact(self.table.length).zip(output.chunks_exact_mut(features));
        for (tokens, output) in examples {
            output.fill(0.0);
            for token in self.counted(tokens) {
                match self.table.row(token) {
                    Some(row) => add(output, &weights.parameters[row * features..][..features]),
                    None => output.fill(f32::NAN),
                }
            }
            let all = self.counted(tokens).count().max(1) as f32;
            output.iter_mut().for_each(|value| *value /= all);
        }
    }

    /// Tokens have no gradient.
    fn backward(&self, Backward { downstream, .. }: Backward) {
        if let Some(downstream) = downstream {
            downstream.fill(0.0);
        }
    }

    /// The row of a token gets its share of the upstream gradient, and rows of different tokens do not overlap.
    fn squared_norms(&self, Gradients { input, upstream, .. }: Gradients, norms: &mut [f64]) {
        let examples = input.chunks_exact(self.table.length).zip(upstream.chunks_exact(self.table.features));
        for (norm, (tokens, upstream)) in norms.iter_mut().zip(examples) {
            let mut shares = 0.0;
            self.for_each_share(tokens, |_, share| shares += f64::from(share).powi(2));
            *norm = shares * squared_norm(upstream);
        }
    }

    fn tokens(&self) -> Option<usize> {
        Some(self.table.tokens)
    }

    fn summation(&self) -> Summation {
        Summation::Vectors
    }

    fn accumulate(
        &self,
        Gradients { input, upstream, .. }: Gradients,
        factors: Factors,
        gradient: &mut [f32],
    ) {
        let (length, features) = (self.table.length, self.table.features);
        for example in factors.examples() {
            let upstream = &upstream[example * features..][..features];
            self.for_each_share(&input[example * length..][..length], |token, share| {
                if let Some(row) = self.table.row(token) {
                    let row = &mut gradient[row * features..][..features];
                    add_scaled(row, factors.at(0, example) * share, upstream);
                }
            });
        }
    }

    fn relevance(&self) -> Option<RelevanceRule> {
        Some(RelevanceRule::Own)
    }

    /// A token has the relevance of what its row adds to the mean.
    fn carry_relevance(&self, Carry { weights, values, upstream, downstream, stabiliser, .. }: Carry) {
        let features = self.table.features;
        let count = self.counted(values.input).count() as f32;
        let counts = |token: f32| self.table.padding.is_none_or(|padding| token != padding as f32);
        for (relevance, &token) in downstream.iter_mut().zip(values.input) {
            let row = self.table.row(token).filter(|_| counts(token));
            let row = row.map_or(&[][..], |row| &weights.parameters[row * features..][..features]);
            let sums = upstream.iter().zip(values.output);
            let shares = row
                .iter()
                .zip(sums)
                .map(|(weight, (&relevance, &sum))| ratio(relevance, sum, stabiliser) * (weight / count));
            *relevance = shares.sum();
        }
    }

    fn output_axis(&self, tensor: &Tensor) -> usize {
        self.table.output_axis(tensor)
    }
}
