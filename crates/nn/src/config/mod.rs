//! Networks as written in model files: what to build, before any shape is known.

mod layer;

pub use layer::LayerConfig;

use crate::custom::CustomLayer;
use crate::layers::activation::Activation;

/// One piece of a network, with the name it has there.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Name in the network and in weight files; the position in the list if absent, as in PyTorch's `Sequential`. An
    /// empty name leaves no trace: what is inside is named as if it stood outside.
    pub name: Option<String>,
    /// What it is.
    pub piece: Piece,
}

impl<T: Into<Piece>> From<T> for Entry {
    fn from(piece: T) -> Entry {
        Entry { name: None, piece: piece.into() }
    }
}

impl Entry {
    /// A piece with a name of its own.
    pub fn named(name: &str, piece: impl Into<Piece>) -> Entry {
        Entry { name: Some(name.to_string()), piece: piece.into() }
    }
}

/// A layer, an activation, or several of them in an arrangement.
#[derive(Clone, Debug, PartialEq)]
pub enum Piece {
    /// A layer with a shape of its own.
    Layer(LayerConfig),
    /// A layer that this crate does not know.
    Custom(CustomLayer),
    /// A function of every value.
    Activation(Activation),
    /// One after the other.
    Sequential(Vec<Entry>),
    /// The sum of branches that all see the same input; an empty branch passes the input on.
    Sum(Vec<Entry>),
    /// The channels of several branches side by side.
    Concat(Vec<Entry>),
    /// A small directed graph, as found by architecture search.
    Graph(Graph),
}

impl From<LayerConfig> for Piece {
    fn from(layer: LayerConfig) -> Piece {
        Piece::Layer(layer)
    }
}

impl From<CustomLayer> for Piece {
    fn from(layer: CustomLayer) -> Piece {
        Piece::Custom(layer)
    }
}

impl From<Activation> for Piece {
    fn from(activation: Activation) -> Piece {
        Piece::Activation(activation)
    }
}

/// Nodes that each sum what their incoming edges bring; the output is the concatenation of some of them.
///
/// What lies on the edge from node 0 to node 2 is named `0_2`.
#[derive(Clone, Debug, PartialEq)]
pub struct Graph {
    /// Edges between nodes; node 0 is the input, and edges lead from lower to higher numbers.
    pub edges: Vec<Edge>,
    /// Nodes whose values, side by side, are the output.
    pub outputs: Vec<usize>,
}

/// One edge of a [`Graph`].
#[derive(Clone, Debug, PartialEq)]
pub struct Edge {
    /// Where it starts.
    pub from: usize,
    /// Where it ends.
    pub to: usize,
    /// What happens on the way; nothing if empty.
    pub layers: Vec<Entry>,
}
