//! Convolution with stride one and a window of 3x3, 4x4 or 5x5, by [Winograd's algorithm](crate::kernel::winograd).

use crate::kernel::elementwise::{add, squared_norm};
use crate::kernel::line::{lines, lines_mut};
use crate::kernel::winograd::Winograd;
use crate::kernel::{LANES, Line};
use crate::layer::RelevanceRule;
use crate::layer::{Backward, Factors, Forward, Gradients, Layer, Pass, Purpose, Summation, Tensor};
use crate::layers::filters::Filters;
use crate::layers::kept::Kept;
use crate::layers::window::Window;
use crate::layers::{patch_gram, pixel_bias};
use crate::rounding::told;
use crate::shape::Shape;

/// The same layer as [`Conv2d`](crate::layers::conv2d::Conv2d), for the windows that Winograd's algorithm serves.
pub struct WinogradConv2d {
    filters: Filters,
    winograd: Winograd,
    /// Sums the gradients of several examples at once, if norms come from Gram matrices instead of kept gradients.
    sums: Option<Winograd>,
}

impl WinogradConv2d {
    /// Fewest channels on either side for which the transforms pay.
    const FEWEST_CHANNELS: usize = 16;

    /// Smallest output side: below, tiles hang over the border and nothing is saved.
    const SMALLEST_SIDE: usize = 2;

    /// Whether this algorithm serves a window and is worth it.
    pub fn suits(window: &Window, outputs: usize, groups: usize) -> bool {
        let kernel = window.kernel_height;
        groups == 1
            && window.kernel_width == kernel
            && (3..=5).contains(&kernel)
            && window.stride == (1, 1)
            && window.padding.0 == window.padding.1
            && window.padding.0 < kernel
            && window.channels.min(outputs) >= WinogradConv2d::FEWEST_CHANNELS
            && window.output_height.min(window.output_width) >= WinogradConv2d::SMALLEST_SIDE
    }

    /// A convolution to `outputs` channels.
    pub fn new(window: Window, outputs: usize, bias: bool) -> WinogradConv2d {
        let (kernel, padding) = (window.kernel_height, window.padding.0);
        let winograd = Winograd::new(window.height, window.width, window.channels, outputs, kernel, padding);
        // The transforms of larger kernels magnify what is rounded: too much for sums of several examples.
        let sums = kernel == 3
            && patch_gram::is_cheaper(window.positions(), window.taps() * window.channels, outputs);
        WinogradConv2d {
            sums: sums.then(|| winograd.with_less_rounding()),
            winograd,
            filters: Filters { window, groups: 1, outputs, bias },
        }
    }

    fn keeps(&self, pass: &Pass) -> bool {
        pass.purpose == Purpose::PerExample && self.sums.is_none()
    }

    /// Kept values of an example: the gradients of the weights and, if there is one, of the bias.
    fn kept_len(&self) -> usize {
        self.filters.weight_len() + self.filters.bias_len()
    }

    /// Lines of scratch memory for either way.
    fn lines_len(&self) -> usize {
        self.winograd.scratch_len().max(self.sums.map_or(0, |sums| sums.scratch_len()))
    }

    fn scratch<'a>(&self, scratch: &'a mut [f32]) -> &'a mut [Line] {
        lines_mut(&mut scratch[..self.lines_len() * LANES])
    }
}

