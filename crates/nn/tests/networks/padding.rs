//! A text gives the same whatever fills it up: outputs and gradients are those of a network for texts of its own length.

use crate::common::{LOSS, relative_error};
use muffle_nn::config::{Entry, LayerConfig, Piece};
use muffle_nn::initialise::initial_parameters;
use muffle_nn::layers::activation::Activation;
use muffle_nn::layers::window::Extent;
use muffle_nn::{Batch, Engine, Network, Options, Purpose, Shape};
use std::sync::{Arc, Mutex};

const LENGTH: usize = 11;
const PADDING: usize = 6;
const TEXT: [f32; 5] = [3.0, 1.0, 6.0, 3.0, 2.0];

fn embedding(padding: Option<usize>) -> Entry {
    LayerConfig::Embedding { tokens: 7, features: 8, padding }.into()
}

fn dense(features: usize) -> Entry {
    LayerConfig::Dense { features, bias: true }.into()
}

fn conv(kernel: usize, stride: usize, padding: usize) -> Entry {
    LayerConfig::Conv1d { channels: 8, kernel, stride, padding, bias: true }.into()
}

fn pool(largest: bool, kernel: usize, stride: usize, padding: usize) -> Entry {
    let (kernel, stride, padding) =
        (Extent::Square(kernel), Some(Extent::Square(stride)), Extent::Square(padding));
    match largest {
        true => LayerConfig::MaxPool { kernel, stride, padding }.into(),
        false => LayerConfig::AveragePool { kernel, stride, padding }.into(),
    }
}

/// Ways to read a text, every layer for sequences among them.
fn readers() -> Vec<Vec<Entry>> {
    let mean = || -> Entry { LayerConfig::GlobalAveragePool.into() };
    let attention = |causal| -> Entry { LayerConfig::MultiHeadAttention { heads: 2, causal }.into() };
    let norm = || -> Entry { LayerConfig::LayerNorm { affine: true }.into() };
    let block = Piece::Sum(vec![
        Piece::Sequential(vec![norm(), attention(false), dense(8), LayerConfig::Gelu.into()]).into(),
        Piece::Sequential(vec![conv(3, 1, 1)]).into(),
        Piece::Sequential(Vec::new()).into(),
    ]);
    vec![
        vec![mean()],
        vec![block.into(), attention(true), mean()],
        vec![LayerConfig::Gru { features: 5, sequence: true }.into(), mean()],
        vec![dense(4), LayerConfig::Gru { features: 5, sequence: false }.into()],
        vec![LayerConfig::Lstm { features: 5, sequence: true }.into(), mean()],
        vec![dense(4), LayerConfig::Lstm { features: 5, sequence: false }.into()],
        vec![conv(3, 1, 1), Activation::Tanh.into(), conv(2, 2, 0), conv(2, 1, 1), mean()],
        vec![pool(true, 3, 2, 1), pool(true, 2, 1, 0), attention(false), mean()],
        vec![pool(false, 3, 2, 1), pool(false, 2, 1, 0), attention(false), mean()],
    ]
}

/// Outputs and the gradient of one text.
fn read(reader: &[Entry], padding: Option<usize>, text: &[f32], parameters: Option<&[f32]>) -> [Vec<f32>; 3] {
    let layers: Vec<Entry> = [embedding(padding)].iter().chain(reader).chain(&[dense(3)]).cloned().collect();
    let network = Arc::new(Network::new(Shape::Vector(text.len()), &layers).unwrap());
    let parameters = parameters.map_or_else(|| initial_parameters(&network, 4), <[f32]>::to_vec);
    let one = Batch::new(text.to_vec(), vec![1]);
    let engine = |purpose: Purpose| {
        Engine::new(network.clone(), Options { threads: Some(1), ..Options::new(purpose) }).unwrap()
    };
    let mut outputs = vec![0.0; 3];
    engine(Purpose::Evaluate).outputs(&parameters, &one, &mut outputs).unwrap();
    let gradient = Mutex::new(Vec::new());
    let visit = |_: usize, own: &mut [f32], _: &mut [f32]| *gradient.lock().unwrap() = own.to_vec();
    engine(Purpose::Plain).visit(&parameters, &one, LOSS, 3, &visit).unwrap();
    [outputs, gradient.into_inner().unwrap(), parameters]
}

