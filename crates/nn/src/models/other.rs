//! Networks that see no images: rows of pixels one after the other, and principal components.

use super::parts::dense;
use crate::config::{Entry, LayerConfig};
use crate::layers::activation::Activation;
use crate::model_file::ModelDescription;
use crate::shape::Shape;

/// Reads a digit row by row and decides at the end.
///
/// # Source
/// Lin et al. 2020, "Differential privacy protection over deep learning: an investigation of its impacted factors",
/// section 4.3.2.
pub fn lstm_rows() -> ModelDescription {
    let memory = LayerConfig::Lstm { features: 128, sequence: false };
    ModelDescription {
        input: Shape::Sequence { steps: 28, features: 28 },
        layers: vec![Entry::named("rnn", memory), Entry::named("fc", dense(10))],
    }
}

/// One hidden layer behind sixty principal components.
///
/// # Source
/// Abadi et al. 2016, "Deep learning with differential privacy".
pub fn pca_mlp() -> ModelDescription {
    ModelDescription {
        input: Shape::Vector(60),
        layers: vec![dense(1000).into(), Activation::Relu.into(), dense(10).into()],
    }
}
