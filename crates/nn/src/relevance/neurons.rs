//! Neurons: the outputs of the layers that have weights, and which weights are whose.

use super::walk::Walk;
use crate::layer::Tensor;
use crate::network::{Network, Operation};
use crate::workspace::Step;

/// The neurons of a network, layer by layer: one for each output feature or channel of a layer with tensors.
///
/// A neuron owns the weights that lead to it, and its bias: in a recurrent layer those of all gates of its unit, in attention
/// the rows of its number in all four projections.
#[derive(Clone, Debug, PartialEq)]
pub struct Neurons {
    /// Nodes with tensors, each with its first neuron and their number.
    layers: Vec<(usize, usize, usize)>,
    count: usize,
    owners: Vec<u32>,
}

impl Neurons {
    /// Of a network whose layers all have a rule.
    pub(super) fn new(network: &Network) -> Neurons {
        let mut neurons = Neurons { layers: Vec::new(), count: 0, owners: vec![0; network.parameter_len()] };
        for (index, node) in network.nodes().iter().enumerate().filter(|(_, node)| !node.tensors.is_empty()) {
            let count = network.edges()[node.output].channels();
            let Operation::Layer(layer) = &node.operation else { continue };
            for parameter in &network.parameters()[node.tensors.clone()] {
                let stride = stride(&parameter.tensor, layer.output_axis(&parameter.tensor));
                for (place, owner) in neurons.owners[parameter.range.clone()].iter_mut().enumerate() {
                    *owner = (neurons.count + place / stride % count) as u32;
                }
            }
            neurons.layers.push((index, neurons.count, count));
            neurons.count += count;
        }
        neurons
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The neuron that owns each parameter.
    pub fn owners(&self) -> &[u32] {
        &self.owners
    }

    /// The relevance of every neuron, summed over its positions.
    pub(super) fn gather(&self, walk: &Walk, step: &Step) -> Vec<f32> {
        let mut sums = vec![0.0; self.count];
        for &(node, first, count) in &self.layers {
            for position in walk.at_output(step, node).chunks_exact(count) {
                sums[first..first + count].iter_mut().zip(position).for_each(|(sum, value)| *sum += value);
            }
        }
        sums
    }
}

/// How far apart neighbours along one of PyTorch's axes are stored.
fn stride(tensor: &Tensor, axis: usize) -> usize {
    let identity: Vec<usize> = (0..tensor.sizes.len()).collect();
    let axes: &[usize] = tensor.stored_axes.unwrap_or(&identity);
    axes.iter().rev().take_while(|&&stored| stored != axis).map(|&stored| tensor.sizes[stored]).product()
}
