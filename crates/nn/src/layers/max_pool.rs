//! The largest value under a sliding window.

use crate::ends::Ends;
use crate::error::Result;
use crate::kernel::instructions::vectorised;
use crate::layer::RelevanceRule;
use crate::layer::{Backward, Forward, Layer, Pass, Values};
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

    fn scratch_len(&self, _pass: &Pass) -> usize {
        self.window.width.max(self.window.output_width) * self.window.channels
    }

    fn forward(&self, Forward { pass, input, output, memory, .. }: Forward) {
        if pass.tokens.is_empty() {
            return forward(&self.window, input, output, memory.scratch);
        }
        let outputs = output.chunks_exact_mut(self.window.output_len());
        for (example, (input, output)) in input.chunks_exact(self.window.input_len()).zip(outputs).enumerate()
        {
            let window = self.window.until(self.ends.of(pass.tokens, example, self.window.width));
            let (seen, behind) = output.split_at_mut(window.output_len());
            forward(&window, &input[..window.input_len()], seen, memory.scratch);
            behind.fill(0.0);
        }
    }

    fn backward(&self, Backward { pass, values, upstream, downstream, memory, .. }: Backward) {
        let Some(downstream) = downstream else { return };
        downstream.fill(0.0);
        if pass.tokens.is_empty() {
            return backward(&self.window, values, upstream, downstream, memory.scratch);
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
            backward(&window, values, upstream, &mut downstream[..seen], memory.scratch);
        }
    }

    fn ends(&self, before: &Ends) -> Ends {
        before.behind(self.window.slide())
    }

    fn relevance(&self) -> Option<RelevanceRule> {
        Some(RelevanceRule::Moved)
    }
}

vectorised! {
    /// Any number of examples. Windows share the largest values of their columns, so that a pixel is compared as often as a window has
    /// rows and columns, not as often as it has pixels.
    fn forward(window: &Window, input: &[f32], output: &mut [f32], columns: &mut [f32]) {
        let (row_len, output_row_len) = (window.width * window.channels, window.output_width * window.channels);
        let columns = &mut columns[..row_len];
        let outputs = output.chunks_exact_mut(window.output_height * output_row_len);
        for (input, output) in input.chunks_exact(window.input_len()).zip(outputs) {
            for (row, output) in output.chunks_exact_mut(output_row_len).enumerate() {
                columns.fill(f32::NEG_INFINITY);
                for y in window.rows(row) {
                    raise(columns, &input[y * row_len..][..row_len]);
                }
                output.fill(f32::NEG_INFINITY);
                for tap in 0..window.kernel_width {
                    let Some(run) = window.run(tap) else { continue };
                    let values = columns[run.input..].chunks(run.apart);
                    for (output, values) in output[run.output.clone()].chunks_exact_mut(run.len).zip(values) {
                        raise(output, &values[..run.len]);
                    }
                }
            }
        }
    }
}

/// Where a value is larger, or NaN, so that it is not lost here, takes it.
#[inline(always)]
fn raise(largest: &mut [f32], values: &[f32]) {
    for (largest, value) in largest.iter_mut().zip(values) {
        *largest = if *value > *largest || value.is_nan() { *value } else { *largest };
    }
}

vectorised! {
    /// Any number of examples. `open` is the part of a row's gradient that no pixel has taken yet.
    fn backward(window: &Window, values: Values, upstream: &[f32], downstream: &mut [f32], open: &mut [f32]) {
        let (row_len, output_row_len) = (window.width * window.channels, window.output_width * window.channels);
        let (input_len, output_len) = (window.input_len(), window.output_height * output_row_len);
        let open = &mut open[..output_row_len];
        let examples = values.input.chunks_exact(input_len).zip(values.output.chunks_exact(output_len));
        let gradients = upstream.chunks_exact(output_len).zip(downstream.chunks_exact_mut(input_len));
        for ((input, output), (upstream, downstream)) in examples.zip(gradients) {
            let rows = output.chunks_exact(output_row_len).zip(upstream.chunks_exact(output_row_len));
            for (row, (largest, upstream)) in rows.enumerate() {
                open.copy_from_slice(upstream);
                for y in window.rows(row) {
                    let input = &input[y * row_len..][..row_len];
                    let downstream = &mut downstream[y * row_len..][..row_len];
                    for tap in 0..window.kernel_width {
                        let Some(run) = window.run(tap) else { continue };
                        let largest = largest[run.output.clone()].chunks_exact(run.len);
                        let open = open[run.output.clone()].chunks_exact_mut(run.len);
                        let pixels = input[run.input..].chunks(run.apart);
                        let targets = downstream[run.input..].chunks_mut(run.apart);
                        for ((largest, open), (input, downstream)) in largest.zip(open).zip(pixels.zip(targets)) {
                            give(&input[..run.len], largest, open, &mut downstream[..run.len]);
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A value that is no number must be seen behind the pool: a gradient that it has spoiled is left out.
    #[test]
    fn what_is_no_number_is_not_lost() {
        let context = Context {
            name: "0".to_string(),
            kind: "max-pool",
            input: Shape::image(1, 1, 4),
            ends: Ends::default(),
        };
        let kernel = Extent::Rectangle([1, 2]);
        let pool = MaxPool::new(&context, kernel, Extent::Square(1), Extent::Square(0)).unwrap();
        for place in 0..4 {
            let (mut input, mut output) = ([1.0, 2.0, 3.0, 4.0], [0.0; 3]);
            input[place] = f32::NAN;
            forward(&pool.window, &input, &mut output, &mut [0.0; 4]);
            let expected: Vec<bool> = (0..3).map(|window| window == place || window + 1 == place).collect();
            assert_eq!(output.map(f32::is_nan).to_vec(), expected, "{place}");
        }
    }
}
