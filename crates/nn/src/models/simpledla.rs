//! Networks that aggregate their layers in trees.

use super::parts::{dense, group_norm, residual_block, sequential, unbiased_conv};
use crate::config::{Entry, LayerConfig, Piece};
use crate::layers::activation::Activation;
use crate::model_file::ModelDescription;
use crate::shape::Shape;

fn step(name: &str, channels: usize) -> Entry {
    let layers =
        vec![unbiased_conv(channels, 3, 1, 1).into(), group_norm(channels).into(), Activation::Relu.into()];
    sequential(name, layers)
}

/// Two subtrees, the second behind the first, and a root that sees the outputs of both.
fn tree(name: &str, inputs: usize, outputs: usize, level: usize, stride: usize) -> Entry {
    const NAMES: [&str; 5] = ["conv1", "bn1", "conv2", "bn2", "shortcut"];
    let subtree = |name: &str, inputs: usize, stride: usize| match level {
        1 => residual_block(name, NAMES, inputs, outputs, stride),
        _ => tree(name, inputs, outputs, level - 1, stride),
    };
    let both = Piece::Concat(vec![sequential("", vec![]), subtree("right_tree", outputs, 1)]);
    let root = vec![
        Entry::named("conv", unbiased_conv(outputs, 1, 1, 0)),
        Entry::named("bn", group_norm(outputs)),
        Activation::Relu.into(),
    ];
    let layers = vec![subtree("left_tree", inputs, stride), Entry::named("", both), sequential("root", root)];
    sequential(name, layers)
}

/// SimpleDLA for photographs of 32 x 32 pixels, with group normalisation.
///
/// # Source
/// Yu, Wang, Shelhamer, Darrell 2018, "Deep layer aggregation", simplified as
/// <https://github.com/kuangliu/pytorch-cifar> has it, whose names the tensors bear.
pub fn simpledla() -> ModelDescription {
    ModelDescription {
        input: Shape::image(3, 32, 32),
        layers: vec![
            step("base", 16),
            step("layer1", 16),
            step("layer2", 32),
            tree("layer3", 32, 64, 1, 1),
            tree("layer4", 64, 128, 2, 2),
            tree("layer5", 128, 256, 2, 2),
            tree("layer6", 256, 512, 1, 2),
            LayerConfig::GlobalAveragePool.into(),
            Entry::named("linear", dense(10)),
        ],
    }
}
