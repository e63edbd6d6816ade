//! Norms, weighted sums and materialised gradients equal those of a loop that runs one example at a time.

use crate::common::{Setting, check};
use muffle_nn::Shape;
use muffle_nn::config::{Edge, Entry, Graph, LayerConfig, Piece};
use muffle_nn::layers::activation::Activation;
use muffle_nn::layers::window::Extent;

fn dense(features: usize) -> Entry {
    LayerConfig::Dense { features, bias: true }.into()
}

fn conv(channels: usize, kernel: usize, stride: usize, padding: usize, groups: usize, bias: bool) -> Entry {
    let (kernel, stride, padding) = (Extent::Square(kernel), Extent::Square(stride), Extent::Square(padding));
    LayerConfig::Conv2d { channels, kernel, stride, padding, groups, bias }.into()
}

fn max_pool(kernel: usize, stride: usize) -> Entry {
    let (kernel, stride) = (Extent::Square(kernel), Some(Extent::Square(stride)));
    LayerConfig::MaxPool { kernel, stride, padding: Extent::Square(0) }.into()
}

fn average_pool(kernel: usize, stride: usize, padding: usize) -> Entry {
    LayerConfig::AveragePool {
        kernel: Extent::Square(kernel),
        stride: Some(Extent::Square(stride)),
        padding: Extent::Square(padding),
    }
    .into()
}

fn conv_transpose(channels: usize, kernel: usize, stride: usize, padding: usize, extra: usize) -> Entry {
    LayerConfig::ConvTranspose2d {
        channels,
        kernel: Extent::Square(kernel),
        stride: Extent::Square(stride),
        padding: Extent::Square(padding),
        output_padding: Extent::Square(extra),
        bias: true,
    }
    .into()
}

fn group_norm(groups: usize, affine: bool) -> Entry {
    LayerConfig::GroupNorm { groups, affine }.into()
}

fn flatten() -> Entry {
    LayerConfig::Flatten.into()
}

fn relu() -> Entry {
    Activation::Relu.into()
}

fn tanh() -> Entry {
    Activation::Tanh.into()
}

fn piece(piece: Piece) -> Entry {
    piece.into()
}

/// Layers between a first convolution, so that an input gradient is needed, and a last dense layer.
fn on_images(layers: Vec<Entry>) {
    let before = vec![conv(6, 3, 1, 1, 1, true), tanh()];
    let after = vec![flatten(), dense(5)];
    let layers = before.into_iter().chain(layers).chain(after).collect();
    check(&Setting::layers(Shape::image(2, 8, 7), layers, 7));
}

#[test]
fn dense_layers() {
    check(&Setting::layers(Shape::Vector(11), vec![dense(7), Activation::Tanh.into(), dense(4)], 7));
}

/// What does not move has no gradient, and lets that of others through.
#[test]
fn fixed_scales() {
    let scale = || LayerConfig::Scale.into();
    check(&Setting::layers(Shape::Vector(11), vec![scale(), dense(7), tanh(), scale(), dense(4)], 7));
    on_images(vec![scale()]);
}

