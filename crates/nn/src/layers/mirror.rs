//! Left and right exchanged.

use crate::error::Result;
use crate::layer::{Backward, Forward, Layer, RelevanceRule};
use crate::layers::Context;
use crate::shape::Shape;

/// The mirror image. In a branch of a sum it makes features that are the same for an image and its mirror image.
pub struct Mirror {
    shape: Shape,
    width: usize,
    channels: usize,
}

impl Mirror {
    /// Of images.
    pub fn new(context: &Context) -> Result<Mirror> {
        match context.input {
            Shape::Image { width, channels, .. } => Ok(Mirror { shape: context.input, width, channels }),
            _ => context.refuse("it takes images"),
        }
    }

    fn copy(&self, from: &[f32], to: &mut [f32]) {
        let row = self.width * self.channels;
        for (from, to) in from.chunks_exact(row).zip(to.chunks_exact_mut(row)) {
            let pixels = from.chunks_exact(self.channels).rev();
            pixels.zip(to.chunks_exact_mut(self.channels)).for_each(|(from, to)| to.copy_from_slice(from));
        }
    }
}

impl Layer for Mirror {
    fn kind(&self) -> &'static str {
        "mirror"
    }

    fn output(&self) -> Shape {
        self.shape
    }

    fn forward(&self, Forward { input, output, .. }: Forward) {
        self.copy(input, output);
    }

    fn backward(&self, Backward { upstream, downstream, .. }: Backward) {
        if let Some(downstream) = downstream {
            self.copy(upstream, downstream);
        }
    }

    fn relevance(&self) -> Option<RelevanceRule> {
        Some(RelevanceRule::Moved)
    }
}
