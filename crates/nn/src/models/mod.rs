//! The networks of the experiments, by name.

pub mod dpnas;
pub mod generative;
mod googlenet;
mod other;
mod parts;
mod resnet;
mod simpledla;
mod small;
mod text;
mod vgg;

use crate::error::{Error, Result};
use crate::model_file::ModelDescription;

/// A network with a name.
pub struct Model {
    /// How to ask for it.
    pub name: &'static str,
    /// What it is, in one line.
    pub summary: &'static str,
    /// Where it comes from.
    pub source: &'static str,
    build: fn() -> ModelDescription,
}

impl Model {
    /// What it consists of.
    pub fn description(&self) -> ModelDescription {
        (self.build)()
    }
}

const fn model_entry(
    name: &'static str,
    build: fn() -> ModelDescription,
    summary: &'static str,
    source: &'static str,
) -> Model {
    Model { name, summary, source, build }
}

/// All of them.
pub const MODELS: &[Model] = &[
    model_entry(
        "cnn-small",
        small::cnn_small,
        "two convolutions and two dense layers for digits, ReLU",
        "MNIST tutorials of TensorFlow Privacy and Opacus",
    ),
    model_entry(
        "cnn-5x5",
        small::cnn_5x5,
        "two 5 x 5 convolutions and a dense layer of 1024 for digits",
        "Lin et al. 2020, without dropout",
    ),
    model_entry(
        "cnn-5x5-dropout",
        small::cnn_5x5_dropout,
        "cnn-5x5 with dropout before the last layer",
        "Lin et al. 2020",
    ),
    model_entry(
        "lstm-rows",
        other::lstm_rows,
        "LSTM of 128 units that reads a digit row by row",
        "Lin et al. 2020",
    ),
    model_entry(
        "pca-mlp",
        other::pca_mlp,
        "one hidden layer of 1000 behind 60 principal components",
        "Abadi et al. 2016",
    ),
    model_entry(
        "icgc-1",
        small::icgc_1,
        "two convolutions and four dense layers for digits",
        "Ma, Kong, Huang 2023",
    ),
    model_entry(
        "icgc-2",
        small::icgc_2,
        "two convolutions and two dense layers for photographs",
        "Ma, Kong, Huang 2023",
    ),
    model_entry(
        "icgc-1-fused",
        small::icgc_1_fused,
        "two of icgc-1, fused by the variance of their probabilities",
        "Ma, Kong, Huang 2023",
    ),
    model_entry(
        "icgc-2-fused",
        small::icgc_2_fused,
        "two of icgc-2, fused by the variance of their probabilities",
        "Ma, Kong, Huang 2023",
    ),
    model_entry(
        "afrrs-mnist",
        small::afrrs_mnist,
        "cnn-small with a last hidden layer in [0, 1]",
        "Wang et al. 2023, table 1",
    ),
    model_entry(
        "afrrs-cifar",
        small::afrrs_cifar,
        "four convolutions with overlapping mean pools",
        "Wang et al. 2023, table 2",
    ),
    model_entry(
        "backprop-clip-mnist",
        small::backprop_clip_mnist,
        "cnn-small without biases",
        "Stevens et al. 2022",
    ),
    model_entry("lenet5", small::lenet5, "LeNet-5 for digits on 32 x 32 pixels", "LeCun et al. 1998"),
    model_entry(
        "tempered-mnist",
        small::tempered_mnist,
        "cnn-small with the hyperbolic tangent",
        "Papernot et al. 2021",
    ),
    model_entry(
        "tempered-cifar",
        small::tempered_cifar,
        "eight convolutions with the hyperbolic tangent, no dense layer",
        "Papernot et al. 2021",
    ),
    model_entry(
        "tempered-cifar-small",
        small::tempered_cifar_small,
        "three convolutions with the hyperbolic tangent, for few cores and small budgets",
        "muffle, after Papernot et al. 2021",
    ),
    model_entry(
        "resnet18",
        resnet::resnet18,
        "ResNet-18 for 32 x 32 photographs, group normalisation",
        "He et al. 2016",
    ),
    model_entry(
        "vgg19",
        vgg::vgg19,
        "VGG-19 for 32 x 32 photographs, group normalisation",
        "Simonyan, Zisserman 2015",
    ),
    model_entry(
        "googlenet",
        googlenet::googlenet,
        "GoogLeNet for 32 x 32 photographs, group normalisation",
        "Szegedy et al. 2015",
    ),
    model_entry(
        "simpledla",
        simpledla::simpledla,
        "simplified deep layer aggregation, group normalisation",
        "Yu et al. 2018",
    ),
    model_entry(
        "dpnas-mnist",
        dpnas::dpnas_mnist,
        "cells found by private search, for digits",
        "Cheng et al. 2022",
    ),
    model_entry(
        "dpnas-cifar",
        dpnas::dpnas_cifar,
        "cells found by private search, for photographs",
        "Cheng et al. 2022",
    ),
    model_entry(
        "text-mean",
        text::text_mean,
        "mean of the tokens' features without padding, and a dense layer",
        "Joulin et al. 2017",
    ),
    model_entry(
        "text-cnn",
        text::text_cnn,
        "filters over 3, 4 and 5 tokens, their largest values, and a dense layer",
        "Kim 2014",
    ),
    model_entry(
        "text-gru",
        text::text_gru,
        "GRU of 128 units that reads a text token by token",
        "Cho et al. 2014",
    ),
    model_entry(
        "text-transformer",
        text::text_transformer,
        "two transformer blocks of 128 features and 4 heads, and the mean",
        "Vaswani et al. 2017",
    ),
];

/// The description of a network by its name.
pub fn model(name: &str) -> Result<ModelDescription> {
    match MODELS.iter().find(|model| model.name == name) {
        Some(model) => Ok(model.description()),
        None => {
            let known: Vec<&str> = MODELS.iter().map(|model| model.name).collect();
            Err(Error::UnknownModel { name: name.to_string(), known: known.join(", ") })
        }
    }
}
