//! What can go wrong when a network is described, built, loaded or run.

use crate::shape::Shape;

/// An error with the place it happened and what to do about it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A layer cannot take the shape it is given.
    #[error("layer `{layer}` ({kind}) cannot take an input of shape {input}: {reason}")]
    Shape {
        /// Name of the layer in the network.
        layer: String,
        /// Kind of the layer.
        kind: &'static str,
        /// Shape that arrives.
        input: Shape,
        /// What the layer needs.
        reason: String,
    },
    /// Branches that meet do not fit together.
    #[error("`{node}` joins branches of shapes {first} and {second}: {reason}")]
    Join {
        /// Name of the meeting point.
        node: String,
        /// Shape of the first branch.
        first: Shape,
        /// Shape of the branch that does not fit.
        second: Shape,
        /// What must agree.
        reason: &'static str,
    },
    /// A network description that means nothing.
    #[error("{0}")]
    Description(String),
    /// No model of this name.
    #[error("unknown model `{name}`; the known ones are {known}")]
    UnknownModel {
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// A layer that looks at several examples at once cannot give per-example gradients.
    #[error(
        "layer `{layer}` ({kind}) mixes the examples of a batch, so no example has a gradient of its own; \
         use GroupNorm (`group-norm`) in its place"
    )]
    MixesExamples {
        /// Name of the layer in the network.
        layer: String,
        /// Kind of the layer.
        kind: &'static str,
    },
    /// A layer that relevance does not go back through.
    #[error(
        "layer `{layer}` ({kind}) has no rule of relevance: its outputs, such as logarithms of probabilities, are no sums of what its \
         inputs add. Take a network without it; dense and convolutional layers, pools, norms, recurrent layers, attention, embeddings, \
         scattering and activations have a rule"
    )]
    NoRelevance {
        /// Name of the layer in the network.
        layer: String,
        /// Kind of the layer.
        kind: &'static str,
    },
    /// A weight file that cannot be used.
    #[error("{path}: {reason}")]
    Weights {
        /// The file.
        path: String,
        /// What is wrong with it and what would be right.
        reason: String,
    },
    /// Options that cannot be met.
    #[error("{0}")]
    Options(String),
}

/// The crate's result.
pub type Result<T> = std::result::Result<T, Error>;
