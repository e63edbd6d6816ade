//! Very deep plain convolutional networks.

use super::parts::{conv, dense, group_norm, max_pool, sequential};
use crate::config::{Entry, LayerConfig};
use crate::layers::activation::Activation;
use crate::model_file::ModelDescription;
use crate::shape::Shape;

/// VGG-19 for photographs of 32 x 32 pixels, with group normalisation and one dense layer.
///
/// # Source
/// Simonyan, Zisserman 2015, "Very deep convolutional networks for large-scale image recognition", column E, as
/// <https://github.com/kuangliu/pytorch-cifar> has it, whose names the tensors bear.
pub fn vgg19() -> ModelDescription {
    let mut features: Vec<Entry> = Vec::new();
    for (channels, count) in [(64, 2), (128, 2), (256, 4), (512, 4), (512, 4)] {
        for _ in 0..count {
            features.push(conv(channels, 3, 1, 1).into());
            features.push(group_norm(channels).into());
            features.push(Activation::Relu.into());
        }
        features.push(max_pool(2, 2, 0).into());
    }
    ModelDescription {
        input: Shape::image(3, 32, 32),
        layers: vec![
            sequential("features", features),
            LayerConfig::Flatten.into(),
            Entry::named("classifier", dense(10)),
        ],
    }
}
