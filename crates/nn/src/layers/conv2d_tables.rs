//! Where a convolution finds the values that belong together.

use crate::kernel::gather::Offsets;
use crate::layers::filters::Filters;
use crate::layers::upstream_phases::Phases;
use crate::layers::upstream_spread::Spread;

/// Positions summed over in one product of the weight gradient, if examples are too small to fill it alone.
const LONG_SUM: usize = 384;

/// Offsets of a convolution, which grow with the image.
pub(super) struct Tables {
    /// Corner of each window position in the padded image.
    pub positions: Offsets,
    /// Taps of one group's window, relative to its corner.
    pub taps: Offsets,
    /// Corners of as many examples as make one sum for the weight gradient.
    pub many_positions: Offsets,
    /// How many examples that are.
    pub many: usize,
    /// Each position in the output.
    pub output_rows: Offsets,
    /// Each tap in the weights.
    pub gradient_rows: Offsets,
    /// The way back to the input.
    pub back: Back,
}

/// How gradients get back to the input.
pub(super) enum Back {
    /// Pixel by pixel.
    Phases(Phases),
    /// Window by window, where there are few channels.
    Spread(Spread),
}

impl Back {
    /// The cheaper way.
    fn new(filters: &Filters) -> Back {
        let (window, outputs) = (&filters.window, filters.outputs);
        if filters.groups == 1 && Spread::is_cheaper(window, outputs) {
            Back::Spread(Spread::new(window, outputs))
        } else {
            Back::Phases(Phases::new(window, outputs, filters.groups))
        }
    }

    /// Values of the transposed weights.
    pub fn prepared_len(&self) -> usize {
        match self {
            Back::Phases(phases) => phases.prepared_len(),
            Back::Spread(spread) => spread.prepared_len(),
        }
    }

    /// Values of scratch memory.
    pub fn scratch_len(&self) -> usize {
        match self {
            Back::Phases(phases) => phases.scratch_len(),
            Back::Spread(spread) => spread.scratch_len(),
        }
    }

    /// Packs the transposed weights (stored height, width, input, output).
    pub fn prepare(&self, parameters: &[f32], prepared: &mut [f32]) {
        match self {
            Back::Phases(phases) => phases.prepare(parameters, prepared),
            Back::Spread(spread) => spread.prepare(parameters, prepared),
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
        match self {
            Back::Phases(phases) => phases.downstream(prepared, upstream, downstream, scratch),
            Back::Spread(spread) => spread.downstream(prepared, upstream, downstream, scratch),
        }
    }
}

impl Tables {
    /// Of a convolution whose sizes are within the limits.
    pub fn new(filters: &Filters) -> Tables {
        let (window, groups, channels) = (&filters.window, filters.groups, filters.outputs);
        let (padded_width, step) = (window.width + 2 * window.padding.1, window.channels);
        let corners: Vec<u32> = (0..window.positions())
            .map(|position| {
                let (row, column) = (position / window.output_width, position % window.output_width);
                ((row * window.stride.0 * padded_width + column * window.stride.1) * step) as u32
            })
            .collect();
        let group_inputs = window.channels / groups;
        let taps = (0..window.taps() * group_inputs)
            .map(|index| {
                let (tap, channel) = (index / group_inputs, index % group_inputs);
                let (row, column) = (tap / window.kernel_width, tap % window.kernel_width);
                ((row * padded_width + column) * step + channel) as u32
            })
            .collect::<Vec<u32>>();
        let padded_len = (window.height + 2 * window.padding.0) * padded_width * step;
        // Offsets are 32-bit numbers.
        let most = (u32::MAX as usize / padded_len).max(1);
        let many = (LONG_SUM / window.positions()).clamp(1, most);
        let many_positions = (0..many)
            .flat_map(|example| corners.iter().map(move |corner| corner + (example * padded_len) as u32))
            .collect();
        Tables {
            output_rows: Offsets::strided(window.positions(), channels),
            gradient_rows: Offsets::strided(taps.len(), channels),
            back: Back::new(filters),
            positions: Offsets::new(corners),
            taps: Offsets::new(taps),
            many_positions: Offsets::new(many_positions),
            many,
        }
    }
}
