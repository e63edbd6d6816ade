//! Windows that slide over an image or a sequence: where they fit, and the arithmetic they share.

use crate::ends::Slide;
use crate::error::Result;
use crate::layers::Context;
use crate::limits;
use crate::shape::Shape;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// A size in both directions: a number for a square, or `[vertical, horizontal]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, expecting = "expected a number of pixels, or [vertical, horizontal]")]
pub enum Extent {
    /// The same in both directions.
    Square(usize),
    /// Vertical, then horizontal.
    Rectangle([usize; 2]),
}

impl Extent {
    /// Vertical and horizontal size.
    pub fn pair(self) -> (usize, usize) {
        match self {
            Extent::Square(size) => (size, size),
            Extent::Rectangle([vertical, horizontal]) => (vertical, horizontal),
        }
    }
}

/// A window sliding over an image of known size.
///
/// A sequence is an image of one row: its steps are the pixels, and their features the channels.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// Rows and columns of the image.
    pub height: usize,
    /// Pixels in a row.
    pub width: usize,
    /// Channels of the image.
    pub channels: usize,
    /// Window height.
    pub kernel_height: usize,
    /// Window width.
    pub kernel_width: usize,
    /// Steps down and across.
    pub stride: (usize, usize),
    /// Border of zeros above and below, left and right.
    pub padding: (usize, usize),
    /// Window positions from top to bottom.
    pub output_height: usize,
    /// Window positions from left to right.
    pub output_width: usize,
    /// Whether the image is a sequence.
    pub over_steps: bool,
}

impl Window {
    /// Checks that the window fits at least once. Over a sequence, sizes are numbers of steps.
    pub fn new(context: &Context, kernel: Extent, stride: Extent, padding: Extent) -> Result<Window> {
        let (height, width, channels, over_steps) = match context.input {
            Shape::Image { height, width, channels } => (height, width, channels, false),
            Shape::Sequence { steps, features } => (1, steps, features, true),
            Shape::Vector(_) => return context.refuse("it takes an image or a sequence"),
        };
        let ((kernel_height, kernel_width), stride, padding) = if over_steps {
            match (kernel, stride, padding) {
                (Extent::Square(kernel), Extent::Square(stride), Extent::Square(padding)) => {
                    ((1, kernel), (1, stride), (0, padding))
                }
                _ => {
                    return context.refuse("over a sequence, kernel, stride and padding are one number each");
                }
            }
        } else {
            (kernel.pair(), stride.pair(), padding.pair())
        };
        if kernel_height == 0 || kernel_width == 0 || stride.0 == 0 || stride.1 == 0 {
            return context.refuse("kernel and stride must be at least 1");
        }
        let (padded_height, padded_width) = (height + 2 * padding.0, width + 2 * padding.1);
        if kernel_height > padded_height || kernel_width > padded_width {
            return context.refuse(&format!(
                "a window of {kernel_height} x {kernel_width} does not fit into {padded_height} x {padded_width} \
                 (with padding)"
            ));
        }
        if limits::product(&[padded_height, padded_width, channels], limits::EDGE).is_none() {
            return context.refuse(&format!(
                "with padding it would be {channels} x {padded_height} x {padded_width}, more than {} values",
                limits::EDGE
            ));
        }
        // A longer step than the image is as good as one of its size, and tables grow with the step.
        let stride = (stride.0.min(padded_height), stride.1.min(padded_width));
        Ok(Window {
            height,
            width,
            channels,
            kernel_height,
            kernel_width,
            stride,
            padding,
            output_height: (padded_height - kernel_height) / stride.0 + 1,
            output_width: (padded_width - kernel_width) / stride.1 + 1,
            over_steps,
        })
    }

    /// Shape of an output with so many channels.
    pub fn output(&self, channels: usize) -> Shape {
        if self.over_steps {
            return Shape::Sequence { steps: self.output_width, features: channels };
        }
        Shape::image(channels, self.output_height, self.output_width)
    }

    /// The window over the steps of a sequence.
    pub fn slide(&self) -> Slide {
        Slide { kernel: self.kernel_width, stride: self.stride.1, padding: self.padding.1 }
    }

    /// The window over the first `steps` steps of a sequence, or over an image of so many columns.
    pub fn until(&self, steps: usize) -> Window {
        let slide = self.slide().cut(steps);
        Window { width: steps, kernel_width: slide.kernel, output_width: slide.positions(steps), ..*self }
    }

    /// Number of window positions.
    pub fn positions(&self) -> usize {
        self.output_height * self.output_width
    }

    /// Pixels of the window.
    pub fn taps(&self) -> usize {
        self.kernel_height * self.kernel_width
    }

    /// Values of one input example.
    pub fn input_len(&self) -> usize {
        self.height * self.width * self.channels
    }

    /// Values of one output example with as many channels.
    pub fn output_len(&self) -> usize {
        self.positions() * self.channels
    }

    /// Rows of the window at output row `row` that lie on the image, and the image row of the first.
    pub fn rows(&self, row: usize) -> Range<usize> {
        clipped(row * self.stride.0, self.kernel_height, self.padding.0, self.height)
    }

    /// Where the windows of a row meet the image with their column `tap`, as runs of values side by side: one run where windows stand one
    /// pixel apart, and a run for each pixel elsewhere. `None` where none of them meets it.
    pub fn run(&self, tap: usize) -> Option<Run> {
        let columns = meets(tap, self.stride.1, self.padding.1, self.width, self.output_width);
        if columns.is_empty() {
            return None;
        }
        let first = columns.start * self.stride.1 + tap - self.padding.1;
        let output = columns.start * self.channels..columns.end * self.channels;
        let len = if self.stride.1 == 1 { output.len() } else { self.channels };
        Some(Run { input: first * self.channels, apart: len.max(self.stride.1 * self.channels), output, len })
    }

    /// Columns of the image under the window at output column `column`.
    pub fn columns(&self, column: usize) -> Range<usize> {
        clipped(column * self.stride.1, self.kernel_width, self.padding.1, self.width)
    }
}

/// Values in one row of the image, and those in a row of windows that they meet.
pub struct Run {
    /// First value in the row of the image.
    pub input: usize,
    /// From one run to the next in the row of the image.
    pub apart: usize,
    /// Values in the row of windows.
    pub output: Range<usize>,
    /// Values in a run.
    pub len: usize,
}

/// The positions `0..count` at which the window's row (or column) `tap` lies on an image of `size`.
pub fn meets(tap: usize, stride: usize, padding: usize, size: usize, count: usize) -> Range<usize> {
    let first = padding.saturating_sub(tap).div_ceil(stride);
    let end = (size + padding).saturating_sub(tap).div_ceil(stride);
    first..end.min(count)
}

/// The part of a window that lies on the image, in image coordinates.
fn clipped(start: usize, kernel: usize, padding: usize, size: usize) -> Range<usize> {
    start.saturating_sub(padding)..(start + kernel).saturating_sub(padding).min(size)
}
