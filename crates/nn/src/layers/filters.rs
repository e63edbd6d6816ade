//! What all convolutions share: their tensors and sizes, whatever the way they compute.

use crate::layer::{Initial, Tensor};
use crate::layers::window::Window;
use crate::shape::Shape;

/// The filters of a convolution. Weights are stored height, width, input, output.
#[derive(Clone, Copy)]
pub(super) struct Filters {
    /// Where they slide.
    pub window: Window,
    /// Groups of channels that do not see each other.
    pub groups: usize,
    /// Output channels.
    pub outputs: usize,
    /// Whether there is a bias.
    pub bias: bool,
}

impl Filters {
    /// Input channels that one output sees.
    pub fn group_inputs(&self) -> usize {
        self.window.channels / self.groups
    }

    /// Output channels of one group.
    pub fn group_outputs(&self) -> usize {
        self.outputs / self.groups
    }

    /// Values that are summed for one output.
    pub fn depth(&self) -> usize {
        self.window.taps() * self.group_inputs()
    }

    /// Values of the weights.
    pub fn weight_len(&self) -> usize {
        self.depth() * self.outputs
    }

    /// Values of the bias; zero if there is none.
    pub fn bias_len(&self) -> usize {
        if self.bias { self.outputs } else { 0 }
    }

    /// Values of one output example.
    pub fn output_len(&self) -> usize {
        self.window.positions() * self.outputs
    }

    /// Shape of an output example.
    pub fn output(&self) -> Shape {
        self.window.output(self.outputs)
    }

    /// The weights and, if there is one, the bias.
    pub fn tensors(&self) -> Vec<Tensor> {
        let (window, initial) = (&self.window, Initial::FanIn(self.depth()));
        let mut sizes = vec![self.outputs, self.group_inputs(), window.kernel_height, window.kernel_width];
        let mut axes: &[usize] = &[2, 3, 1, 0];
        if window.over_steps {
            sizes.remove(2);
            axes = &[2, 1, 0];
        }
        let weight = Tensor { stored_axes: Some(axes), ..Tensor::new("weight", sizes, initial) };
        let bias = self.bias.then(|| Tensor::new("bias", vec![self.outputs], initial));
        std::iter::once(weight).chain(bias).collect()
    }

    /// Multiply-adds of one forward example.
    pub fn multiply_adds(&self) -> u64 {
        (self.window.positions() * self.weight_len()) as u64
    }
}
