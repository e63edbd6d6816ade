//! A convolution with a stride as one of stride one: the pixels between two steps of the window, a cell, are taken for one pixel with all of
//! their channels, and the window for one of as many cells as it touches, zero where it ends within a cell. Then
//! [Winograd's algorithm](crate::kernel::winograd) serves it, which saves more than the zeros cost.

use crate::kernel::line::{lines, lines_mut};
use crate::kernel::winograd::Winograd;
use crate::kernel::{LANES, Line};
use crate::layers::window::Window;

/// Fewest multiplications that must be saved, as a ratio: transforms take their share of it.
const LEAST_SAVED: f64 = 1.6;

/// A convolution over cells of `stride` x `stride` pixels.
pub struct Cells {
    window: Window,
    outputs: usize,
    stride: usize,
    /// Cells along the side of the window.
    kernel: usize,
    winograd: Winograd,
}

impl Cells {
    /// The way for a convolution without groups, if cells fit its image and it pays.
    pub fn new(window: &Window, outputs: usize) -> Option<Cells> {
        let (stride, padding) = (window.stride.0, window.padding.0);
        let kernel = window.kernel_height.div_ceil(stride);
        let channels = stride * stride * window.channels;
        let fits = stride > 1
            && window.stride.1 == stride
            && window.padding.1 == padding
            && window.kernel_width == window.kernel_height
            && [window.height, window.width, padding].iter().all(|size| size.is_multiple_of(stride))
            && (3..=5).contains(&kernel)
            && padding / stride < kernel
            && channels.min(outputs) >= LANES;
        if !fits {
            return None;
        }
        let (height, width) = (window.height / stride, window.width / stride);
        let winograd = Winograd::new(height, width, channels, outputs, kernel, padding / stride);
        let direct = window.positions() * window.taps() * window.channels;
        let saved = direct as f64 / (winograd.multiplications() * channels) as f64;
        (saved >= LEAST_SAVED).then_some(Cells { window: *window, outputs, stride, kernel, winograd })
    }

    fn weight_len(&self) -> usize {
        (self.kernel * self.stride).pow(2) * self.window.channels * self.outputs
    }

    /// Values of the transformed weights, and of the weights of cells that they are made from.
    pub fn prepared_len(&self) -> usize {
        self.winograd.transformed_weights_len() * LANES + self.weight_len()
    }

    /// Values of scratch memory for `batch` examples: their cells, and what the algorithm needs.
    pub fn scratch_len(&self, batch: usize) -> usize {
        self.winograd.scratch_len() * LANES + batch * self.window.input_len()
    }

    /// Transforms the weights (stored height, width, input, output).
    pub fn prepare(&self, parameters: &[f32], prepared: &mut [f32]) {
        let (transformed, cells) = prepared.split_at_mut(self.winograd.transformed_weights_len() * LANES);
        cells.fill(0.0);
        let tap_len = self.window.channels * self.outputs;
        for (tap, weights) in parameters.chunks_exact(tap_len).enumerate() {
            let (row, column) = (tap / self.window.kernel_width, tap % self.window.kernel_width);
            let cell = row / self.stride * self.kernel + column / self.stride;
            let place =
                cell * self.stride * self.stride + row % self.stride * self.stride + column % self.stride;
            cells[place * tap_len..][..tap_len].copy_from_slice(weights);
        }
        self.winograd.transform_weights(cells, lines_mut(transformed));
    }

    /// Overwrites `output` with the convolution of a batch of images, without a bias.
    pub fn forward(&self, prepared: &[f32], input: &[f32], output: &mut [f32], scratch: &mut [f32]) {
        let (transformed, cells, scratch) = self.parts(prepared, input.len(), scratch);
        self.runs(|pixels, cell| copy(&mut cells[cell], &input[pixels]), input.len());
        self.winograd.forward(transformed, cells, input.len() / self.window.input_len(), output, scratch);
    }

    /// Overwrites `downstream`, the gradients of a batch of images, given `upstream`, those of the output.
    pub fn downstream(
        &self,
        prepared: &[f32],
        upstream: &[f32],
        downstream: &mut [f32],
        scratch: &mut [f32],
    ) {
        let (transformed, cells, scratch) = self.parts(prepared, downstream.len(), scratch);
        let batch = downstream.len() / self.window.input_len();
        self.winograd.backward_input(transformed, upstream, batch, cells, scratch);
        let len = downstream.len();
        self.runs(|pixels, cell| copy(&mut downstream[pixels], &cells[cell]), len);
    }

    /// Transformed weights, room for the cells of images of `len` values, and the algorithm's own scratch memory.
    fn parts<'a>(
        &self,
        prepared: &'a [f32],
        len: usize,
        scratch: &'a mut [f32],
    ) -> (&'a [Line], &'a mut [f32], &'a mut [Line]) {
        let transformed = lines(&prepared[..self.winograd.transformed_weights_len() * LANES]);
        let (own, cells) = scratch.split_at_mut(self.winograd.scratch_len() * LANES);
        (transformed, &mut cells[..len], lines_mut(own))
    }

    /// Visits the values that lie side by side in images as in cells: those of one row of a cell. They are told by their places in
    /// `len` values of images, and in as many of cells.
    fn runs(&self, mut visit: impl FnMut(std::ops::Range<usize>, std::ops::Range<usize>), len: usize) {
        let run = self.stride * self.window.channels;
        let cells = self.window.width / self.stride;
        let rows = len / (self.window.width * self.window.channels);
        for row in 0..rows {
            for cell in 0..cells {
                let image = (row * cells + cell) * run;
                let first = ((row / self.stride * cells + cell) * self.stride + row % self.stride) * run;
                visit(image..image + run, first..first + run);
            }
        }
    }
}

