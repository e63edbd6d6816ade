//! Small convolutional networks for digits and small photographs.

use super::parts::{average_pool, conv, dense, max_pool, unbiased_conv};
use crate::config::{Entry, LayerConfig, Piece};
use crate::layers::activation::Activation;
use crate::model_file::ModelDescription;
use crate::shape::Shape;

fn digits(layers: Vec<Entry>) -> ModelDescription {
    let input = Shape::image(1, 28, 28);
    ModelDescription { input, layers }
}

fn photographs(layers: Vec<Entry>) -> ModelDescription {
    let input = Shape::image(3, 32, 32);
    ModelDescription { input, layers }
}

/// The digit network of many papers on private learning, with an activation for the feature maps and one for the
/// hidden layer.
///
/// # Source
/// The MNIST tutorials of TensorFlow Privacy and Opacus; Papernot et al. 2021, "Tempered sigmoid activations for deep
/// learning with differential privacy". TensorFlow's "same" padding of the first layer is 3 on every side.
fn tutorial(maps: Activation, hidden: Activation) -> ModelDescription {
    digits(vec![
        conv(16, 8, 2, 3).into(),
        maps.into(),
        max_pool(2, 1, 0).into(),
        conv(32, 4, 2, 0).into(),
        maps.into(),
        max_pool(2, 1, 0).into(),
        LayerConfig::Flatten.into(),
        dense(32).into(),
        hidden.into(),
        dense(10).into(),
    ])
}

/// The tutorial network with ReLU.
pub fn cnn_small() -> ModelDescription {
    tutorial(Activation::Relu, Activation::Relu)
}

/// The tutorial network with the hyperbolic tangent, the tempered sigmoid (2, 2, 1).
///
/// # Source
/// Papernot et al. 2021, "Tempered sigmoid activations for deep learning with differential privacy".
pub fn tempered_mnist() -> ModelDescription {
    tutorial(Activation::Tanh, Activation::Tanh)
}

/// The tutorial network of the region-based relevance method.
///
/// The paper asks for a last hidden layer in [0, 1] and names no activation: a sigmoid there, ReLU elsewhere. It gives
/// no stride for its pools and no padding: those of the tutorial network it repeats.
///
/// # Source
/// Wang et al. 2023, "Preserving differential privacy in deep learning based on feature relevance region segmentation",
/// table 1.
pub fn afrrs_mnist() -> ModelDescription {
    tutorial(Activation::Relu, Activation::Sigmoid)
}

/// The tutorial network without biases, which backpropagation clipping needs.
///
/// # Source
/// Stevens et al. 2022, "Backpropagation clipping for deep learning with differential privacy", released code.
pub fn backprop_clip_mnist() -> ModelDescription {
    let unbiased = |features| LayerConfig::Dense { features, bias: false };
    digits(vec![
        unbiased_conv(16, 8, 2, 3).into(),
        Activation::Relu.into(),
        max_pool(2, 1, 0).into(),
        unbiased_conv(32, 4, 2, 0).into(),
        Activation::Relu.into(),
        max_pool(2, 1, 0).into(),
        LayerConfig::Flatten.into(),
        unbiased(32).into(),
        Activation::Relu.into(),
        unbiased(10).into(),
    ])
}

/// Two wide convolutions and a large dense layer.
///
/// # Source
/// Lin et al. 2020, "Differential privacy protection over deep learning: an investigation of its impacted factors",
/// section 4.3.1; without its dropout layer this is the usual speed test.
pub fn cnn_5x5() -> ModelDescription {
    digits(vec![
        conv(32, 5, 1, 2).into(),
        Activation::Relu.into(),
        max_pool(2, 2, 0).into(),
        conv(64, 5, 1, 2).into(),
        Activation::Relu.into(),
        max_pool(2, 2, 0).into(),
        LayerConfig::Flatten.into(),
        dense(1024).into(),
        Activation::Relu.into(),
        dense(10).into(),
    ])
}

/// The same with the dropout layer of the paper, which gives no rate: one half.
///
/// # Source
/// Lin et al. 2020, "Differential privacy protection over deep learning: an investigation of its impacted factors",
/// section 4.3.1.
pub fn cnn_5x5_dropout() -> ModelDescription {
    let mut model = cnn_5x5();
    let head = model.layers.len() - 1;
    model.layers.insert(head, LayerConfig::Dropout { rate: 0.5 }.into());
    model
}

/// Two convolutions and four dense layers.
///
/// The paper gives no dense widths, pools or activations: ReLU and pools of 2, which lead to 320 features, then 256,
/// 128, 64 and 10.
///
/// # Source
/// Ma, Kong, Huang 2023, "Image classification based on layered gradient clipping under differential privacy", section
/// IV.A, model 1.
pub fn icgc_1() -> ModelDescription {
    digits(vec![
        conv(10, 5, 1, 0).into(),
        Activation::Relu.into(),
        max_pool(2, 2, 0).into(),
        conv(20, 5, 1, 0).into(),
        Activation::Relu.into(),
        max_pool(2, 2, 0).into(),
        LayerConfig::Flatten.into(),
        dense(256).into(),
        Activation::Relu.into(),
        dense(128).into(),
        Activation::Relu.into(),
        dense(64).into(),
        Activation::Relu.into(),
        dense(10).into(),
    ])
}

