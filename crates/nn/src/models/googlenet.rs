//! Networks of parallel branches.

use super::parts::{conv, dense, group_norm, max_pool, sequential};
use crate::config::{Entry, LayerConfig, Piece};
use crate::layers::activation::Activation;
use crate::model_file::ModelDescription;
use crate::shape::Shape;

/// Channels of one module: of its 1 x 1 branch, of its 3 x 3 and 5 x 5 branches before and in the wide convolution, and
/// of its pool branch.
type Channels = [usize; 6];

const THIRD: [(&str, Channels); 2] = [("a3", [64, 96, 128, 16, 32, 32]), ("b3", [128, 128, 192, 32, 96, 64])];

const FOURTH: [(&str, Channels); 5] = [
    ("a4", [192, 96, 208, 16, 48, 64]),
    ("b4", [160, 112, 224, 24, 64, 64]),
    ("c4", [128, 128, 256, 24, 64, 64]),
    ("d4", [112, 144, 288, 32, 64, 64]),
    ("e4", [256, 160, 320, 32, 128, 128]),
];

const FIFTH: [(&str, Channels); 2] =
    [("a5", [256, 160, 320, 32, 128, 128]), ("b5", [384, 192, 384, 48, 128, 128])];

/// Convolution, normalisation and ReLU that keep the size of the image.
fn step(channels: usize, kernel: usize) -> [Entry; 3] {
    [conv(channels, kernel, 1, kernel / 2).into(), group_norm(channels).into(), Activation::Relu.into()]
}

fn module((name, channels): (&str, Channels)) -> Entry {
    let [one, reduced_three, three, reduced_five, five, pool] = channels;
    let pooled = [max_pool(3, 1, 1).into()].into_iter().chain(step(pool, 1)).collect();
    let branches = vec![
        sequential("b1", step(one, 1).into()),
        sequential("b2", [step(reduced_three, 1), step(three, 3)].concat()),
        // Two 3 x 3 windows in place of one of 5 x 5.
        sequential("b3", [step(reduced_five, 1), step(five, 3), step(five, 3)].concat()),
        sequential("b4", pooled),
    ];
    Entry::named(name, Piece::Concat(branches))
}

/// GoogLeNet for photographs of 32 x 32 pixels, with group normalisation.
///
/// # Source
/// Szegedy et al. 2015, "Going deeper with convolutions", as <https://github.com/kuangliu/pytorch-cifar> has it, whose
/// names the tensors bear.
pub fn googlenet() -> ModelDescription {
    let mut layers = vec![sequential("pre_layers", step(192, 3).into())];
    layers.extend(THIRD.map(module));
    layers.push(Entry::named("maxpool", max_pool(3, 2, 1)));
    layers.extend(FOURTH.map(module));
    layers.push(Entry::named("maxpool2", max_pool(3, 2, 1)));
    layers.extend(FIFTH.map(module));
    layers.push(Entry::named("avgpool", LayerConfig::GlobalAveragePool));
    layers.push(Entry::named("linear", dense(10)));
    ModelDescription { input: Shape::image(3, 32, 32), layers }
}
