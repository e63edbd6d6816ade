//! The shape of one example, without the batch.

use std::fmt;

/// What one example looks like between two layers.
///
/// Images are stored row by row with the channels of a pixel side by side (NHWC without the N); they are *printed*
/// in PyTorch's order, channels first, because that is how the field writes shapes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Features without order: `[features]`.
    Vector(usize),
    /// A sequence of feature vectors: `[steps, features]`.
    Sequence {
        /// Number of steps in time.
        steps: usize,
        /// Features at each step.
        features: usize,
    },
    /// An image: `[channels, height, width]`.
    Image {
        /// Rows of pixels.
        height: usize,
        /// Pixels in a row.
        width: usize,
        /// Values in a pixel.
        channels: usize,
    },
}

impl Shape {
    /// An image in the order PyTorch writes it.
    pub fn image(channels: usize, height: usize, width: usize) -> Shape {
        Shape::Image { height, width, channels }
    }

    /// Reads a list of one, two or three sizes in PyTorch's order.
    pub fn from_sizes(sizes: &[usize]) -> Option<Shape> {
        match *sizes {
            [features] => Some(Shape::Vector(features)),
            [steps, features] => Some(Shape::Sequence { steps, features }),
            [channels, height, width] => Some(Shape::image(channels, height, width)),
            _ => None,
        }
    }

    /// The sizes in PyTorch's order.
    pub fn sizes(&self) -> Vec<usize> {
        match *self {
            Shape::Vector(features) => vec![features],
            Shape::Sequence { steps, features } => vec![steps, features],
            Shape::Image { height, width, channels } => vec![channels, height, width],
        }
    }

    /// Number of values in one example.
    pub fn len(&self) -> usize {
        match *self {
            Shape::Vector(features) => features,
            Shape::Sequence { steps, features } => steps * features,
            Shape::Image { height, width, channels } => height * width * channels,
        }
    }

    /// Values side by side at one position.
    pub fn channels(&self) -> usize {
        match *self {
            Shape::Vector(features) | Shape::Sequence { features, .. } => features,
            Shape::Image { channels, .. } => channels,
        }
    }

    /// Whether an example of another shape can be read as one of this shape without moving a value: the same shape, or a
    /// grey image for the sequence of its rows.
    pub fn reads(&self, example: Shape) -> bool {
        match (*self, example) {
            (Shape::Sequence { steps, features }, Shape::Image { height, width, channels: 1 }) => {
                (steps, features) == (height, width)
            }
            (own, example) => own == example,
        }
    }

    /// Whether an example of this shape holds nothing.
    pub fn is_empty(&self) -> bool {
        self.sizes().contains(&0)
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:?}", self.sizes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sequence_reads_the_rows_of_grey_images_of_its_size() {
        let rows = Shape::Sequence { steps: 3, features: 4 };
        assert!(rows.reads(rows) && rows.reads(Shape::image(1, 3, 4)));
        for other in [Shape::image(1, 4, 3), Shape::image(2, 3, 4), Shape::Vector(12)] {
            assert!(!rows.reads(other), "{other}");
        }
        assert!(!Shape::image(1, 3, 4).reads(rows), "an image has neighbours above and below");
    }
}
