//! Another shape for the same values.

use crate::error::Result;
use crate::layer::RelevanceRule;
use crate::layer::{Backward, Forward, Layer};
use crate::layers::Context;
use crate::limits;
use crate::shape::Shape;

/// Keeps the values in PyTorch's order, channels first, as `view` does there; inside, channels lie side by side, so
/// images change their order in memory.
pub struct Reshape {
    shape: Shape,
    /// Where each output value comes from; empty if nothing moves.
    sources: Vec<u32>,
}

impl Reshape {
    /// To a shape of one, two or three sizes, images as `[channels, height, width]`.
    pub fn new(context: &Context, sizes: &[usize]) -> Result<Reshape> {
        let Some(shape) = Shape::from_sizes(sizes) else {
            return context.refuse("it makes shapes of one, two or three sizes");
        };
        if limits::product(sizes, limits::EDGE) != Some(context.input.len()) {
            return context
                .refuse(&format!("its {} values do not fill the shape {shape}", context.input.len()));
        }
        let mut sources = vec![0; shape.len()];
        for index in 0..shape.len() {
            sources[stored(shape, index)] = stored(context.input, index) as u32;
        }
        if sources.iter().enumerate().all(|(index, &source)| index == source as usize) {
            sources = Vec::new();
        }
        Ok(Reshape { shape, sources })
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
        if self.sources.is_empty() {
            output.copy_from_slice(input);
            return;
        }
        let len = self.sources.len();
        for (input, output) in input.chunks_exact(len).zip(output.chunks_exact_mut(len)) {
            for (output, &source) in output.iter_mut().zip(&self.sources) {
                *output = input[source as usize];
            }
        }
    }

    fn backward(&self, Backward { upstream, downstream, .. }: Backward) {
        let Some(downstream) = downstream else { return };
        if self.sources.is_empty() {
            downstream.copy_from_slice(upstream);
            return;
        }
        let len = self.sources.len();
        for (upstream, downstream) in upstream.chunks_exact(len).zip(downstream.chunks_exact_mut(len)) {
            for (upstream, &source) in upstream.iter().zip(&self.sources) {
                downstream[source as usize] = *upstream;
            }
        }
    }

    fn relevance(&self) -> Option<RelevanceRule> {
        Some(RelevanceRule::Moved)
    }
}
