//! The input gradient of a convolution, spread from the upstream gradient: one product makes what every position hands to all of its taps
//! and channels, which is then added where the window lay.
//!
//! Products are made in panels of columns. Pixels of few channels leave most of a panel empty if a pixel is a row of the
//! product, as it is in [phases](crate::layers::upstream_phases); taps and channels side by side fill it.

use crate::kernel::gather::{COLUMNS, Offsets, Start, panels_len, product};
use crate::layers::window::Window;

/// What adding one value costs, in values that a product multiplies and adds in that time.
const ADDING: usize = 8;

/// Values that are spread at once, unless a row of windows has more.
const AT_ONCE: usize = 32_768;

/// The tables of one convolution without groups.
pub struct Spread {
    window: Window,
    outputs: usize,
    /// Rows of windows that are spread at once.
    rows: usize,
    /// The positions of so many rows, in the upstream gradient.
    positions: Offsets,
    /// The same of the last rows of an image.
    last_positions: Offsets,
    /// The channels of a position.
    channels: Offsets,
    /// The positions again, in what is spread.
    spread_rows: Offsets,
    /// The same of the last rows of an image.
    last_spread_rows: Offsets,
}

impl Spread {
    /// Prepares the tables for a convolution with `outputs` channels.
    pub fn new(window: &Window, outputs: usize) -> Spread {
        let columns = window.taps() * window.channels;
        let rows = (AT_ONCE / (window.output_width * columns)).clamp(1, window.output_height);
        let (whole, last) = (rows * window.output_width, window.output_height % rows * window.output_width);
        Spread {
            window: *window,
            outputs,
            rows,
            positions: Offsets::strided(whole, outputs),
            last_positions: Offsets::strided(last, outputs),
            channels: Offsets::strided(outputs, 1),
            spread_rows: Offsets::strided(whole, columns),
            last_spread_rows: Offsets::strided(last, columns),
        }
    }

    /// Whether this takes less than phases do.
    pub fn is_cheaper(window: &Window, outputs: usize) -> bool {
        let (taps, channels) = (window.taps(), window.channels);
        let whole = |columns: usize| columns.next_multiple_of(COLUMNS);
        outputs * whole(taps * channels) + ADDING * taps * channels < outputs * taps * whole(channels)
    }

    fn columns(&self) -> usize {
        self.window.taps() * self.window.channels
    }

    /// Values of the transposed weights.
    pub fn prepared_len(&self) -> usize {
        panels_len(self.outputs, self.columns())
    }

    /// Values of what is spread at once.
    pub fn scratch_len(&self) -> usize {
        self.positions.len() * self.columns()
    }

    /// Packs the transposed weights (stored height, width, input, output): a row for each output, a column for each tap and input.
    pub fn prepare(&self, parameters: &[f32], prepared: &mut [f32]) {
        prepared.fill(0.0);
        for (column, weights) in parameters.chunks_exact(self.outputs).enumerate() {
            let panel = &mut prepared[column / COLUMNS * self.outputs * COLUMNS..];
            let targets = panel[column % COLUMNS..].iter_mut().step_by(COLUMNS);
            targets.zip(weights).for_each(|(target, weight)| *target = *weight);
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
        downstream.fill(0.0);
        let line_len = self.window.output_width * self.outputs;
        let spread = &mut scratch[..self.scratch_len()];
        let examples = upstream
            .chunks_exact(self.window.output_height * line_len)
            .zip(downstream.chunks_exact_mut(self.window.input_len()));
        for (upstream, downstream) in examples {
            for (block, lines) in upstream.chunks(self.rows * line_len).enumerate() {
                let (positions, spread_rows) = if lines.len() == self.rows * line_len {
                    (&self.positions, &self.spread_rows)
                } else {
                    (&self.last_positions, &self.last_spread_rows)
                };
                let columns = self.columns();
                product(
                    lines,
                    positions,
                    &self.channels,
                    prepared,
                    columns,
                    Start::Zero,
                    spread,
                    spread_rows,
                );
                let spread = &spread[..positions.len() * columns];
                for (row, spread) in spread.chunks_exact(self.window.output_width * columns).enumerate() {
                    self.add_windows(block * self.rows + row, spread, downstream);
                }
            }
        }
    }

    /// Adds what a row of windows spreads, as far as it lies within the image.
    fn add_windows(&self, row: usize, spread: &[f32], image: &mut [f32]) {
        let window = &self.window;
        for (position, values) in spread.chunks_exact(self.columns()).enumerate() {
            let first = position * window.stride.1;
            let columns = first.max(window.padding.1)
                ..(first + window.kernel_width).min(window.width + window.padding.1);
            for (tap, values) in values.chunks_exact(window.kernel_width * window.channels).enumerate() {
                let y = row * window.stride.0 + tap;
                if columns.is_empty() || y < window.padding.0 || y >= window.height + window.padding.0 {
                    continue;
                }
                let values =
                    &values[(columns.start - first) * window.channels..][..columns.len() * window.channels];
                let start = (y - window.padding.0) * window.width + columns.start - window.padding.1;
                let targets = &mut image[start * window.channels..][..values.len()];
                targets.iter_mut().zip(values).for_each(|(target, value)| *target += value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ends::Ends;
    use crate::layers::Context;
    use crate::layers::upstream_phases::Phases;
    use crate::layers::window::Extent;
    use crate::shape::Shape;
    use crate::split_mix::SplitMix;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(100))]

        #[test]
        fn both_ways_lead_to_the_same_gradients(
            size in (1usize..9, 1usize..9),
            kernel in (1usize..6, 1usize..6),
            stride in (1usize..4, 1usize..4),
            padding in (0usize..4, 0usize..4),
            channels in 1usize..20,
            outputs in 1usize..20,
            seed: u64,
        ) {
            let fits = |size: usize, kernel: usize, padding: usize| kernel <= size + 2 * padding;
            prop_assume!(fits(size.0, kernel.0, padding.0) && fits(size.1, kernel.1, padding.1));
            let pair = |(down, across): (usize, usize)| Extent::Rectangle([down, across]);
            let context = Context {
                name: "conv".into(),
                kind: "conv2d",
                input: Shape::image(channels, size.0, size.1),
                ends: Ends::default(),
            };
            let window = Window::new(&context, pair(kernel), pair(stride), pair(padding)).unwrap();
            let mut random = SplitMix::new(seed);
            let mut numbers = |len: usize| (0..len).map(|_| random.normal()).collect::<Vec<f32>>();
            let weights = numbers(window.taps() * channels * outputs);
            let upstream = numbers(2 * window.positions() * outputs);
            let mut found = vec![f32::NAN; 2 * window.input_len()];
            let mut expected = found.clone();

            let spread = Spread::new(&window, outputs);
            let mut prepared = vec![f32::NAN; spread.prepared_len()];
            spread.prepare(&weights, &mut prepared);
            spread.downstream(&prepared, &upstream, &mut found, &mut vec![f32::NAN; spread.scratch_len()]);
            let phases = Phases::new(&window, outputs, 1);
            let mut prepared = vec![f32::NAN; phases.prepared_len()];
            phases.prepare(&weights, &mut prepared);
            phases.downstream(&prepared, &upstream, &mut expected, &mut vec![f32::NAN; phases.scratch_len()]);
            for (found, expected) in found.iter().zip(&expected) {
                prop_assert!((found - expected).abs() < 1e-4, "{found} against {expected}");
            }
        }
    }
}
