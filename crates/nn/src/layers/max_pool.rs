//! The largest value under a sliding window.

use crate::ends::Ends;
use crate::error::Result;
use crate::kernel::instructions::vectorised;
use crate::layer::RelevanceRule;
use crate::layer::{Backward, Forward, Layer, Values};
use crate::layers::Context;
use crate::layers::window::{Extent, Window};
use crate::shape::Shape;

/// Max pooling with any kernel, stride and padding; windows may overlap.
///
/// Of several equal maxima the first in reading order takes the gradient, as in PyTorch.
pub struct MaxPool {
    window: Window,
    ends: Ends,
}

impl MaxPool {
    /// A pool over images or sequences.
    pub fn new(context: &Context, kernel: Extent, stride: Extent, padding: Extent) -> Result<MaxPool> {
        let window = Window::new(context, kernel, stride, padding)?;
        if 2 * window.padding.0 > window.kernel_height || 2 * window.padding.1 > window.kernel_width {
            return context.refuse("padding must be at most half the kernel, or some windows would be empty");
        }
        Ok(MaxPool { window, ends: context.ends.clone() })
    }
}

impl Layer for MaxPool {
    fn kind(&self) -> &'static str {
        "max-pool"
    }

    fn output(&self) -> Shape {
        self.window.output(self.window.channels)
    }

    fn reads_output(&self) -> bool {
        true
    }

    fn forward(&self, Forward { pass, input, output, .. }: Forward) {
        if pass.tokens.is_empty() {
            return forward(&self.window, input, output);
        }
        let outputs = output.chunks_exact_mut(self.window.output_len());
        for (example, (input, output)) in input.chunks_exact(self.window.input_len()).zip(outputs).enumerate()
        {
            let window = self.window.until(self.ends.of(pass.tokens, example, self.window.width));
            let (seen, behind) = output.split_at_mut(window.output_len());
            forward(&window, &input[..window.input_len()], seen);
            behind.fill(0.0);
        }
    }

    fn backward(&self, Backward { pass, values, upstream, downstream, .. }: Backward) {
        let Some(downstream) = downstream else { return };
        downstream.fill(0.0);
        if pass.tokens.is_empty() {
            return backward(&self.window, values, upstream, downstream);
        }
        let (input_len, output_len) = (self.window.input_len(), self.window.output_len());
        for (example, downstream) in downstream.chunks_exact_mut(input_len).enumerate() {
            let window = self.window.until(self.ends.of(pass.tokens, example, self.window.width));
            let (seen, passed_on) = (window.input_len(), window.output_len());
            let values = Values {
                input: &values.input[example * input_len..][..seen],
                output: &values.output[example * output_len..][..passed_on],
            };
            let upstream = &upstream[example * output_len..][..passed_on];
            backward(&window, values, upstream, &mut downstream[..seen]);
        }
    }

    fn ends(&self, before: &Ends) -> Ends {
        before.behind(self.window.slide())
    }

    fn relevance(&self) -> Option<RelevanceRule> {
        Some(RelevanceRule::Moved)
    }
}

/// Channels handled together: they stay in registers while the window is read. Where fewer are left, those behind them are read too,
/// of the next pixel, since loops of a length that is known in advance are several times as fast.
const LANES: usize = 16;

/// The first values of a slice; zeros behind its end.
#[inline(always)]
fn lanes(values: &[f32]) -> [f32; LANES] {
    values.first_chunk().copied().unwrap_or_else(|| {
        let mut lanes = [0.0; LANES];
        lanes[..values.len()].copy_from_slice(values);
        lanes
    })
}

vectorised! {
    /// Any number of examples.
    fn forward(window: &Window, input: &[f32], output: &mut [f32]) {
        let channels = window.channels;
        let output_len = window.positions() * channels;
        for (input, output) in input.chunks_exact(window.input_len()).zip(output.chunks_exact_mut(output_len)) {
            for row in 0..window.output_height {
                let rows = window.rows(row);
                for column in 0..window.output_width {
                    let columns = window.columns(column);
                    let output = &mut output[(row * window.output_width + column) * channels..][..channels];
                    for (block, output) in output.chunks_mut(LANES).enumerate() {
                        let mut largest = [f32::NEG_INFINITY; LANES];
                        for y in rows.clone() {
                            for x in columns.clone() {
                                let pixel = (y * window.width + x) * channels + block * LANES;
                                for (largest, value) in largest.iter_mut().zip(lanes(&input[pixel..])) {
                                    *largest = larger(*largest, value);
                                }
                            }
                        }
                        match output.first_chunk_mut() {
                            Some(output) => *output = largest,
                            None => output.copy_from_slice(&largest[..output.len()]),
                        }
                    }
                }
            }
        }
    }
}

/// The larger of two values; NaN wins, so that it is not lost here.
#[inline(always)]
fn larger(largest: f32, value: f32) -> f32 {
    if value > largest || value.is_nan() { value } else { largest }
}

vectorised! {
    /// Any number of examples.
    fn backward(window: &Window, values: Values, upstream: &[f32], downstream: &mut [f32]) {
        let channels = window.channels;
        let output_len = window.positions() * channels;
        let examples = values.input.chunks_exact(window.input_len()).zip(values.output.chunks_exact(output_len));
        let gradients = upstream.chunks_exact(output_len).zip(downstream.chunks_exact_mut(window.input_len()));
        for ((input, output), (upstream, downstream)) in examples.zip(gradients) {
            for row in 0..window.output_height {
                let rows = window.rows(row);
                for column in 0..window.output_width {
                    let columns = window.columns(column);
                    let at = (row * window.output_width + column) * channels;
                    let maxima = output[at..at + channels].chunks(LANES);
                    let opens = upstream[at..at + channels].chunks(LANES);
                    for (block, (maxima, opens)) in maxima.zip(opens).enumerate() {
                        // Nothing is open in the lanes of the next pixel: they are given zeros.
                        let (largest, mut open) = (lanes(maxima), lanes(opens));
                        for y in rows.clone() {
                            for x in columns.clone() {
                                let pixel = (y * window.width + x) * channels + block * LANES;
                                let (input, downstream) = (&input[pixel..], &mut downstream[pixel..]);
                                match (input.first_chunk::<LANES>(), downstream.first_chunk_mut::<LANES>()) {
                                    (Some(input), Some(downstream)) => give(input, &largest, &mut open, downstream),
                                    _ => give(input, &largest, &mut open, downstream),
                                }
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
