//! The mean under a sliding window.

use crate::ends::Ends;
use crate::error::Result;
use crate::kernel::instructions::vectorised;
use crate::layer::RelevanceRule;
use crate::layer::{Backward, Forward, Layer};
use crate::layers::Context;
use crate::layers::window::{Extent, Window};
use crate::shape::Shape;

/// Average pooling with any kernel, stride and padding; padding counts as zeros, as PyTorch has it by default
/// (`count_include_pad`).
pub struct AveragePool {
    window: Window,
    ends: Ends,
}

impl AveragePool {
    /// A pool over images or sequences.
    pub fn new(context: &Context, kernel: Extent, stride: Extent, padding: Extent) -> Result<AveragePool> {
        let window = Window::new(context, kernel, stride, padding)?;
        Ok(AveragePool { window, ends: context.ends.clone() })
    }
}

impl Layer for AveragePool {
    fn kind(&self) -> &'static str {
        "average-pool"
    }

    fn output(&self) -> Shape {
        self.window.output(self.window.channels)
    }

    fn forward(&self, Forward { pass, input, output, .. }: Forward) {
        let outputs = output.chunks_exact_mut(self.window.output_len());
        for (example, (input, output)) in input.chunks_exact(self.window.input_len()).zip(outputs).enumerate()
        {
            let window = self.window.until(self.ends.of(pass.tokens, example, self.window.width));
            let (seen, behind) = output.split_at_mut(window.output_len());
            forward(&window, input, seen);
            behind.fill(0.0);
        }
    }

    fn backward(&self, Backward { pass, upstream, downstream, .. }: Backward) {
        let Some(downstream) = downstream else { return };
        downstream.fill(0.0);
        let upstreams = upstream.chunks_exact(self.window.output_len());
        let examples = upstreams.zip(downstream.chunks_exact_mut(self.window.input_len()));
        for (example, (upstream, downstream)) in examples.enumerate() {
            let window = self.window.until(self.ends.of(pass.tokens, example, self.window.width));
            backward(&window, &upstream[..window.output_len()], downstream);
        }
    }

    fn ends(&self, before: &Ends) -> Ends {
        before.behind(self.window.slide())
    }

    fn relevance(&self) -> Option<RelevanceRule> {
        Some(RelevanceRule::Proportional)
    }
}

vectorised! {
    /// One example.
    fn forward(window: &Window, input: &[f32], output: &mut [f32]) {
        let (channels, share) = (window.channels, 1.0 / window.taps() as f32);
        for (position, mean) in output.chunks_exact_mut(channels).enumerate() {
            mean.fill(0.0);
            for y in window.rows(position / window.output_width) {
                for x in window.columns(position % window.output_width) {
                    let pixel = &input[(y * window.width + x) * channels..][..channels];
                    for (mean, value) in mean.iter_mut().zip(pixel) {
                        *mean += value;
                    }
                }
            }
            mean.iter_mut().for_each(|mean| *mean *= share);
        }
    }

    /// One example.
    fn backward(window: &Window, upstream: &[f32], downstream: &mut [f32]) {
        let (channels, share) = (window.channels, 1.0 / window.taps() as f32);
        for (position, gradient) in upstream.chunks_exact(channels).enumerate() {
            for y in window.rows(position / window.output_width) {
                for x in window.columns(position % window.output_width) {
                    let pixel = &mut downstream[(y * window.width + x) * channels..][..channels];
                    for (value, gradient) in pixel.iter_mut().zip(gradient) {
                        *value += share * gradient;
                    }
                }
            }
        }
    }
}
