//! Turns an image or a sequence into a vector.

use crate::error::Result;
use crate::layer::RelevanceRule;
use crate::layer::{Backward, Forward, Layer};
use crate::layers::Context;
use crate::shape::Shape;

/// Writes the values in PyTorch's order, channels first, so that the weights of the layer behind it are PyTorch's.
pub struct Flatten {
    pixels: usize,
    channels: usize,
}

impl Flatten {
    /// A layer for any shape but sequences of which some steps only fill up.
    pub fn new(context: &Context) -> Result<Flatten> {
        match context.input {
            Shape::Sequence { steps: 2.., .. } if context.ends.are_known() => context.refuse(
                "it would pass on what fills up short texts; put a `global-average-pool` or a recurrent layer before it, or \
                 leave out `padding` of the embedding",
            ),
            Shape::Image { height, width, channels } => Ok(Flatten { pixels: height * width, channels }),
            other => Ok(Flatten { pixels: 1, channels: other.len() }),
        }
    }
}

/// `target[column][row] = source[row][column]`.
fn transpose(source: &[f32], rows: usize, columns: usize, target: &mut [f32]) {
    for (row, source) in source.chunks_exact(columns).enumerate() {
        for (column, value) in source.iter().enumerate() {
            target[column * rows + row] = *value;
        }
    }
}

impl Layer for Flatten {
    fn kind(&self) -> &'static str {
        "flatten"
    }

    fn output(&self) -> Shape {
        Shape::Vector(self.pixels * self.channels)
    }

    fn forward(&self, Forward { input, output, .. }: Forward) {
        let len = self.pixels * self.channels;
        for (input, output) in input.chunks_exact(len).zip(output.chunks_exact_mut(len)) {
            transpose(input, self.pixels, self.channels, output);
        }
    }

    fn backward(&self, Backward { upstream, downstream, .. }: Backward) {
        let Some(downstream) = downstream else { return };
        let len = self.pixels * self.channels;
        for (upstream, downstream) in upstream.chunks_exact(len).zip(downstream.chunks_exact_mut(len)) {
            transpose(upstream, self.channels, self.pixels, downstream);
        }
    }

    fn relevance(&self) -> Option<RelevanceRule> {
        Some(RelevanceRule::Moved)
    }
}