/// Two convolutions and two dense layers, for photographs.
///
/// The paper gives no dense width, pools or activations: ReLU and pools of 2, which lead to 1600 features, then 384.
///
/// # Source
/// Ma, Kong, Huang 2023, "Image classification based on layered gradient clipping under differential privacy", section
/// IV.A, model 2.
pub fn icgc_2() -> ModelDescription {
    photographs(vec![
        conv(64, 5, 1, 0).into(),
        Activation::Relu.into(),
        max_pool(2, 2, 0).into(),
        conv(64, 5, 1, 0).into(),
        Activation::Relu.into(),
        max_pool(2, 2, 0).into(),
        LayerConfig::Flatten.into(),
        dense(384).into(),
        Activation::Relu.into(),
        dense(10).into(),
    ])
}

/// Two networks of one kind, each with weights of its own, fused by the variance of their probabilities and trained by one loss.
///
/// # Source
/// Ma, Kong, Huang 2023, adaptive weighted fusion.
fn fused(network: ModelDescription) -> ModelDescription {
    let branch = |name: &str| Entry::named(name, Piece::Sequential(network.layers.clone()));
    let both = Piece::Concat(vec![branch("first"), branch("second")]);
    let layers = vec![Entry::named("", both), LayerConfig::Fusion { separate: false }.into()];
    ModelDescription { input: network.input, layers }
}

/// Two of [`icgc_1`], fused.
pub fn icgc_1_fused() -> ModelDescription {
    fused(icgc_1())
}

/// Two of [`icgc_2`], fused.
pub fn icgc_2_fused() -> ModelDescription {
    fused(icgc_2())
}

/// Four convolutions with overlapping mean pools.
///
/// The paper gives no padding and no activation: none, as is PyTorch's default, and those of [`afrrs_mnist`].
///
/// # Source
/// Wang et al. 2023, "Preserving differential privacy in deep learning based on feature relevance region segmentation",
/// table 2 (its caption names the wrong data set).
pub fn afrrs_cifar() -> ModelDescription {
    photographs(vec![
        conv(32, 3, 1, 0).into(),
        Activation::Relu.into(),
        average_pool(2, 1).into(),
        conv(64, 3, 1, 0).into(),
        Activation::Relu.into(),
        average_pool(2, 1).into(),
        conv(128, 4, 1, 0).into(),
        Activation::Relu.into(),
        average_pool(2, 1).into(),
        conv(256, 4, 1, 0).into(),
        Activation::Relu.into(),
        LayerConfig::Flatten.into(),
        dense(32).into(),
        Activation::Sigmoid.into(),
        dense(10).into(),
    ])
}

/// The classic, for digits on 32 x 32 pixels, in today's dress: ReLU and largest values in place of scaled tangents and
/// trained means.
///
/// # Source
/// LeCun, Bottou, Bengio, Haffner 1998, "Gradient-based learning applied to document recognition", figure 2.
pub fn lenet5() -> ModelDescription {
    ModelDescription {
        input: Shape::image(1, 32, 32),
        layers: vec![
            Entry::named("conv1", conv(6, 5, 1, 0)),
            Activation::Relu.into(),
            max_pool(2, 2, 0).into(),
            Entry::named("conv2", conv(16, 5, 1, 0)),
            Activation::Relu.into(),
            max_pool(2, 2, 0).into(),
            LayerConfig::Flatten.into(),
            Entry::named("fc1", dense(120)),
            Activation::Relu.into(),
            Entry::named("fc2", dense(84)),
            Activation::Relu.into(),
            Entry::named("fc3", dense(10)),
        ],
    }
}

/// Eight convolutions and no dense layer: the last one has a channel for each class, and their means are the logits.
///
/// # Source
/// Papernot et al. 2021, "Tempered sigmoid activations for deep learning with differential privacy", with the
/// hyperbolic tangent.
pub fn tempered_cifar() -> ModelDescription {
    let mut layers: Vec<Entry> = Vec::new();
    for channels in [32, 64, 128] {
        for _ in 0..2 {
            layers.push(conv(channels, 3, 1, 1).into());
            layers.push(Activation::Tanh.into());
        }
        layers.push(average_pool(2, 2).into());
    }
    layers.extend([
        conv(256, 3, 1, 1).into(),
        Activation::Tanh.into(),
        conv(10, 3, 1, 1).into(),
        LayerConfig::GlobalAveragePool.into(),
    ]);
    photographs(layers)
}

/// A network for photographs with a fifth of the parameters of [`tempered_cifar`] and a quarter of the work of a step.
///
/// Noise grows with the number of parameters and steps with the number of cores, so that at the same budget and in the same time
/// it learns more than the published network (docs/results.md).
pub fn tempered_cifar_small() -> ModelDescription {
    photographs(vec![
        conv(32, 5, 2, 2).into(),
        Activation::Tanh.into(),
        conv(64, 3, 1, 1).into(),
        Activation::Tanh.into(),
        max_pool(2, 2, 0).into(),
        conv(128, 3, 1, 1).into(),
        Activation::Tanh.into(),
        max_pool(2, 2, 0).into(),
        LayerConfig::Flatten.into(),
        dense(10).into(),
    ])
}
