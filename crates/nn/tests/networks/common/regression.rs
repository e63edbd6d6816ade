//! Examples with a value for every output as target.

use muffle_nn::{Examples, Target};

/// Inputs and targets in memory, example after example.
pub struct Regression {
    inputs: Vec<f32>,
    targets: Vec<f32>,
    count: usize,
}

impl Regression {
    pub fn new(inputs: Vec<f32>, targets: Vec<f32>, count: usize) -> Regression {
        Regression { inputs, targets, count }
    }
}

impl Examples for Regression {
    fn len(&self) -> usize {
        self.count
    }

    fn read(&self, index: usize, input: &mut [f32]) {
        input.copy_from_slice(&self.inputs[index * input.len()..][..input.len()]);
    }

    fn target(&self, index: usize) -> Target<'_> {
        let width = self.targets.len() / self.count;
        Target::Values(&self.targets[index * width..][..width])
    }
}