#[test]
fn filling_up_moves_nothing() {
    for (index, reader) in readers().iter().enumerate() {
        let filled: Vec<f32> =
            (0..LENGTH).map(|place| *TEXT.get(place).unwrap_or(&(PADDING as f32))).collect();
        let [outputs, gradient, parameters] = read(reader, Some(PADDING), &filled, None);
        let [alone, alone_gradient, _] = read(reader, Some(PADDING), &TEXT, Some(&parameters));
        assert!(relative_error(&outputs, &alone) < 1e-6, "reader {index}: {outputs:?} and {alone:?}");
        assert!(relative_error(&gradient, &alone_gradient) < 1e-6, "reader {index}: gradients");
        // Without being told, the network is moved: the test sees what it is about.
        let [moved, ..] = read(reader, None, &filled, Some(&parameters));
        assert!(relative_error(&moved, &alone) > 1e-3, "reader {index} is not moved by what it reads");
    }
}

/// A text shorter than a window is read once, and an empty one as one token of nothing.
#[test]
fn very_short_texts_are_read() {
    let filled =
        |token: f32| -> Vec<f32> { [token].into_iter().chain([PADDING as f32; LENGTH - 1]).collect() };
    for reader in readers().into_iter().chain([
        vec![conv(4, 1, 0), pool(true, 8, 8, 0), LayerConfig::Flatten.into()],
        vec![pool(false, LENGTH, LENGTH, 0), LayerConfig::Flatten.into()],
    ]) {
        for token in [2.0, PADDING as f32] {
            let [outputs, gradient, _] = read(&reader, Some(PADDING), &filled(token), None);
            assert!(outputs.iter().chain(&gradient).all(|value| value.is_finite()));
            let padding_row = &gradient[PADDING * 8..][..8];
            assert_eq!(padding_row, [0.0; 8], "the token that fills up is not trained");
        }
    }
}

/// The mean over a window that reaches behind the end is that of what is there.
#[test]
fn a_mean_over_all_places_is_that_of_the_text() {
    let filled: Vec<f32> = [4.0, 2.0].into_iter().chain([PADDING as f32; LENGTH - 2]).collect();
    let windowed = vec![pool(false, LENGTH, LENGTH, 0), LayerConfig::Flatten.into()];
    let [outputs, _, parameters] = read(&windowed, Some(PADDING), &filled, None);
    let [mean, ..] =
        read(&[LayerConfig::GlobalAveragePool.into()], Some(PADDING), &filled, Some(&parameters));
    assert!(relative_error(&outputs, &mean) < 1e-6);
}

#[test]
fn what_would_pass_on_padding_is_refused() {
    let error = |layers: Vec<Entry>| match Network::new(Shape::Vector(LENGTH), &layers) {
        Ok(_) => panic!("accepted"),
        Err(error) => error.to_string(),
    };
    let told = || embedding(Some(PADDING));
    let reshape = LayerConfig::Reshape { shape: vec![LENGTH * 8] };
    assert!(error(vec![told(), LayerConfig::Flatten.into(), dense(3)]).contains("fills up short texts"));
    assert!(error(vec![told(), reshape.into(), dense(3)]).contains("where short texts end"));
    assert!(error(vec![told(), dense(3)]).contains("end with a pool"));
    assert!(error(vec![embedding(Some(7)), dense(3)]).contains("7 is none of its 7 tokens"));
    let twice = |one: usize, other: usize| {
        let branch = |padding: usize| -> Entry {
            Piece::Sequential(vec![embedding(Some(padding)), LayerConfig::GlobalAveragePool.into()]).into()
        };
        vec![Piece::Concat(vec![branch(one), branch(other)]).into(), dense(3)]
    };
    assert!(error(twice(5, 6)).contains("differ in `padding`"));
    assert!(Network::new(Shape::Vector(LENGTH), &twice(6, 6)).is_ok());
}