#[test]
fn mirror_images() {
    on_images(vec![LayerConfig::Mirror.into()]);
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

#[test]
fn two_networks_fused() {
    let branch = |hidden: usize| {
        piece(Piece::Sequential(vec![
            conv(3, 3, 2, 0, 1, true),
            tanh(),
            flatten(),
            dense(hidden),
            tanh(),
            dense(4),
        ]))
    };
    for separate in [false, true] {
        let both = piece(Piece::Concat(vec![branch(6), branch(6)]));
        let layers = vec![both, LayerConfig::Fusion { separate }.into()];
        check(&Setting::layers(Shape::image(2, 7, 6), layers, 7));
    }
}

/// Each of two networks that are fused only in use has the gradient it would have alone.
#[test]
fn separate_networks_learn_as_if_alone() {
    let branch = |separate: Option<bool>| {
        let alone = piece(Piece::Sequential(vec![dense(6), tanh(), dense(4)]));
        let both = Piece::Concat(vec![alone.clone(), alone.clone()]);
        match separate {
            None => vec![alone],
            Some(separate) => vec![piece(both), LayerConfig::Fusion { separate }.into()],
        }
    };
    let mut fused = Setting::layers(Shape::Vector(5), branch(Some(true)), 7);
    let alone = Setting::layers(Shape::Vector(5), branch(None), 7);
    let half = alone.parameters.len();
    fused.parameters[..half].copy_from_slice(&alone.parameters);
    for (fused, alone) in fused.one_at_a_time().iter().zip(alone.one_at_a_time()) {
        let error = crate::common::relative_error(&fused[..half], &alone);
        assert!(error <= crate::common::TOLERANCE, "{error}");
    }
}

#[test]
fn dense_layers_over_time() {
    let shape = Shape::Sequence { steps: 6, features: 5 };
    let layers = vec![dense(7), tanh(), dense(3), flatten(), dense(4)];
    check(&Setting::layers(shape, layers, 7));
}

#[test]
fn activations() {
    let tempered = Activation::TemperedSigmoid { scale: 1.5, temperature: 3.0, offset: 0.4 };
    on_images(vec![LayerConfig::Gelu.into(), relu()]);
    on_images(vec![LayerConfig::ChebyshevSigmoid { scale: 4.0 }.into()]);
    for activation in [
        Activation::Relu,
        Activation::LeakyRelu { slope: 0.1 },
        Activation::Tanh,
        Activation::Sigmoid,
        Activation::Selu,
        Activation::Hardtanh,
        tempered,
    ] {
        on_images(vec![activation.into()]);
        // Twice in a row: the second must not overwrite what the first reads.
        on_images(vec![activation.into(), activation.into()]);
    }
}

/// Between layers that learn: the gradient of those before goes through.
#[test]
fn what_generators_are_made_of() {
    let upsample = |factor| Entry::from(LayerConfig::Upsample { factor });
    on_images(vec![upsample(2), conv(3, 3, 2, 1, 1, true)]);
    on_images(vec![relu(), upsample(3), relu()]);
    let blocks = LayerConfig::Blocks { widths: vec![1, 4, 1, 2] };
    check(&Setting::layers(Shape::Vector(5), vec![dense(8), blocks.clone().into(), dense(3)], 7));
    let marginals = LayerConfig::Marginals { widths: vec![1, 4, 1, 2], parts: 3 };
    let layers = vec![dense(8), blocks.into(), marginals.into(), dense(3)];
    check(&Setting::layers(Shape::Vector(5), layers, 7));
    let waves = LayerConfig::RandomFourier { features: 6, width: 1.5, seed: 2 };
    check(&Setting::layers(Shape::Vector(5), vec![dense(4), waves.into(), dense(3)], 7));
}

#[test]
fn pools() {
    on_images(vec![max_pool(2, 1), max_pool(3, 2)]);
    on_images(vec![average_pool(3, 2, 1)]);
    on_images(vec![average_pool(2, 3, 0), relu()]);
    let layers = vec![conv(6, 3, 1, 1, 1, true), LayerConfig::GlobalAveragePool.into(), dense(5)];
    check(&Setting::layers(Shape::image(2, 8, 7), layers, 7));
}

#[test]
fn transposed_convolutions() {
    on_images(vec![conv_transpose(4, 4, 2, 1, 0)]);
    on_images(vec![conv_transpose(4, 3, 2, 1, 1), relu()]);
    on_images(vec![conv_transpose(3, 1, 3, 0, 2)]);
    // As the first layer nobody needs its input gradient.
    let layers =
        vec![conv_transpose(4, 4, 2, 1, 0), relu(), conv_transpose(2, 3, 1, 2, 0), flatten(), dense(5)];
    check(&Setting::layers(Shape::image(3, 4, 5), layers, 7));
}

#[test]
fn depthwise_convolutions() {
    on_images(vec![conv(6, 3, 1, 1, 6, true)]);
    on_images(vec![conv(6, 3, 2, 0, 6, false), relu()]);
    on_images(vec![conv(12, 3, 2, 1, 6, true)]);
    let wide = vec![conv(43, 3, 2, 1, 43, true), flatten(), dense(3)];
    check(&Setting::layers(Shape::image(43, 5, 4), wide, 7));
}

#[test]
fn dropout() {
    on_images(vec![LayerConfig::Dropout { rate: 0.4 }.into()]);
    on_images(vec![LayerConfig::Dropout { rate: 0.0 }.into(), LayerConfig::Dropout { rate: 0.7 }.into()]);
}

#[test]
fn normalisations() {
    on_images(vec![group_norm(3, true), relu()]);
    on_images(vec![group_norm(1, true)]);
    on_images(vec![group_norm(6, false)]);
    // Wider than one strip of channels, with a rest.
    let layers = vec![conv(45, 1, 1, 0, 1, false), group_norm(5, true), flatten(), dense(3)];
    check(&Setting::layers(Shape::image(2, 5, 4), layers, 7));
    let layers = vec![dense(12), group_norm(3, true), dense(4)];
    check(&Setting::layers(Shape::Vector(7), layers, 7));
    for affine in [true, false] {
        let norm: Entry = LayerConfig::LayerNorm { affine }.into();
        let layers = vec![dense(9), norm.clone(), tanh(), dense(4)];
        check(&Setting::layers(Shape::Vector(7), layers, 7));
        let shape = Shape::Sequence { steps: 4, features: 6 };
        check(&Setting::layers(shape, vec![dense(5), norm, flatten(), dense(3)], 7));
    }
    for (order, floor) in [(1, 1e-12), (2, 1e-12), (2, 3.0)] {
        on_images(vec![LayerConfig::UnitNorm { order, floor }.into()]);
    }
    // A first layer with tensors and without an input gradient.
    let layers = vec![group_norm(2, true), flatten(), dense(3)];
    check(&Setting::layers(Shape::image(4, 3, 3), layers, 7));
}

#[test]
fn embeddings() {
    let embedding: Entry = LayerConfig::Embedding { tokens: 6, features: 4, padding: None }.into();
    let token = |index: usize| ((index * index + index / 3) % 6) as f32;
    let layers = vec![embedding.clone(), flatten(), dense(3)];
    check(&Setting::layers(Shape::Vector(9), layers, 7).with_inputs(token));
    let layers = vec![embedding, LayerConfig::GlobalAveragePool.into(), dense(3)];
    check(&Setting::layers(Shape::Vector(9), layers, 7).with_inputs(token));
}

/// Texts of one to nine tokens out of five, filled up with token 5.
fn filled_up(index: usize) -> f32 {
    let (example, place) = (index / 9, index % 9);
    if place > (3 * example) % 9 { 5.0 } else { ((index * index + index / 3) % 5) as f32 }
}

#[test]
fn texts_of_different_length() {
    let embedding: Entry = LayerConfig::Embedding { tokens: 6, features: 4, padding: Some(5) }.into();
    let mean: Entry = LayerConfig::GlobalAveragePool.into();
    let attention = |causal| -> Entry { LayerConfig::MultiHeadAttention { heads: 2, causal }.into() };
    for reader in [
        vec![LayerConfig::PositionEmbedding.into(), attention(false), dense(5), tanh(), mean.clone()],
        vec![attention(true), LayerConfig::LayerNorm { affine: true }.into(), mean.clone()],
        vec![LayerConfig::Gru { features: 5, sequence: true }.into(), mean.clone()],
        vec![dense(3), LayerConfig::Gru { features: 18, sequence: false }.into()],
        vec![LayerConfig::Lstm { features: 5, sequence: true }.into(), mean.clone()],
        vec![dense(3), LayerConfig::Lstm { features: 18, sequence: false }.into()],
        vec![conv1d(5, 3, 1, 1), tanh(), conv1d(3, 4, 2, 0), mean.clone()],
        vec![max_pool(3, 2), conv1d(18, 2, 1, 1), mean],
        vec![conv1d(5, 3, 1, 0), max_pool(7, 7), flatten()],
        vec![average_pool(4, 2, 1), average_pool(4, 1, 0), flatten()],
    ] {
        let layers = [embedding.clone()].into_iter().chain(reader).chain([dense(3)]).collect();
        check(&Setting::layers(Shape::Vector(9), layers, 7).with_inputs(filled_up));
    }
}

#[test]
fn means_of_embeddings() {
    let token = |index: usize| ((index * index + index / 3) % 6) as f32;
    for padding in [None, Some(0), Some(4)] {
        let bag = LayerConfig::EmbeddingBag { tokens: 6, features: 4, padding };
        check(&Setting::layers(Shape::Vector(9), vec![bag.into(), dense(3)], 7).with_inputs(token));
    }
}

/// Layers between a first dense layer, so that an input gradient is needed, and a last one.
fn on_sequences(layers: Vec<Entry>) {
    let after = vec![flatten(), dense(4)];
    let layers = std::iter::once(dense(6)).chain(layers).chain(after).collect();
    check(&Setting::layers(Shape::Sequence { steps: 7, features: 5 }, layers, 7));
}

fn conv1d(channels: usize, kernel: usize, stride: usize, padding: usize) -> Entry {
    LayerConfig::Conv1d { channels, kernel, stride, padding, bias: true }.into()
}

#[test]
fn windows_over_sequences() {
    on_sequences(vec![conv1d(5, 3, 1, 1), tanh(), conv1d(3, 2, 2, 0)]);
    on_sequences(vec![max_pool(3, 2)]);
    on_sequences(vec![average_pool(3, 2, 1)]);
    // So wide and short that norms come without the gradient, and as a first layer.
    let layers = vec![conv1d(70, 2, 1, 0), flatten(), dense(3)];
    check(&Setting::layers(Shape::Sequence { steps: 3, features: 40 }, layers, 7));
}

#[test]
fn gated_recurrent_units() {
    let gru = |features, sequence| -> Entry { LayerConfig::Gru { features, sequence }.into() };
    on_sequences(vec![gru(5, true), gru(19, true)]);
    let one_step = vec![gru(16, true), gru(3, false), dense(2)];
    check(&Setting::layers(Shape::Sequence { steps: 1, features: 4 }, one_step, 7));
    let last = vec![gru(33, false), dense(4)];
    check(&Setting::layers(Shape::Sequence { steps: 9, features: 18 }, last, 7));
}

#[test]
fn attention() {
    for (heads, causal) in [(1, false), (2, false), (3, true), (6, true)] {
        let attention: Entry = LayerConfig::MultiHeadAttention { heads, causal }.into();
        on_sequences(vec![attention.clone()]);
        let first = vec![attention, LayerConfig::GlobalAveragePool.into(), dense(3)];
        check(&Setting::layers(Shape::Sequence { steps: 5, features: 12 }, first, 7));
    }
}

#[test]
fn transformer_blocks() {
    let identity = || piece(Piece::Sequential(vec![]));
    let residual = |layers: Vec<Entry>| piece(Piece::Sum(vec![piece(Piece::Sequential(layers)), identity()]));
    let norm = || -> Entry { LayerConfig::LayerNorm { affine: true }.into() };
    let attention: Entry = LayerConfig::MultiHeadAttention { heads: 2, causal: false }.into();
    on_sequences(vec![
        LayerConfig::PositionEmbedding.into(),
        residual(vec![norm(), attention]),
        residual(vec![norm(), dense(13), LayerConfig::Gelu.into(), dense(6)]),
    ]);
}

#[test]
fn reshapes() {
    let reshape = |shape: &[usize]| -> Entry { LayerConfig::Reshape { shape: shape.to_vec() }.into() };
    on_images(vec![reshape(&[3, 16, 7]), conv(2, 2, 1, 0, 1, true)]);
    on_images(vec![reshape(&[42, 8]), dense(3)]);
    let layers = vec![dense(24), reshape(&[2, 3, 4]), conv(2, 2, 1, 0, 1, true), flatten()];
    check(&Setting::layers(Shape::Vector(5), layers, 7));
}

#[test]
fn sums() {
    let identity = || piece(Piece::Sequential(vec![]));
    on_images(vec![
        piece(Piece::Sum(vec![
            piece(Piece::Sequential(vec![
                conv(6, 3, 1, 1, 1, false),
                group_norm(2, true),
                relu(),
                conv(6, 3, 1, 1, 1, false),
            ])),
            identity(),
        ])),
        relu(),
    ]);
    // Every value twice, then a second sum right behind the first.
    on_images(vec![
        piece(Piece::Sum(vec![identity(), identity()])),
        piece(Piece::Sum(vec![conv(6, 1, 1, 0, 1, true), tanh(), identity()])),
    ]);
    // Branches straight from the network's input.
    let branches =
        vec![conv(3, 3, 1, 1, 1, true), piece(Piece::Sequential(vec![conv(3, 1, 1, 0, 1, false), relu()]))];
    let layers = vec![piece(Piece::Sum(branches)), flatten(), dense(4)];
    check(&Setting::layers(Shape::image(2, 5, 6), layers, 7));
}

#[test]
fn concatenations() {
    on_images(vec![
        piece(Piece::Concat(vec![
            conv(3, 3, 1, 1, 1, true),
            piece(Piece::Sequential(vec![conv(5, 1, 1, 0, 1, true), relu()])),
            piece(Piece::Sequential(vec![])),
        ])),
        relu(),
    ]);
    let layers = vec![dense(6), piece(Piece::Concat(vec![dense(3), tanh(), dense(2)])), dense(4)];
    check(&Setting::layers(Shape::Vector(5), layers, 7));
}

#[test]
fn graphs_with_dead_branches() {
    let edge = |from: usize, to: usize, layers: Vec<Entry>| Edge { from, to, layers };
    let edges = vec![
        edge(0, 1, vec![conv(6, 3, 1, 1, 1, true), relu()]),
        edge(0, 2, vec![]),
        edge(1, 2, vec![conv(6, 1, 1, 0, 1, true)]),
        edge(1, 3, vec![average_pool(3, 1, 1)]),
        edge(2, 3, vec![]),
        // Nobody reads node 4: its layers get no gradient.
        edge(3, 4, vec![conv(6, 3, 1, 1, 1, true)]),
    ];
    for outputs in [vec![1, 3], vec![3], vec![3, 0, 1]] {
        let edges = edges.clone();
        on_images(vec![piece(Piece::Graph(Graph { edges, outputs })), relu()]);
    }
}

#[test]
fn nested_arrangements() {
    let block = |channels: usize| {
        piece(Piece::Sequential(vec![
            piece(Piece::Sum(vec![
                piece(Piece::Sequential(vec![conv(channels, 3, 1, 1, 1, false), group_norm(2, true)])),
                piece(Piece::Concat(vec![
                    conv(channels / 2, 1, 1, 0, 1, true),
                    piece(Piece::Sequential(vec![piece(Piece::Sequential(vec![conv(
                        channels / 2,
                        3,
                        1,
                        1,
                        1,
                        true,
                    )]))])),
                ])),
            ])),
            relu(),
        ]))
    };
    on_images(vec![block(6), block(4), max_pool(2, 2)]);
}