impl Layer for WinogradConv2d {
    fn kind(&self) -> &'static str {
        "conv2d"
    }

    fn output(&self) -> Shape {
        self.filters.output()
    }

    fn tensors(&self) -> Vec<Tensor> {
        self.filters.tensors()
    }

    fn multiply_adds(&self) -> u64 {
        self.filters.multiply_adds()
    }

    fn prepared_len(&self) -> usize {
        self.winograd.transformed_weights_len() * LANES
    }

    fn prepare(&self, parameters: &[f32], prepared: &mut [f32]) {
        self.winograd.transform_weights(&parameters[..self.filters.weight_len()], lines_mut(prepared));
    }

    fn tape_len(&self, pass: &Pass) -> usize {
        if self.keeps(pass) { pass.batch * self.kept_len() } else { 0 }
    }

    fn sums_in_blocks(&self) -> bool {
        self.sums.is_none()
    }

    fn scratch_len(&self, _pass: &Pass) -> usize {
        let gram = self.sums.map_or(0, |_| patch_gram::scratch_len(&self.filters.window, 1));
        (self.lines_len() * LANES).max(gram).max(self.filters.outputs)
    }

    fn forward(&self, Forward { weights, pass, input, output, memory }: Forward) {
        let scratch = self.scratch(memory.scratch);
        self.winograd.forward(lines(weights.prepared), input, pass.batch, output, scratch);
        if self.filters.bias {
            let bias = &weights.parameters[self.filters.weight_len()..];
            output.chunks_exact_mut(self.filters.outputs).for_each(|pixel| add(pixel, bias));
        }
    }

    fn backward(&self, Backward { weights, pass, upstream, downstream, memory, .. }: Backward) {
        let Some(downstream) = downstream else { return };
        let scratch = self.scratch(memory.scratch);
        self.winograd.backward_input(lines(weights.prepared), upstream, pass.batch, downstream, scratch);
    }

    fn squared_norms(&self, Gradients { pass, input, upstream, memory }: Gradients, norms: &mut [f64]) {
        let (weight_norms, bias_norms) = norms.split_at_mut(pass.batch);
        for example in 0..pass.batch {
            let pixels = &upstream[example * self.filters.output_len()..][..self.filters.output_len()];
            let bias_gradient = if let Some(sums) = &self.sums {
                let image =
                    &input[example * self.filters.window.input_len()..][..self.filters.window.input_len()];
                let squared_norm =
                    patch_gram::squared_norm(&self.filters.window, 1, image, pixels, memory.scratch, 0, 0);
                let rounding = sums.rounding(image, pixels, self.scratch(memory.scratch));
                weight_norms[example] = told(squared_norm, rounding);
                &mut memory.scratch[..self.filters.outputs]
            } else {
                let kept = &mut memory.tape[example * self.kept_len()..][..self.kept_len()];
                let (gradient, bias_gradient) = kept.split_at_mut(self.filters.weight_len());
                let scratch = self.scratch(memory.scratch);
                self.winograd.example_gradient(input, upstream, example, gradient, scratch);
                weight_norms[example] = squared_norm(gradient);
                bias_gradient
            };
            if self.filters.bias {
                bias_norms[example] = pixel_bias::example_gradient(pixels, bias_gradient);
            }
        }
    }

    fn accumulate(
        &self,
        Gradients { pass, input, upstream, memory }: Gradients,
        factors: Factors,
        gradient: &mut [f32],
    ) {
        if self.keeps(pass) {
            let (block, weight_len, bias_len) =
                (self.kept_len(), self.filters.weight_len(), self.filters.bias_len());
            Kept { tape: memory.tape, block, first: 0, weight_len, bias_len }.accumulate(factors, gradient);
            return;
        }
        let (weight, bias) = gradient.split_at_mut(self.filters.weight_len());
        let scratch = self.scratch(memory.scratch);
        // Gradients of no factors are those of one example, or of training without norms.
        let winograd =
            self.sums.as_ref().filter(|_| pass.purpose == Purpose::PerExample).unwrap_or(&self.winograd);
        winograd.weight_gradient(input, upstream, factors.examples(), factors.of(0), weight, scratch);
        if self.filters.bias {
            pixel_bias::accumulate(upstream, self.filters.output_len(), factors, bias, memory.scratch);
        }
    }

    fn summation(&self) -> Summation {
        if self.sums.is_some() { Summation::Terms } else { Summation::Vectors }
    }

    fn is_bilinear(&self) -> bool {
        true
    }

    fn relevance(&self) -> Option<RelevanceRule> {
        Some(RelevanceRule::Proportional)
    }
}
