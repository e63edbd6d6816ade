//! Layers in the few words that the networks here need.

use crate::config::{Entry, LayerConfig, Piece};
use crate::layers::activation::Activation;
use crate::layers::window::Extent;

/// Groups of a normalisation that stands in for batch normalisation: as many as 32 and the channels have in common.
///
/// # Source
/// Wu, He 2018, "Group Normalization", for 32; the greatest common divisor is what Opacus puts in place of batch
/// normalisation, so that every number of channels works.
pub fn group_norm(channels: usize) -> LayerConfig {
    let groups = (1..=32).rev().find(|groups| 32 % groups == 0 && channels.is_multiple_of(*groups));
    LayerConfig::GroupNorm { groups: groups.unwrap_or(1), affine: true }
}

/// A square window with a bias.
pub fn conv(channels: usize, kernel: usize, stride: usize, padding: usize) -> LayerConfig {
    let [kernel, stride, padding] = [kernel, stride, padding].map(Extent::Square);
    LayerConfig::Conv2d { channels, kernel, stride, padding, groups: 1, bias: true }
}

/// A square window without a bias, as before a normalisation.
pub fn unbiased_conv(channels: usize, kernel: usize, stride: usize, padding: usize) -> LayerConfig {
    let [kernel, stride, padding] = [kernel, stride, padding].map(Extent::Square);
    LayerConfig::Conv2d { channels, kernel, stride, padding, groups: 1, bias: false }
}

/// Largest value under a square window.
pub fn max_pool(kernel: usize, stride: usize, padding: usize) -> LayerConfig {
    LayerConfig::MaxPool {
        kernel: Extent::Square(kernel),
        stride: (stride != kernel).then_some(Extent::Square(stride)),
        padding: Extent::Square(padding),
    }
}

/// Mean under a square window.
pub fn average_pool(kernel: usize, stride: usize) -> LayerConfig {
    LayerConfig::AveragePool {
        kernel: Extent::Square(kernel),
        stride: (stride != kernel).then_some(Extent::Square(stride)),
        padding: Extent::Square(0),
    }
}

/// Fully connected, with a bias.
pub fn dense(features: usize) -> LayerConfig {
    LayerConfig::Dense { features, bias: true }
}

/// One after the other, under a name of their own.
pub fn sequential(name: &str, layers: Vec<Entry>) -> Entry {
    Entry::named(name, Piece::Sequential(layers))
}

/// What lies between two sums of a residual network: two convolutions and a way around them, then ReLU.
///
/// `names` are those of the convolutions, the normalisations and the way around.
///
/// # Source
/// He, Zhang, Ren, Sun 2016, "Deep residual learning for image recognition", figure 2, with projection where the
/// shape changes.
pub fn residual_block(name: &str, names: [&str; 5], inputs: usize, outputs: usize, stride: usize) -> Entry {
    let [first_conv, first_norm, second_conv, second_norm, around] = names;
    let layers = vec![
        Entry::named(first_conv, unbiased_conv(outputs, 3, stride, 1)),
        Entry::named(first_norm, group_norm(outputs)),
        Activation::Relu.into(),
        Entry::named(second_conv, unbiased_conv(outputs, 3, 1, 1)),
        Entry::named(second_norm, group_norm(outputs)),
    ];
    let shortcut = if stride == 1 && inputs == outputs {
        Vec::new()
    } else {
        vec![unbiased_conv(outputs, 1, stride, 0).into(), group_norm(outputs).into()]
    };
    let sum = Piece::Sum(vec![sequential("", layers), sequential(around, shortcut)]);
    sequential(name, vec![Entry::named("", sum), Activation::Relu.into()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_divide_the_channels() {
        for (channels, expected) in [(64, 32), (96, 32), (48, 16), (24, 8), (112, 16), (10, 2), (7, 1)] {
            let affine = true;
            let groups = expected;
            assert_eq!(group_norm(channels), LayerConfig::GroupNorm { groups, affine });
        }
    }
}