/// Copies a few values: calling for a copy would take longer.
fn copy(target: &mut [f32], source: &[f32]) {
    let (targets, target) = target.as_chunks_mut::<LANES>();
    let (sources, source) = source.as_chunks::<LANES>();
    targets.iter_mut().zip(sources).for_each(|(target, source)| *target = *source);
    target.iter_mut().zip(source).for_each(|(target, source)| *target = *source);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buffer::buffer;
    use crate::ends::Ends;
    use crate::layers::Context;
    use crate::layers::upstream_phases::Phases;
    use crate::layers::window::Extent;
    use crate::shape::Shape;
    use crate::split_mix::SplitMix;

    fn window(side: (usize, usize), channels: usize, [kernel, stride, padding]: [usize; 3]) -> Window {
        let context = Context {
            name: "conv".into(),
            kind: "conv2d",
            input: Shape::image(channels, side.0, side.1),
            ends: Ends::default(),
        };
        let [kernel, stride, padding] = [kernel, stride, padding].map(Extent::Square);
        Window::new(&context, kernel, stride, padding).unwrap()
    }

    #[test]
    fn agrees_with_the_direct_way_forwards_and_back() {
        let cases = [
            ((14, 14), 16, [5, 2, 2], 32),
            ((28, 20), 5, [6, 2, 2], 17),
            ((32, 32), 4, [5, 2, 0], 16),
            ((24, 24), 3, [9, 3, 3], 20),
            ((40, 40), 4, [8, 2, 4], 16),
        ];
        for (side, channels, sizes, outputs) in cases {
            let window = window(side, channels, sizes);
            let cells = Cells::new(&window, outputs).expect("a convolution that pays");
            let mut random = SplitMix::new(7);
            let mut numbers = |len: usize| (0..len).map(|_| random.normal()).collect::<Vec<f32>>();
            let (batch, weights) = (3, numbers(window.taps() * channels * outputs));
            let images = numbers(batch * window.input_len());
            let upstream = numbers(batch * window.positions() * outputs);
            let (mut prepared, mut scratch) =
                (buffer(cells.prepared_len()), buffer(cells.scratch_len(batch)));
            cells.prepare(&weights, &mut prepared);
            let mut output = vec![f32::NAN; upstream.len()];
            cells.forward(&prepared, &images, &mut output, &mut scratch);
            let mut downstream = vec![f32::NAN; images.len()];
            cells.downstream(&prepared, &upstream, &mut downstream, &mut scratch);

            let phases = Phases::new(&window, outputs, 1);
            let (mut prepared, mut scratch) = (buffer(phases.prepared_len()), buffer(phases.scratch_len()));
            phases.prepare(&weights, &mut prepared);
            let mut expected = vec![f32::NAN; images.len()];
            phases.downstream(&prepared, &upstream, &mut expected, &mut scratch);
            close(&downstream, &expected);
            // Forwards is the transpose of back: with any upstream gradient, both have the same product.
            let product = |one: &[f32], other: &[f32]| {
                one.iter().zip(other).map(|(one, other)| f64::from(*one) * f64::from(*other)).sum::<f64>()
            };
            for (example, one) in output.chunks_exact(window.positions() * outputs).enumerate() {
                let range = example * one.len()..(example + 1) * one.len();
                let pixels = example * window.input_len()..(example + 1) * window.input_len();
                let forwards = product(one, &upstream[range]);
                let back = product(&images[pixels.clone()], &expected[pixels]);
                assert!((forwards - back).abs() < 1e-3 * (1.0 + back.abs()), "{forwards} against {back}");
            }
        }
    }

    fn close(found: &[f32], expected: &[f32]) {
        let distance: f32 =
            found.iter().zip(expected).map(|(found, expected)| (found - expected).powi(2)).sum();
        let size: f32 = expected.iter().map(|value| value * value).sum();
        assert!(distance.sqrt() < 3e-6 * size.sqrt(), "{} of {}", distance.sqrt(), size.sqrt());
    }

    #[test]
    fn what_does_not_fit_or_pay_takes_the_direct_way() {
        for (side, channels, sizes, outputs) in [
            ((14, 14), 16, [5, 1, 2], 32),
            ((15, 14), 16, [5, 2, 2], 32),
            ((14, 14), 16, [4, 2, 1], 32),
            ((14, 14), 16, [3, 2, 0], 32),
            ((14, 14), 1, [5, 2, 2], 32),
            ((14, 14), 16, [5, 2, 2], 8),
        ] {
            assert!(Cells::new(&window(side, channels, sizes), outputs).is_none());
        }
    }
}
