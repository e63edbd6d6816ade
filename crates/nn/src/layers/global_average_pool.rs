//! The mean over all pixels of an image, or over all steps of a sequence.

use crate::ends::Ends;
use crate::error::Result;
use crate::kernel::elementwise::{add, scale_into};
use crate::layer::RelevanceRule;
use crate::layer::{Backward, Forward, Layer};
use crate::layers::Context;
use crate::shape::Shape;

/// One value for every channel: the mean of all pixels, or of the steps that are real.
pub struct GlobalAveragePool {
    pixels: usize,
    channels: usize,
    ends: Ends,
}

impl GlobalAveragePool {
    /// A pool over images or sequences.
    pub fn new(context: &Context) -> Result<GlobalAveragePool> {
        let (pixels, channels) = match context.input {
            Shape::Image { height, width, channels } => (height * width, channels),
            Shape::Sequence { steps, features } => (steps, features),
            Shape::Vector(_) => return context.refuse("it takes an image or a sequence"),
        };
        Ok(GlobalAveragePool { pixels, channels, ends: context.ends.clone() })
    }
}

impl Layer for GlobalAveragePool {
    fn kind(&self) -> &'static str {
        "global-average-pool"
    }

    fn output(&self) -> Shape {
        Shape::Vector(self.channels)
    }

    fn forward(&self, Forward { pass, input, output, .. }: Forward) {
        let examples = input.chunks_exact(self.pixels * self.channels);
        for (example, (input, output)) in examples.zip(output.chunks_exact_mut(self.channels)).enumerate() {
            let real = self.ends.of(pass.tokens, example, self.pixels);
            output.fill(0.0);
            input.chunks_exact(self.channels).take(real).for_each(|pixel| add(output, pixel));
            output.iter_mut().for_each(|value| *value /= real as f32);
        }
    }

    fn backward(&self, Backward { pass, upstream, downstream, .. }: Backward) {
        let Some(downstream) = downstream else { return };
        let examples = downstream.chunks_exact_mut(self.pixels * self.channels);
        for (example, (downstream, upstream)) in
            examples.zip(upstream.chunks_exact(self.channels)).enumerate()
        {
            let real = self.ends.of(pass.tokens, example, self.pixels);
            let (seen, behind) = downstream.split_at_mut(real * self.channels);
            for pixel in seen.chunks_exact_mut(self.channels) {
                scale_into(pixel, 1.0 / real as f32, upstream);
            }
            behind.fill(0.0);
        }
    }

    fn relevance(&self) -> Option<RelevanceRule> {
        Some(RelevanceRule::Proportional)
    }
}
