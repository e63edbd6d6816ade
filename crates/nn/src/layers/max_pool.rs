//! The largest value under a sliding window.

use crate::error::Result;
use crate::layer::{Layer, Memory, Pass, Values, Weights};
use crate::layers::Context;
use crate::layers::window::{Extent, Window};
use crate::shape::Shape;
use multiversion::multiversion;

/// Max pooling with any kernel, stride and padding; windows may overlap.
///
/// Of several equal maxima the first in reading order takes the gradient, as in PyTorch.
pub struct MaxPool {
    window: Window,
}

impl MaxPool {
    /// A pool over images.
    pub fn new(context: &Context, kernel: Extent, stride: Extent, padding: Extent) -> Result<MaxPool> {
        let window = Window::new(context, kernel, stride, padding)?;
        if 2 * window.padding.0 > window.kernel_height || 2 * window.padding.1 > window.kernel_width {
            return context.refuse("padding must be at most half the kernel, or some windows would be empty");
        }
        Ok(MaxPool { window })
    }
}

impl Layer for MaxPool {
    fn kind(&self) -> &'static str {
        "max-pool"
    }

    fn output(&self) -> Shape {
        Shape::image(
            self.window.channels,
            self.window.output_height,
            self.window.output_width,
        )
    }

    fn reads_output(&self) -> bool {
        true
    }

    fn forward(&self, _weights: Weights, _pass: &Pass, input: &[f32], output: &mut [f32], _memory: Memory) {
        forward(&self.window, input, output);
    }

    fn backward(
        &self,
        _weights: Weights,
        _pass: &Pass,
        values: Values,
        upstream: &[f32],
        downstream: Option<&mut [f32]>,
        _memory: Memory,
    ) {
        if let Some(downstream) = downstream {
            downstream.fill(0.0);
            backward(&self.window, values, upstream, downstream);
        }
    }
}

#[multiversion(targets("x86_64+avx2+fma", "x86_64+avx512f+avx512vl+avx512dq+avx512bw"))]
fn forward(window: &Window, input: &[f32], output: &mut [f32]) {
    let channels = window.channels;
    let output_len = window.positions() * channels;
    for (input, output) in input
        .chunks_exact(window.input_len())
        .zip(output.chunks_exact_mut(output_len))
    {
        let mut pixels = output.chunks_exact_mut(channels);
        for row in 0..window.output_height {
            for column in 0..window.output_width {
                let Some(largest) = pixels.next() else { return };
                let columns = window.columns(column);
                let mut first = true;
                for y in window.rows(row) {
                    let line =
                        &input[(y * window.width + columns.start) * channels..][..columns.len() * channels];
                    for pixel in line.chunks_exact(channels) {
                        if first {
                            largest.copy_from_slice(pixel);
                            first = false;
                        } else {
                            for (largest, &value) in largest.iter_mut().zip(pixel) {
                                // NaN wins, so that it is not lost here.
                                *largest = if value > *largest || value.is_nan() {
                                    value
                                } else {
                                    *largest
                                };
                            }
                        }
                    }
                }
            }
        }
    }
}

#[multiversion(targets("x86_64+avx2+fma", "x86_64+avx512f+avx512vl+avx512dq+avx512bw"))]
fn backward(window: &Window, values: Values, upstream: &[f32], downstream: &mut [f32]) {
    /// Channels handled together: their open gradients stay in registers.
    const LANES: usize = 16;
    let channels = window.channels;
    let output_len = window.positions() * channels;
    let examples = values
        .input
        .chunks_exact(window.input_len())
        .zip(values.output.chunks_exact(output_len));
    let gradients = upstream
        .chunks_exact(output_len)
        .zip(downstream.chunks_exact_mut(window.input_len()));
    for ((input, output), (upstream, downstream)) in examples.zip(gradients) {
        for row in 0..window.output_height {
            for column in 0..window.output_width {
                let at = (row * window.output_width + column) * channels;
                let columns = window.columns(column);
                for begin in (0..channels).step_by(LANES) {
                    let lanes = LANES.min(channels - begin);
                    let largest = &output[at + begin..][..lanes];
                    let mut open = [0.0f32; LANES];
                    open[..lanes].copy_from_slice(&upstream[at + begin..][..lanes]);
                    for y in window.rows(row) {
                        for x in columns.clone() {
                            let pixel = (y * window.width + x) * channels + begin;
                            let input = &input[pixel..][..lanes];
                            let downstream = &mut downstream[pixel..][..lanes];
                            if let (Some(input), Some(largest), Some(downstream)) = (
                                input.as_array::<LANES>(),
                                largest.as_array::<LANES>(),
                                downstream.as_mut_array::<LANES>(),
                            ) {
                                give(input, largest, &mut open, downstream);
                            } else {
                                give(input, largest, &mut open, downstream);
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Where the input is the maximum, moves the open gradient to it.
#[inline(always)]
fn give(input: &[f32], largest: &[f32], open: &mut [f32], downstream: &mut [f32]) {
    for (((value, largest), open), downstream) in input.iter().zip(largest).zip(open).zip(downstream) {
        let wins = value == largest;
        *downstream += if wins { *open } else { 0.0 };
        *open = if wins { 0.0 } else { *open };
    }
}
