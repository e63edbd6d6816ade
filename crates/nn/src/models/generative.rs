//! Networks that make digits, and those that judge them: what a generator's critic is measured on.

use super::parts::{conv, dense};
use crate::config::LayerConfig;
use crate::layers::activation::Activation;
use crate::layers::window::Extent;
use crate::model_file::ModelDescription;
use crate::shape::Shape;

/// Classes that both are told.
const CLASSES: usize = 10;
/// Random numbers that the generator begins with.
const LATENT: usize = 32;

fn conv_transpose(channels: usize) -> LayerConfig {
    let [kernel, stride, padding] = [4, 2, 1].map(Extent::Square);
    let output_padding = Extent::Square(0);
    LayerConfig::ConvTranspose2d { channels, kernel, stride, padding, output_padding, bias: true }
}

/// Judges digits, class by class: two strided convolutions and a dense layer.
///
/// # Source
/// The arrangement of Radford, Metz and Chintala 2016, "Unsupervised representation learning with deep convolutional generative
/// adversarial networks", section 3, without normalisation over the batch, and small.
pub fn critic() -> ModelDescription {
    let leaky = Activation::LeakyRelu { slope: 0.2 };
    ModelDescription {
        input: Shape::image(1, 28, 28),
        layers: vec![
            conv(16, 5, 2, 2).into(),
            leaky.into(),
            conv(32, 5, 2, 2).into(),
            leaky.into(),
            LayerConfig::Flatten.into(),
            dense(CLASSES).into(),
        ],
    }
}

/// Makes digits of a class from random numbers, which stand before one number for each class.
///
/// # Source
/// As [`critic`], with normalisation over groups in place of that over the batch.
pub fn generator() -> ModelDescription {
    ModelDescription {
        input: Shape::Vector(LATENT + CLASSES),
        layers: vec![
            dense(7 * 7 * 48).into(),
            Activation::Relu.into(),
            LayerConfig::Reshape { shape: vec![48, 7, 7] }.into(),
            conv_transpose(24).into(),
            LayerConfig::GroupNorm { groups: 4, affine: true }.into(),
            Activation::Relu.into(),
            conv_transpose(1).into(),
            Activation::Tanh.into(),
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What one makes the other reads. Numbers of weights by hand: 16·26 + 32·401 + 10·1,569, and
    /// 2,352·43 + (48·16·24 + 24) + 48 + (24·16 + 1).
    #[test]
    fn both_fit_together() {
        let [critic, generator] = [critic(), generator()].map(|model| model.network().unwrap());
        assert_eq!(generator.output(), critic.input());
        assert_eq!(critic.output(), Shape::Vector(CLASSES));
        assert_eq!([critic.trainable_len(), generator.trainable_len()], [28_938, 120_025]);
    }
}
