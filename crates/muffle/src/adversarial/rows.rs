//! Examples that lie in memory, each with the gradient or the target at its output.

use muffle_nn::{Examples, Target};

/// Inputs with a row of targets each, in records of several views.
pub struct Rows {
    /// Values of an input.
    pub width: usize,
    /// Values of a target.
    pub outputs: usize,
    /// Consecutive examples of one record.
    pub views: usize,
    /// One after the other.
    pub inputs: Vec<f32>,
    /// The same.
    pub targets: Vec<f32>,
    /// Who the records are, wherever they stand; their places if there are none.
    pub identities: Vec<u64>,
}

impl Rows {
    /// Examples of which each is a record of its own.
    pub fn new(width: usize, outputs: usize, inputs: Vec<f32>, targets: Vec<f32>) -> Rows {
        Rows { width, outputs, views: 1, inputs, targets, identities: Vec::new() }
    }
}

impl Examples for Rows {
    fn len(&self) -> usize {
        self.inputs.len() / self.width
    }

    fn read(&self, index: usize, input: &mut [f32]) {
        input.copy_from_slice(&self.inputs[index * self.width..][..self.width]);
    }

    fn target(&self, index: usize) -> Target<'_> {
        Target::Values(&self.targets[index * self.outputs..][..self.outputs])
    }

    /// The gradient of a record is the sum over its views, where an engine takes their mean.
    fn weight(&self, _index: usize) -> f32 {
        self.views as f32
    }

    fn views(&self) -> usize {
        self.views
    }

    fn identity(&self, record: usize) -> u64 {
        self.identities.get(record).copied().unwrap_or(record as u64)
    }
}
