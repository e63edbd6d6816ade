//! Convolution over images and sequences, by [gather products](crate::kernel::gather): no patches are copied.

use crate::ends::Ends;
use crate::error::Result;
use crate::kernel::elementwise::{add, squared_norm};
use crate::kernel::gather::{Offsets, Place, Rows, Start, pack, pack_at, panels_len, product};
use crate::layer::RelevanceRule;
use crate::layer::{Backward, Factors, Forward, Gradients, Layer, Pass, Purpose, Summation, Tensor};
use crate::layers::Context;
use crate::layers::cells::Cells;
use crate::layers::conv2d_tables::Tables;
use crate::layers::filters::Filters;
use crate::layers::kept::Kept;
use crate::layers::window::Window;
use crate::layers::{patch_gram, pixel_bias};
use crate::limits;
use crate::rounding::{best_block, of_terms};
use crate::shape::Shape;
use std::sync::OnceLock;

/// Convolution with stride, padding and groups. Weights are stored height, width, input, output.
pub struct Conv2d {
    filters: Filters,
    /// Made when the layer is first used: a description of a network may be anybody's, and reading it takes no memory for the
    /// images that it speaks of.
    tables: OnceLock<Tables>,
    /// Whether norms come from Gram matrices instead of kept gradients.
    gram: bool,
    /// The way forwards and back, where it is shorter than that of the tables.
    cells: Option<Cells>,
}

impl Conv2d {
    /// A convolution to `channels` outputs.
    pub fn new(
        context: &Context,
        channels: usize,
        window: Window,
        groups: usize,
        bias: bool,
    ) -> Result<Conv2d> {
        if groups == 0
            || !window.channels.is_multiple_of(groups)
            || !channels.is_multiple_of(groups)
            || channels == 0
        {
            return context.refuse(&format!(
                "{groups} groups must divide its {} input channels and its {channels} output channels",
                window.channels
            ));
        }
        let outputs = [channels, window.output_height, window.output_width];
        let weights = [channels, window.channels / groups, window.taps()];
        if limits::product(&outputs, limits::EDGE).is_none() {
            return context
                .refuse(&format!("its output {outputs:?} would be more than {} values", limits::EDGE));
        }
        if limits::product(&weights, limits::PARAMETERS).is_none() {
            return context.refuse(&format!(
                "its {channels} output channels would need more than {} weights",
                limits::PARAMETERS
            ));
        }
        let depth = window.taps() * (window.channels / groups);
        Ok(Conv2d {
            gram: patch_gram::is_cheaper(window.positions(), depth, channels / groups),
            tables: OnceLock::new(),
            cells: if groups == 1 { Cells::new(&window, channels) } else { None },
            filters: Filters { window, groups, outputs: channels, bias },
        })
    }

    fn tables(&self) -> &Tables {
        self.tables.get_or_init(|| Tables::new(&self.filters))
    }

    fn is_padded(&self) -> bool {
        self.filters.window.padding != (0, 0)
    }

    fn padded_len(&self) -> usize {
        let window = &self.filters.window;
        (window.height + 2 * window.padding.0) * (window.width + 2 * window.padding.1) * window.channels
    }

    fn keeps(&self, pass: &Pass) -> bool {
        pass.purpose == Purpose::PerExample && !self.gram
    }

    /// Values of an example's padded image on the tape; none if there is no border.
    fn border_len(&self) -> usize {
        if self.is_padded() { self.padded_len() } else { 0 }
    }

    /// Values on the tape for each example: its padded image, then its kept gradient.
    fn tape_block(&self, pass: &Pass) -> usize {
        let kept = if self.keeps(pass) { self.filters.weight_len() + self.filters.bias_len() } else { 0 };
        self.border_len() + kept
    }

    /// Copies an image into the middle of its padded place; the border is zero since the tape was made.
    fn pad(&self, image: &[f32], padded: &mut [f32]) {
        let window = &self.filters.window;
        let width = window.width * window.channels;
        let padded_width = (window.width + 2 * window.padding.1) * window.channels;
        let left = window.padding.1 * window.channels;
        for (row, line) in image.chunks_exact(width).enumerate() {
            padded[(row + window.padding.0) * padded_width + left..][..width].copy_from_slice(line);
        }
    }

    /// Notes a batch of images for the weight gradient, as `forward` does on its way.
    pub(super) fn keep(&self, pass: &Pass, input: &[f32], tape: &mut [f32]) {
        if self.is_padded() {
            let images = input.chunks_exact(self.filters.window.input_len());
            for (image, block) in images.zip(tape.chunks_exact_mut(self.tape_block(pass))) {
                self.pad(image, &mut block[..self.padded_len()]);
            }
        }
    }

