//! Norms, weighted sums and materialised gradients equal those of a loop that runs one example at a time.

mod common;

use common::{Setting, check};
use muffle_nn::Shape;
use muffle_nn::config::{Entry, LayerConfig};
use muffle_nn::layers::activation::Activation;
use muffle_nn::layers::window::Extent;

fn dense(features: usize) -> Entry {
    LayerConfig::Dense { features, bias: true }.into()
}

fn conv(channels: usize, kernel: usize, stride: usize, padding: usize, groups: usize, bias: bool) -> Entry {
    let (kernel, stride, padding) = (
        Extent::Square(kernel),
        Extent::Square(stride),
        Extent::Square(padding),
    );
    LayerConfig::Conv2d {
        channels,
        kernel,
        stride,
        padding,
        groups,
        bias,
    }
    .into()
}

fn max_pool(kernel: usize, stride: usize) -> Entry {
    let (kernel, stride) = (Extent::Square(kernel), Some(Extent::Square(stride)));
    LayerConfig::MaxPool {
        kernel,
        stride,
        padding: Extent::Square(0),
    }
    .into()
}

#[test]
fn dense_layers() {
    check(&Setting::layers(
        Shape::Vector(11),
        vec![dense(7), Activation::Tanh.into(), dense(4)],
        7,
    ));
}

#[test]
fn convolutions() {
    for (kernel, stride, padding, groups, bias) in [
        (3, 1, 1, 1, true),
        (3, 2, 1, 1, false),
        (5, 1, 2, 2, true),
        (8, 2, 3, 1, true),
        (2, 3, 0, 1, true),
        (4, 2, 0, 2, false),
    ] {
        let layers = vec![
            conv(4, kernel, stride, padding, 1, bias),
            Activation::Relu.into(),
            conv(6, 2, 1, 1, groups, bias),
            Activation::Tanh.into(),
            LayerConfig::Flatten.into(),
            dense(5),
        ];
        check(&Setting::layers(Shape::image(2, 11, 9), layers, 7));
    }
}

#[test]
fn the_small_network() {
    let layers = vec![
        conv(16, 8, 2, 3, 1, true),
        Activation::Relu.into(),
        max_pool(2, 1),
        conv(32, 4, 2, 0, 1, true),
        Activation::Relu.into(),
        max_pool(2, 1),
        LayerConfig::Flatten.into(),
        dense(32),
        Activation::Relu.into(),
        dense(10),
    ];
    check(&Setting::layers(Shape::image(1, 28, 28), layers, 7));
}
