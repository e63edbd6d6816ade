//! Another shape for the same values.

use crate::error::Result;
use crate::layer::RelevanceRule;
use crate::layer::{Backward, Forward, Layer};
use crate::layers::Context;
use crate::limits;
use crate::shape::Shape;
use std::sync::OnceLock;

/// Keeps the values in PyTorch's order, channels first, as `view` does there; inside, channels lie side by side, so
/// images change their order in memory.
pub struct Reshape {
    input: Shape,
    shape: Shape,
    /// For each value of the output its place in the input; empty if nothing moves. Made when the layer is first used: reading a
    /// description takes no memory for the values that it speaks of.
    sources: OnceLock<Vec<u32>>,
}

impl Reshape {
    /// To a shape of one, two or three sizes, images as `[channels, height, width]`.
    pub fn new(context: &Context, sizes: &[usize]) -> Result<Reshape> {
        if context.ends.are_known() {
            return context
                .refuse("it would lose where short texts end; leave out `padding` of the embedding");
        }
        let Some(shape) = Shape::from_sizes(sizes) else {
            return context.refuse("it makes shapes of one, two or three sizes");
        };
        if limits::product(sizes, limits::EDGE) != Some(context.input.len()) {
            return context
                .refuse(&format!("its {} values do not fill the shape {shape}", context.input.len()));
        }
        Ok(Reshape { input: context.input, shape, sources: OnceLock::new() })
    }

    fn sources(&self) -> &[u32] {
        self.sources.get_or_init(|| {
            let mut sources = vec![0; self.shape.len()];
            for index in 0..self.shape.len() {
                sources[stored(self.shape, index)] = stored(self.input, index) as u32;
            }
            if sources.iter().enumerate().all(|(index, &source)| index == source as usize) {
                sources = Vec::new();
            }
            sources
        })
    }
}

/// Where a value lies in memory, given its place in PyTorch's order.
fn stored(shape: Shape, index: usize) -> usize {
    match shape {
        Shape::Image { height, width, channels } => {
            let pixels = height * width;
            (index % pixels) * channels + index / pixels
        }
        _ => index,
    }
}

impl Layer for Reshape {
    fn kind(&self) -> &'static str {
        "reshape"
    }

    fn output(&self) -> Shape {
        self.shape
    }

    fn forward(&self, Forward { input, output, .. }: Forward) {
        let sources = self.sources();
        if sources.is_empty() {
            output.copy_from_slice(input);
            return;
        }
        let len = sources.len();
        for (input, output) in input.chunks_exact(len).zip(output.chunks_exact_mut(len)) {
            for (output, &source) in output.iter_mut().zip(sources) {
                *output = input[source as usize];
            }
        }
    }

    fn backward(&self, Backward { upstream, downstream, .. }: Backward) {
        let Some(downstream) = downstream else { return };
        let sources = self.sources();
        if sources.is_empty() {
            downstream.copy_from_slice(upstream);
            return;
        }
        let len = sources.len();
        for (upstream, downstream) in upstream.chunks_exact(len).zip(downstream.chunks_exact_mut(len)) {
            for (upstream, &source) in upstream.iter().zip(sources) {
                downstream[source as usize] = *upstream;
            }
        }
    }

    fn relevance(&self) -> Option<RelevanceRule> {
        Some(RelevanceRule::Moved)
    }
}
