//! Where examples come from: anything that can write the input of example `i` into a slice.

use crate::shape::Shape;

/// What an example should give.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Target<'a> {
    /// A class.
    Class(u32),
    /// One value for each output.
    Values(&'a [f32]),
    /// Nothing is known: an example to read, not to learn from.
    None,
}

/// A logical batch: read example by example, on any thread, so that it never has to lie in memory as a whole.
pub trait Examples: Sync {
    /// Number of examples.
    fn len(&self) -> usize;

    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Writes the input of one example, images row by row with channels side by side.
    fn read(&self, index: usize, input: &mut [f32]);

    /// What the example should give.
    fn target(&self, index: usize) -> Target<'_>;

    /// What the loss of the example is multiplied by: its gradient is multiplied before anything bounds it.
    fn weight(&self, _index: usize) -> f32 {
        1.0
    }

    /// Consecutive examples that belong to one record, a divisor of the number of examples: a step works with the mean
    /// of their gradients.
    fn views(&self) -> usize {
        1
    }

    /// A number that belongs to a record wherever it stands in the batch, and to all its views: what is random inside the
    /// network follows it. Records count in the order of their first views.
    fn identity(&self, record: usize) -> u64 {
        record as u64
    }
}

/// A batch that lies in memory, with one class for each example.
pub struct Batch {
    inputs: Vec<f32>,
    classes: Vec<u32>,
}

impl Batch {
    /// Inputs example after example.
    ///
    /// # Panics
    /// If the inputs do not divide evenly among the classes.
    pub fn new(inputs: Vec<f32>, classes: Vec<u32>) -> Batch {
        assert!(
            if classes.is_empty() { inputs.is_empty() } else { inputs.len().is_multiple_of(classes.len()) },
            "{} values for {} examples",
            inputs.len(),
            classes.len()
        );
        Batch { inputs, classes }
    }

    /// Values of one example.
    fn width(&self) -> usize {
        self.inputs.len() / self.classes.len().max(1)
    }
}

impl Examples for Batch {
    fn len(&self) -> usize {
        self.classes.len()
    }

    fn read(&self, index: usize, input: &mut [f32]) {
        input.copy_from_slice(&self.inputs[index * self.width()..][..self.width()]);
    }

    fn target(&self, index: usize) -> Target<'_> {
        Target::Class(self.classes[index])
    }
}

/// Reorders an image from PyTorch's channels-first order to channels side by side; other shapes stay as they are.
pub fn from_channels_first(shape: Shape, values: &[f32], output: &mut [f32]) {
    match shape {
        Shape::Image { height, width, channels } => {
            let pixels = height * width;
            for (channel, plane) in values.chunks_exact(pixels).enumerate() {
                for (pixel, value) in plane.iter().enumerate() {
                    output[pixel * channels + channel] = *value;
                }
            }
        }
        _ => output.copy_from_slice(values),
    }
}
