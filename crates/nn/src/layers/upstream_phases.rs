//! The input gradient of a convolution with any stride, as ordinary convolutions of the upstream gradient.
//!
//! An input pixel meets only the taps that share its remainder modulo the stride. Pixels of one remainder (a phase)
//! therefore see a plain convolution of the upstream image with every `stride`-th tap.

use crate::kernel::gather::{COLUMNS, Offsets, Start, panels_len, product};
use crate::layers::window::Window;

/// One remainder: its pixels, its taps and where they meet in the padded upstream image.
struct Phase {
    rows: Offsets,
    reductions: Offsets,
    output_rows: Offsets,
    /// `(row, column)` of the taps, in the order of the reductions.
    taps: Vec<(usize, usize)>,
}

/// All phases of one convolution.
pub struct Phases {
    window: Window,
    outputs: usize,
    groups: usize,
    border: (usize, usize),
    padded_height: usize,
    padded_width: usize,
    phases: Vec<Phase>,
    /// Whether some pixels meet no tap at all.
    gaps: bool,
}

impl Phases {
    /// Prepares the tables for a convolution with `outputs` channels.
    pub fn new(window: &Window, outputs: usize, groups: usize) -> Phases {
        let border =
            ((window.kernel_height - 1) / window.stride.0, (window.kernel_width - 1) / window.stride.1);
        let reach = |size: usize, padding: usize, stride: usize, count: usize| {
            ((size - 1 + padding) / stride + 1).max(count)
        };
        let padded_height =
            border.0 + reach(window.height, window.padding.0, window.stride.0, window.output_height);
        let padded_width =
            border.1 + reach(window.width, window.padding.1, window.stride.1, window.output_width);
        let mut phases = Vec::new();
        let mut gaps = false;
        for vertical in 0..window.stride.0 {
            for horizontal in 0..window.stride.1 {
                let tap_rows: Vec<usize> =
                    (vertical..window.kernel_height).step_by(window.stride.0).collect();
                let tap_columns: Vec<usize> =
                    (horizontal..window.kernel_width).step_by(window.stride.1).collect();
                if tap_rows.is_empty() || tap_columns.is_empty() {
                    gaps = true;
                    continue;
                }
                let mut phase = Phase {
                    rows: Offsets::default(),
                    reductions: Offsets::default(),
                    output_rows: Offsets::default(),
                    taps: Vec::new(),
                };
                let (mut rows, mut output_rows, mut reductions) = (Vec::new(), Vec::new(), Vec::new());
                let matching = |size: usize, padding: usize, stride: usize, phase: usize| {
                    (0..size).filter(move |pixel| (pixel + padding) % stride == phase)
                };
                for y in matching(window.height, window.padding.0, window.stride.0, vertical) {
                    for x in matching(window.width, window.padding.1, window.stride.1, horizontal) {
                        // The first tap meets the pixel's own window row; later taps lie before it.
                        let row = (y + window.padding.0) / window.stride.0 + border.0 + 1 - tap_rows.len();
                        let column =
                            (x + window.padding.1) / window.stride.1 + border.1 + 1 - tap_columns.len();
                        rows.push(((row * padded_width + column) * outputs) as u32);
                        output_rows.push(((y * window.width + x) * window.channels) as u32);
                    }
                }
                for (back, &tap_row) in tap_rows.iter().rev().enumerate() {
                    for (left, &tap_column) in tap_columns.iter().rev().enumerate() {
                        phase.taps.push((tap_row, tap_column));
                        for output in 0..outputs / groups {
                            reductions.push(((back * padded_width + left) * outputs + output) as u32);
                        }
                    }
                }
                phase.rows = Offsets::new(rows);
                phase.reductions = Offsets::new(reductions);
                phase.output_rows = Offsets::new(output_rows);
                phases.push(phase);
            }
        }
        Phases { window: *window, outputs, groups, border, padded_height, padded_width, phases, gaps }
    }

    fn group_inputs(&self) -> usize {
        self.window.channels / self.groups
    }

    fn group_outputs(&self) -> usize {
        self.outputs / self.groups
    }

    fn panels_len(&self, phase: &Phase) -> usize {
        panels_len(phase.reductions.len(), self.group_inputs())
    }

    /// Values of the transposed weights of all phases and groups.
    pub fn prepared_len(&self) -> usize {
        self.phases.iter().map(|phase| self.groups * self.panels_len(phase)).sum()
    }

    /// Values of the padded upstream image.
    pub fn scratch_len(&self) -> usize {
        self.padded_height * self.padded_width * self.outputs
    }

    /// Packs the transposed weights (stored height, width, input, output).
    pub fn prepare(&self, parameters: &[f32], mut prepared: &mut [f32]) {
        for phase in &self.phases {
            for group in 0..self.groups {
                let (panels, rest) = prepared.split_at_mut(self.panels_len(phase));
                self.pack_phase(phase, group, parameters, panels);
                prepared = rest;
            }
        }
    }

    /// Writes one group's panels: a row for each tap and output, a column for each input.
    fn pack_phase(&self, phase: &Phase, group: usize, parameters: &[f32], panels: &mut [f32]) {
        let (inputs, outputs) = (self.group_inputs(), self.group_outputs());
        for (index, panel) in panels.chunks_exact_mut(phase.reductions.len() * COLUMNS).enumerate() {
            let first = index * COLUMNS;
            let width = COLUMNS.min(inputs - first);
            let mut rows = panel.as_chunks_mut::<COLUMNS>().0.iter_mut();
            for &(row, column) in &phase.taps {
                let tap = row * self.window.kernel_width + column;
                let begin = (tap * inputs + first) * self.outputs + group * outputs;
                for (output, target) in rows.by_ref().take(outputs).enumerate() {
                    let source = &parameters[begin + output..];
                    let columns = source.iter().step_by(self.outputs);
                    target[width..].fill(0.0);
                    target[..width].iter_mut().zip(columns).for_each(|(target, value)| *target = *value);
                }
            }
        }
    }

    /// Gradients of all input pixels.
    pub fn downstream(
        &self,
        prepared: &[f32],
        upstream: &[f32],
        downstream: &mut [f32],
        scratch: &mut [f32],
    ) {
        if self.gaps {
            downstream.fill(0.0);
        }
        let (inputs, outputs) = (self.group_inputs(), self.group_outputs());
        let padded = &mut scratch[..self.scratch_len()];
        padded.fill(0.0);
        let line_len = self.window.output_width * self.outputs;
        let examples = upstream
            .chunks_exact(self.window.output_height * line_len)
            .zip(downstream.chunks_exact_mut(self.window.input_len()));
        for (upstream, downstream) in examples {
            for (row, line) in upstream.chunks_exact(line_len).enumerate() {
                let begin = ((row + self.border.0) * self.padded_width + self.border.1) * self.outputs;
                padded[begin..begin + line_len].copy_from_slice(line);
            }
            let mut rest = prepared;
            for phase in &self.phases {
                for group in 0..self.groups {
                    let (panels, behind) = rest.split_at(self.panels_len(phase));
                    rest = behind;
                    product(
                        &padded[group * outputs..],
                        &phase.rows,
                        &phase.reductions,
                        panels,
                        inputs,
                        Start::Zero,
                        &mut downstream[group * inputs..],
                        &phase.output_rows,
                    );
                }
            }
        }
    }
}