    /// Roundings that a term meets in the sum of a group.
    fn roundings_of_terms(&self) -> usize {
        let positions = self.filters.window.positions();
        of_terms(positions, best_block(positions))
    }

    /// Values of the packed upstream of the longest sum.
    fn upstream_panels_len(&self) -> usize {
        panels_len(self.tables().many_positions.len(), self.filters.group_outputs())
    }

    /// Weight gradient of some examples, each times its factor.
    fn weight_gradient(
        &self,
        examples: Summands,
        factor: impl Fn(usize) -> f32,
        start: Start,
        gradient: &mut [f32],
        panels: &mut [f32],
    ) {
        let Summands { images, upstream, positions } = examples;
        let (each, width) = (self.filters.window.positions(), self.filters.group_outputs());
        let panels = &mut panels[..panels_len(positions.len(), width)];
        for group in 0..self.filters.groups {
            for (example, upstream) in upstream.chunks_exact(self.filters.output_len()).enumerate() {
                let rows = Rows {
                    values: &upstream[group * width..],
                    rows: each,
                    columns: width,
                    stride: self.filters.outputs,
                };
                let place = Place { depth: positions.len(), first: example * each };
                pack_at(rows, factor(example), place, panels);
            }
            let images = &images[group * self.filters.group_inputs()..];
            let gradient = &mut gradient[group * width..];
            product(
                images,
                &self.tables().taps,
                positions,
                panels,
                width,
                start,
                gradient,
                &self.tables().gradient_rows,
            );
        }
    }
}

/// Examples whose weight gradients are added up.
struct Summands<'a> {
    images: &'a [f32],
    upstream: &'a [f32],
    /// Where their windows begin.
    positions: &'a Offsets,
}

