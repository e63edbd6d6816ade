//! The mean under a sliding window.

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
}

impl AveragePool {
    /// A pool over images or sequences.
    pub fn new(context: &Context, kernel: Extent, stride: Extent, padding: Extent) -> Result<AveragePool> {
        let window = Window::new(context, kernel, stride, padding)?;
        Ok(AveragePool { window })
    }
}

impl Layer for AveragePool {
    fn kind(&self) -> &'static str {
        "average-pool"
    }

    fn output(&self) -> Shape {
        self.window.output(self.window.channels)
    }

    fn forward(&self, Forward { input, output, .. }: Forward) {
        forward(&self.window, input, output);
    }

    fn backward(&self, Backward { upstream, downstream, .. }: Backward) {
        if let Some(downstream) = downstream {
            downstream.fill(0.0);
            backward(&self.window, upstream, downstream);
        }
    }

    fn relevance(&self) -> Option<RelevanceRule> {
        Some(RelevanceRule::Proportional)
    }
}

vectorised! {
    fn forward(window: &Window, input: &[f32], output: &mut [f32]) {
        let (channels, share) = (window.channels, 1.0 / window.taps() as f32);
        let examples =
            input.chunks_exact(window.input_len()).zip(output.chunks_exact_mut(window.positions() * channels));
        for (input, output) in examples {
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
    }

    fn backward(window: &Window, upstream: &[f32], downstream: &mut [f32]) {
        let (channels, share) = (window.channels, 1.0 / window.taps() as f32);
        let examples = upstream
            .chunks_exact(window.positions() * channels)
            .zip(downstream.chunks_exact_mut(window.input_len()));
        for (upstream, downstream) in examples {
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
}
