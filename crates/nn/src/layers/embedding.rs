//! Embedding: every token becomes a trainable feature vector.

use crate::ends::Ends;
use crate::error::Result;
use crate::kernel::elementwise::{add, add_scaled, squared_norm};
use crate::layer::{
    Backward, Carry, Factors, Forward, Gradients, Initial, Layer, Pass, RelevanceRule, Summation, Tensor,
};
use crate::layers::Context;
use crate::shape::Shape;

/// A table with one row for each token; the input holds token numbers.
///
/// A number that is no token gives a row of NaN, so that the example is left out and reported at this layer. The token that fills up
/// short texts gives zeros and has no gradient; behind the last other token of a text, no layer sees it.
///
/// # Source
/// PyTorch's `Embedding`, with `padding_idx` as it is there before weights are loaded.
pub struct Embedding {
    pub(super) length: usize,
    pub(super) tokens: usize,
    pub(super) features: usize,
    pub(super) padding: Option<usize>,
}

/// Token numbers up to here are exact in single precision.
const LARGEST_TABLE: usize = 1 << 24;

impl Embedding {
    /// A table of `tokens` rows of `features` values, of which that of `padding` does not count.
    pub fn new(
        context: &Context,
        tokens: usize,
        features: usize,
        padding: Option<usize>,
    ) -> Result<Embedding> {
        let Shape::Vector(length) = context.input else {
            return context.refuse("it takes a vector of token numbers");
        };
        if tokens == 0 || features == 0 || tokens > LARGEST_TABLE {
            return context.refuse(&format!("it needs 1 to {LARGEST_TABLE} tokens and at least one feature"));
        }
        match padding {
            Some(padding) if padding >= tokens => {
                context.refuse(&format!("padding: {padding} is none of its {tokens} tokens"))
            }
            _ => Ok(Embedding { length, tokens, features, padding }),
        }
    }

    /// The row of a token; `None` if there is no such token.
    pub(super) fn row(&self, value: f32) -> Option<usize> {
        let exists = value >= 0.0 && value < self.tokens as f32 && value.fract() == 0.0;
        exists.then_some(value as usize)
    }

    /// Whether a token only fills up.
    pub(super) fn is_padding(&self, token: f32) -> bool {
        self.padding.is_some_and(|padding| token == padding as f32)
    }

    /// Calls `each` with every token of one example that counts, once, and with the sum of the gradients at its places.
    fn for_each_token(
        &self,
        tokens: &[f32],
        upstream: &[f32],
        sum: &mut [f32],
        mut each: impl FnMut(f32, &[f32]),
    ) {
        for (place, token) in tokens.iter().enumerate() {
            if self.is_padding(*token) || tokens[..place].contains(token) {
                continue;
            }
            sum.fill(0.0);
            let rest = upstream.chunks_exact(self.features).zip(tokens).skip(place);
            rest.filter(|(_, other)| *other == token).for_each(|(gradient, _)| add(sum, gradient));
            each(*token, sum);
        }
    }
}

impl Layer for Embedding {
    fn kind(&self) -> &'static str {
        "embedding"
    }

    fn output(&self) -> Shape {
        Shape::Sequence { steps: self.length, features: self.features }
    }

    fn tensors(&self) -> Vec<Tensor> {
        let sizes = vec![self.tokens, self.features];
        vec![Tensor::new("weight", sizes, Initial::Normal)]
    }

    fn scratch_len(&self, _pass: &Pass) -> usize {
        self.features
    }

    fn forward(&self, Forward { weights, input, output, .. }: Forward) {
        for (&token, output) in input.iter().zip(output.chunks_exact_mut(self.features)) {
            match self.row(token) {
                Some(_) if self.is_padding(token) => output.fill(0.0),
                Some(row) => {
                    output.copy_from_slice(&weights.parameters[row * self.features..][..self.features]);
                }
                None => output.fill(f32::NAN),
            }
        }
    }

    /// Tokens have no gradient.
    fn backward(&self, Backward { downstream, .. }: Backward) {
        if let Some(downstream) = downstream {
            downstream.fill(0.0);
        }
    }

    /// Rows of different tokens do not overlap; those of equal tokens add up before the norm is taken.
    fn squared_norms(&self, Gradients { input, upstream, memory, .. }: Gradients, norms: &mut [f64]) {
        let sum = &mut memory.scratch[..self.features];
        let examples =
            input.chunks_exact(self.length).zip(upstream.chunks_exact(self.length * self.features));
        for (norm, (tokens, upstream)) in norms.iter_mut().zip(examples) {
            *norm = 0.0;
            self.for_each_token(tokens, upstream, sum, |_, sum| *norm += squared_norm(sum));
        }
    }

    fn tokens(&self) -> Option<usize> {
        Some(self.tokens)
    }

    fn ends(&self, _before: &Ends) -> Ends {
        self.padding.map(Ends::of_tokens).unwrap_or_default()
    }

    fn summation(&self) -> Summation {
        Summation::Vectors
    }

    fn accumulate(
        &self,
        Gradients { input, upstream, memory, .. }: Gradients,
        factors: Factors,
        gradient: &mut [f32],
    ) {
        let sum = &mut memory.scratch[..self.features];
        for example in factors.examples() {
            let tokens = &input[example * self.length..][..self.length];
            let upstream = &upstream[example * self.length * self.features..];
            self.for_each_token(tokens, upstream, sum, |token, sum| {
                if let Some(row) = self.row(token) {
                    let row = &mut gradient[row * self.features..][..self.features];
                    add_scaled(row, factors.at(0, example), sum);
                }
            });
        }
    }

    fn relevance(&self) -> Option<RelevanceRule> {
        Some(RelevanceRule::Own)
    }

    /// A token has the relevance of its features.
    fn carry_relevance(&self, Carry { upstream, downstream, .. }: Carry) {
        for (token, features) in downstream.iter_mut().zip(upstream.chunks_exact(self.features)) {
            *token = features.iter().sum();
        }
    }

    fn output_axis(&self, _tensor: &Tensor) -> usize {
        1
    }
}
