//! Networks that a search under differential privacy found.

use super::parts::{dense, max_pool, sequential, unbiased_conv};
use crate::config::{Edge, Entry, Graph, LayerConfig, Piece};
use crate::layers::activation::Activation;
use crate::layers::window::Extent;
use crate::model_file::ModelDescription;
use crate::shape::Shape;

/// What a search may put on an edge. It may also put nothing there; such edges are left out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Operation {
    /// Largest of 3 x 3.
    Pool,
    /// Mean of 3 x 3.
    Mean,
    /// The value itself.
    Skip,
    /// Depthwise 3 x 3 convolution, normalisation, and an activation if there is one.
    Conv(Option<Activation>),
}

use Operation::{Mean, Pool, Skip};

const RELU: Operation = Operation::Conv(Some(Activation::Relu));
const SELU: Operation = Operation::Conv(Some(Activation::Selu));
const TANH: Operation = Operation::Conv(Some(Activation::Tanh));

/// Everything that may be on an edge.
///
/// # Source
/// Cheng et al. 2022, the released code.
pub const OPERATIONS: [Operation; 9] = [
    Pool,
    Mean,
    Skip,
    RELU,
    SELU,
    TANH,
    Operation::Conv(None),
    Operation::Conv(Some(Activation::Hardtanh)),
    Operation::Conv(Some(Activation::Sigmoid)),
];

/// Nodes of a cell behind its input.
pub const NODES: usize = 5;

/// Operations with the nodes they lead from and to.
pub type Genotype = [(Operation, usize, usize)];

const MNIST: &Genotype = &[
    (SELU, 0, 1),
    (TANH, 0, 2),
    (Skip, 1, 2),
    (SELU, 1, 3),
    (RELU, 2, 3),
    (TANH, 1, 4),
    (Skip, 3, 4),
    (Pool, 0, 5),
    (Pool, 2, 5),
    (Pool, 3, 5),
    (RELU, 4, 5),
];

const CIFAR: &Genotype = &[
    (SELU, 0, 1),
    (Pool, 0, 2),
    (SELU, 1, 2),
    (TANH, 0, 3),
    (Pool, 1, 3),
    (SELU, 0, 4),
    (Skip, 3, 4),
    (SELU, 0, 5),
    (SELU, 1, 5),
    (TANH, 2, 5),
    (Pool, 3, 5),
    (TANH, 4, 5),
];

fn norm() -> LayerConfig {
    LayerConfig::GroupNorm { groups: 8, affine: false }
}

/// A pixelwise or wider convolution and its normalisation.
fn normalised(name: &str, channels: usize, kernel: usize) -> Entry {
    let layers = vec![unbiased_conv(channels, kernel, 1, kernel / 2).into(), norm().into()];
    sequential(name, layers)
}

fn mean_pool() -> LayerConfig {
    LayerConfig::AveragePool {
        kernel: Extent::Square(3),
        stride: Some(Extent::Square(1)),
        padding: Extent::Square(1),
    }
}

fn edge((operation, from, to): (Operation, usize, usize), channels: usize) -> Edge {
    let layers = match operation {
        Pool => vec![max_pool(3, 1, 1).into()],
        Mean => vec![mean_pool().into()],
        Skip => vec![],
        Operation::Conv(activation) => {
            let depthwise = LayerConfig::Conv2d {
                channels,
                kernel: Extent::Square(3),
                stride: Extent::Square(1),
                padding: Extent::Square(1),
                groups: channels,
                bias: false,
            };
            let mut layers = vec![depthwise.into(), norm().into()];
            layers.extend(activation.map(Entry::from));
            vec![sequential("op", layers)]
        }
    };
    Edge { from, to, layers }
}

fn cell(genotype: &Genotype, channels: usize) -> Entry {
    let graph = Graph {
        edges: genotype.iter().map(|&step| edge(step, channels)).collect(),
        outputs: (1..=NODES).collect(),
    };
    let layers = vec![normalised("preprocess1", channels, 1), Entry::named("_ops", Piece::Graph(graph))];
    Piece::Sequential(layers).into()
}

/// A network of three cells, each followed by a pool.
///
/// Every node of a cell needs an edge that leads to it; the channels have to be multiples of eight.
pub fn network(
    input: Shape,
    classes: usize,
    genotype: &Genotype,
    channels: [usize; 3],
    head: Activation,
) -> ModelDescription {
    let cells =
        channels.iter().flat_map(|&channels| [cell(genotype, channels), max_pool(2, 2, 0).into()]).collect();
    let classifier = vec![dense(128).into(), head.into(), dense(classes).into()];
    ModelDescription {
        input,
        layers: vec![
            normalised("stem", channels[0], 3),
            sequential("cells", cells),
            normalised("adapt", 128, 1),
            LayerConfig::Flatten.into(),
            sequential("cls", classifier),
        ],
    }
}

/// The cell found for MNIST, three times.
///
/// # Source
/// Cheng et al. 2022, "DPNAS: neural architecture search for deep learning with differential privacy"; genotype and
/// names from the released code. The code draws convolutions with variance 2 / (9 · channels); here they start as
/// PyTorch's.
pub fn dpnas_mnist() -> ModelDescription {
    network(Shape::image(1, 28, 28), 10, MNIST, [32, 32, 64], Activation::Tanh)
}

/// The cell found for CIFAR-10, three times.
///
/// # Source
/// As for [`dpnas_mnist`].
pub fn dpnas_cifar() -> ModelDescription {
    network(Shape::image(3, 32, 32), 10, CIFAR, [48, 96, 192], Activation::Selu)
}
