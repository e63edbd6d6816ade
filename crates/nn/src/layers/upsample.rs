//! Larger images by repeating pixels.

use crate::error::Result;
use crate::kernel::elementwise::add;
use crate::layer::RelevanceRule;
use crate::layer::{Backward, Forward, Layer};
use crate::layers::Context;
use crate::shape::Shape;

/// Every pixel becomes a square of itself.
///
/// # Source
/// PyTorch's `nn.Upsample` with `mode="nearest"` and a whole factor; before a convolution it is the transposed convolution without
/// chequered patterns of Odena, Dumoulin and Olah 2016, "Deconvolution and checkerboard artifacts".
pub struct Upsample {
    height: usize,
    width: usize,
    channels: usize,
    factor: usize,
}

impl Upsample {
    /// For images.
    pub fn new(context: &Context, factor: usize) -> Result<Upsample> {
        let Shape::Image { height, width, channels } = context.input else {
            return context.refuse("it takes an image [channels, height, width]");
        };
        if factor == 0 {
            return context.refuse("its factor must be at least 1");
        }
        Ok(Upsample { height, width, channels, factor })
    }

    /// The pixel that a pixel of the output repeats.
    fn source(&self, position: usize) -> usize {
        let (row, column) = (position / (self.width * self.factor), position % (self.width * self.factor));
        (row / self.factor * self.width + column / self.factor) * self.channels
    }
}

impl Layer for Upsample {
    fn kind(&self) -> &'static str {
        "upsample"
    }

    fn output(&self) -> Shape {
        Shape::image(self.channels, self.height * self.factor, self.width * self.factor)
    }

    fn forward(&self, Forward { input, output, .. }: Forward) {
        let (small, large) = (self.height * self.width * self.channels, self.output().len());
        for (input, output) in input.chunks_exact(small).zip(output.chunks_exact_mut(large)) {
            for (position, pixel) in output.chunks_exact_mut(self.channels).enumerate() {
                pixel.copy_from_slice(&input[self.source(position)..][..self.channels]);
            }
        }
    }

    fn backward(&self, Backward { upstream, downstream, .. }: Backward) {
        let Some(downstream) = downstream else { return };
        downstream.fill(0.0);
        let (small, large) = (self.height * self.width * self.channels, self.output().len());
        for (upstream, downstream) in upstream.chunks_exact(large).zip(downstream.chunks_exact_mut(small)) {
            for (position, pixel) in upstream.chunks_exact(self.channels).enumerate() {
                add(&mut downstream[self.source(position)..][..self.channels], pixel);
            }
        }
    }

    fn relevance(&self) -> Option<RelevanceRule> {
        Some(RelevanceRule::Proportional)
    }
}
