//! Places where other code may look at, and change, what flows through a network.

use crate::shape::Shape;

/// Where a hook is called.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// Position of the node in the network.
    pub node: usize,
    /// Name of the node.
    pub name: &'a str,
    /// Kind of the node.
    pub kind: &'a str,
    /// Whether the node has tensors.
    pub has_tensors: bool,
    /// Shape of an input example.
    pub input: Shape,
    /// Shape of an output example.
    pub output: Shape,
    /// Examples in the slices.
    pub batch: usize,
}

/// Called around every layer and activation with the values of a whole micro-batch, example after example.
///
/// What a hook writes is what the layer sees: its own copy, so that neither the layer before it nor a second reader of
/// the same values is touched.
pub trait Hooks: Sync {
    /// Before the forward computation: the input the layer will use.
    fn input(&self, _place: &Place, _input: &mut [f32]) {}

    /// Before the backward computation: the gradient of the loss at the layer's output.
    fn upstream(&self, _place: &Place, _input: &[f32], _output: &[f32], _upstream: &mut [f32]) {}

    /// After the backward computation: the gradient at the layer's input.
    fn downstream(&self, _place: &Place, _input: &[f32], _upstream: &[f32], _downstream: &mut [f32]) {}
}