impl Layer for Conv2d {
    fn kind(&self) -> &'static str {
        if self.filters.window.over_steps { "conv1d" } else { "conv2d" }
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
        if let Some(cells) = &self.cells {
            return cells.prepared_len();
        }
        self.filters.groups * panels_len(self.tables().taps.len(), self.filters.group_outputs())
            + self.tables().back.prepared_len()
    }

    fn prepare(&self, parameters: &[f32], prepared: &mut [f32]) {
        let parameters = &parameters[..self.filters.weight_len()];
        if let Some(cells) = &self.cells {
            return cells.prepare(parameters, prepared);
        }
        let (depth, width) = (self.tables().taps.len(), self.filters.group_outputs());
        let len = panels_len(depth, width);
        let (forward, backward) = prepared.split_at_mut(self.filters.groups * len);
        for (group, panels) in forward.chunks_exact_mut(len).enumerate() {
            let values = &parameters[group * width..];
            pack(Rows { values, rows: depth, columns: width, stride: self.filters.outputs }, 1.0, panels);
        }
        self.tables().back.prepare(parameters, backward);
    }

    fn tape_len(&self, pass: &Pass) -> usize {
        pass.batch * self.tape_block(pass)
    }

    fn scratch_len(&self, pass: &Pass) -> usize {
        let gram =
            if self.gram { patch_gram::scratch_len(&self.filters.window, self.filters.groups) } else { 0 };
        let ways = match &self.cells {
            Some(cells) => cells.scratch_len(pass.batch),
            None => self.tables().back.scratch_len(),
        };
        self.upstream_panels_len().max(ways).max(gram).max(self.filters.outputs)
    }

    fn forward(&self, Forward { weights, pass, input, output, memory }: Forward) {
        let (inputs, width, block) =
            (self.filters.group_inputs(), self.filters.group_outputs(), self.tape_block(pass));
        let panels_len = panels_len(self.tables().taps.len(), width);
        let bias = &weights.parameters[self.filters.weight_len()..];
        if let Some(cells) = &self.cells {
            self.keep(pass, input, memory.tape);
            cells.forward(weights.prepared, input, output, memory.scratch);
            if self.filters.bias {
                output.chunks_exact_mut(self.filters.outputs).for_each(|pixel| add(pixel, bias));
            }
            return;
        }
        for (example, (input, output)) in input
            .chunks_exact(self.filters.window.input_len())
            .zip(output.chunks_exact_mut(self.filters.output_len()))
            .enumerate()
        {
            let image = if self.is_padded() {
                let padded = &mut memory.tape[example * block..][..self.padded_len()];
                self.pad(input, padded);
                padded
            } else {
                input
            };
            for group in 0..self.filters.groups {
                let panels = &weights.prepared[group * panels_len..][..panels_len];
                let start =
                    if self.filters.bias { Start::Row(&bias[group * width..][..width]) } else { Start::Zero };
                product(
                    &image[group * inputs..],
                    &self.tables().positions,
                    &self.tables().taps,
                    panels,
                    width,
                    start,
                    &mut output[group * width..],
                    &self.tables().output_rows,
                );
            }
        }
    }

    fn backward(&self, Backward { weights, upstream, downstream, memory, .. }: Backward) {
        let Some(downstream) = downstream else { return };
        if let Some(cells) = &self.cells {
            return cells.downstream(weights.prepared, upstream, downstream, memory.scratch);
        }
        let prepared = &weights.prepared
            [self.filters.groups * panels_len(self.tables().taps.len(), self.filters.group_outputs())..];
        self.tables().back.downstream(prepared, upstream, downstream, memory.scratch);
    }

    fn squared_norms(&self, Gradients { pass, input, upstream, memory }: Gradients, norms: &mut [f64]) {
        let block = self.tape_block(pass);
        let (weight_norms, bias_norms) = norms.split_at_mut(pass.batch);
        for (example, upstream) in upstream.chunks_exact(self.filters.output_len()).enumerate() {
            let own = &input[example * self.filters.window.input_len()..][..self.filters.window.input_len()];
            let bias_gradient = if self.gram {
                weight_norms[example] = patch_gram::squared_norm(
                    &self.filters.window,
                    self.filters.groups,
                    own,
                    upstream,
                    memory.scratch,
                    self.tables().positions.len(),
                    self.roundings_of_terms(),
                );
                &mut memory.scratch[..self.filters.outputs]
            } else {
                let (padded, kept) = memory.tape[example * block..][..block].split_at_mut(self.border_len());
                let image = if self.is_padded() { padded } else { own };
                let (gradient, bias_gradient) = kept.split_at_mut(self.filters.weight_len());
                let panels = &mut *memory.scratch;
                let one = Summands { images: image, upstream, positions: &self.tables().positions };
                self.weight_gradient(one, |_| 1.0, Start::Zero, gradient, panels);
                weight_norms[example] = squared_norm(gradient);
                bias_gradient
            };
            if self.filters.bias {
                bias_norms[example] = pixel_bias::example_gradient(upstream, bias_gradient);
            }
        }
    }

    fn accumulate(
        &self,
        Gradients { pass, input, upstream, memory }: Gradients,
        factors: Factors,
        gradient: &mut [f32],
    ) {
        let block = self.tape_block(pass);
        if self.keeps(pass) {
            let (first, weight_len, bias_len) =
                (self.border_len(), self.filters.weight_len(), self.filters.bias_len());
            Kept { tape: memory.tape, block, first, weight_len, bias_len }.accumulate(factors, gradient);
            return;
        }
        let (weight, bias) = gradient.split_at_mut(self.filters.weight_len());
        let (images, image_len) =
            if self.is_padded() { (&*memory.tape, block) } else { (input, self.filters.window.input_len()) };
        let examples = factors.examples();
        let mut first = examples.start;
        while first < examples.end {
            let whole = first + self.tables().many <= examples.end;
            let (count, positions) = if whole {
                (self.tables().many, &self.tables().many_positions)
            } else {
                (1, &self.tables().positions)
            };
            let some = Summands {
                images: &images[first * image_len..(first + count) * image_len],
                upstream: &upstream
                    [first * self.filters.output_len()..(first + count) * self.filters.output_len()],
                positions,
            };
            let factor = |example| factors.at(0, first + example);
            let block = best_block(self.filters.window.positions());
            let start = if self.gram { Start::Added { block } } else { Start::Output };
            self.weight_gradient(some, factor, start, weight, memory.scratch);
            first += count;
        }
        if self.filters.bias {
            pixel_bias::accumulate(upstream, self.filters.output_len(), factors, bias, memory.scratch);
        }
    }

    fn ends(&self, before: &Ends) -> Ends {
        before.behind(self.filters.window.slide())
    }

    fn summation(&self) -> Summation {
        if self.gram { Summation::Terms } else { Summation::Vectors }
    }

    fn is_bilinear(&self) -> bool {
        true
    }

    fn relevance(&self) -> Option<RelevanceRule> {
        Some(RelevanceRule::Proportional)
    }
}
