//! What an example gives does not depend on where it stands, nor on how many stand beside it: outputs, norms and gradients are the
//! same to the last bit. Two data sets that differ in one record then differ in that record's part of a sum, and in nothing else.

use crate::common::{Chosen, LOSS, Setting};
use muffle_nn::config::{Entry, LayerConfig, Piece};
use muffle_nn::initialise::SplitMix;
use muffle_nn::layers::activation::Activation;
use muffle_nn::layers::window::Extent;
use muffle_nn::{Examples, Purpose, Shape};
use std::sync::Mutex;

/// What every example gave, by the record that it is.
#[derive(Clone, PartialEq)]
struct Given {
    outputs: Vec<Vec<u32>>,
    norms: Vec<Vec<u64>>,
    gradients: Vec<Vec<u32>>,
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}

fn given(setting: &Setting, examples: &Chosen, micro_batch: usize) -> Given {
    let count = examples.len();
    let by_record = |of: &dyn Fn(usize) -> Vec<u32>| -> Vec<Vec<u32>> {
        let mut found = vec![Vec::new(); count];
        (0..count).for_each(|place| found[examples.places[place]] = of(place));
        found
    };
    let width = setting.network.output().len();
    let mut outputs = vec![0.0; count * width];
    let mut engine = setting.engine(Purpose::Evaluate, 1, micro_batch);
    engine.outputs(&setting.parameters, examples, &mut outputs).unwrap();
    // On one thread, records are weighed in the order of the batch.
    let seen = Mutex::new(Vec::new());
    let weigh = |norms: &[f64], factors: &mut [f32]| {
        seen.lock().unwrap().push(norms.iter().map(|norm| norm.to_bits()).collect::<Vec<u64>>());
        factors.fill(1.0);
    };
    let mut engine = setting.engine(Purpose::PerExample, 1, micro_batch);
    let outcome = engine.weighted_sum(&setting.parameters, examples, LOSS, 7, &weigh).unwrap();
    assert!(outcome.excluded.is_empty());
    let seen = seen.into_inner().unwrap();
    let mut norms = vec![Vec::new(); count];
    seen.iter().zip(&examples.places).for_each(|(own, &record)| norms[record].clone_from(own));
    let gradients = Mutex::new(vec![Vec::new(); count]);
    let visit = |place: usize, gradient: &mut [f32], _: &mut [f32]| {
        gradients.lock().unwrap()[place] = bits(gradient);
    };
    let mut engine = setting.engine(Purpose::Plain, 1, micro_batch);
    engine.visit(&setting.parameters, examples, LOSS, 7, &visit).unwrap();
    let gradients = gradients.into_inner().unwrap();
    Given {
        outputs: by_record(&|place| bits(&outputs[place * width..][..width])),
        norms,
        gradients: by_record(&|place| gradients[place].clone()),
    }
}

const MOST: usize = 64;

fn check(name: &str, setting: &Setting) {
    let batch = setting.batch(0..MOST);
    let ordered = |places: Vec<usize>| Chosen { all: &batch, places };
    let reference = given(setting, &ordered((0..MOST).collect()), MOST);
    let mut generator = SplitMix::new(4);
    for (count, micro_batch) in
        [(64, 1), (64, 2), (64, 3), (64, 17), (64, 64), (17, 17), (17, 64), (3, 3), (2, 2), (1, 1), (1, 64)]
    {
        let mut order: Vec<usize> = (0..count).collect();
        for place in (1..count).rev() {
            order.swap(place, (generator.bits() % (place as u64 + 1)) as usize);
        }
        let found = given(setting, &ordered(order), micro_batch);
        let case = format!("{name}: {count} examples, {micro_batch} at a time");
        for record in 0..count {
            assert!(found.outputs[record] == reference.outputs[record], "{case}: outputs of {record}");
            assert!(found.gradients[record] == reference.gradients[record], "{case}: gradient of {record}");
            for (tensor, own) in found.norms[record].iter().enumerate() {
                let (own, other) = (f64::from_bits(*own), f64::from_bits(reference.norms[record][tensor]));
                assert!(own == other, "{case}: norm of tensor {tensor} of {record}: {own} and {other}");
            }
        }
    }
}

fn conv(channels: usize, kernel: usize, stride: usize, groups: usize) -> Entry {
    LayerConfig::Conv2d {
        channels,
        kernel: Extent::Square(kernel),
        stride: Extent::Square(stride),
        padding: Extent::Square(kernel / 2),
        groups,
        bias: true,
    }
    .into()
}

fn dense(features: usize) -> Entry {
    LayerConfig::Dense { features, bias: true }.into()
}

/// Networks that have every layer between them.
fn networks() -> Vec<(&'static str, Shape, Vec<Entry>)> {
    let flatten = || -> Entry { LayerConfig::Flatten.into() };
    let pool = |kernel| LayerConfig::MaxPool {
        kernel: Extent::Square(kernel),
        stride: None,
        padding: Extent::Square(0),
    };
    let average = |kernel| LayerConfig::AveragePool {
        kernel: Extent::Square(kernel),
        stride: None,
        padding: Extent::Square(0),
    };
    let transposed = LayerConfig::ConvTranspose2d {
        channels: 3,
        kernel: Extent::Square(3),
        stride: Extent::Square(2),
        padding: Extent::Square(1),
        output_padding: Extent::Square(1),
        bias: true,
    };
    let branches = vec![
        Piece::Sequential(vec![conv(6, 3, 1, 1)]).into(),
        Piece::Sequential(vec![conv(6, 1, 1, 1)]).into(),
    ];
    let steps_of_many = Shape::Sequence { steps: 12, features: 600 };
    vec![
        ("dense", Shape::Vector(37), vec![dense(20), Activation::Tanh.into(), dense(5)]),
        ("wide dense", Shape::Vector(700), vec![dense(40), Activation::Selu.into(), dense(10)]),
        ("one value", Shape::Vector(600), vec![dense(1), Activation::Tanh.into(), dense(3)]),
        ("one value a step", steps_of_many, vec![dense(1), dense(2), dense(1), flatten(), dense(3)]),
        (
            "dropout",
            Shape::Vector(30),
            vec![dense(33), LayerConfig::Dropout { rate: 0.4 }.into(), Activation::Relu.into(), dense(4)],
        ),
        (
            "convolutions",
            Shape::image(2, 9, 9),
            vec![
                conv(4, 3, 2, 1),
                LayerConfig::GroupNorm { groups: 2, affine: true }.into(),
                Activation::LeakyRelu { slope: 0.1 }.into(),
                conv(4, 3, 1, 4),
                Piece::Sum(branches.clone()).into(),
                Piece::Concat(branches).into(),
                average(2).into(),
                flatten(),
                LayerConfig::LayerNorm { affine: true }.into(),
                dense(3),
            ],
        ),
        (
            "Winograd",
            Shape::image(16, 8, 8),
            vec![
                conv(16, 3, 1, 1),
                pool(2).into(),
                conv(17, 5, 1, 1),
                LayerConfig::GlobalAveragePool.into(),
                dense(3),
            ],
        ),
        ("Gram", Shape::image(64, 3, 3), vec![conv(64, 1, 1, 1), conv(64, 3, 1, 1), flatten(), dense(3)]),
        ("transposed", Shape::image(2, 4, 4), vec![transposed.into(), flatten(), dense(3)]),
        ("fusion", Shape::Vector(8), vec![dense(12), LayerConfig::Fusion { separate: false }.into()]),
    ]
}

/// Networks that have every layer for texts and sequences between them.
fn networks_for_sequences() -> Vec<(&'static str, Shape, Vec<Entry>)> {
    let lstm = |features, sequence| -> Entry { LayerConfig::Lstm { features, sequence }.into() };
    let pool = LayerConfig::MaxPool { kernel: Extent::Square(2), stride: None, padding: Extent::Square(0) };
    vec![
        (
            "sequences",
            Shape::Sequence { steps: 6, features: 10 },
            vec![lstm(9, true), dense(18), Activation::Hardtanh.into(), lstm(20, false), dense(4)],
        ),
        (
            "embedding",
            Shape::Vector(6),
            vec![
                LayerConfig::Embedding { tokens: 5, features: 8, padding: None }.into(),
                dense(12),
                LayerConfig::Flatten.into(),
                dense(3),
            ],
        ),
        (
            "texts of different length",
            Shape::Vector(9),
            vec![
                LayerConfig::Embedding { tokens: 5, features: 12, padding: Some(3) }.into(),
                LayerConfig::MultiHeadAttention { heads: 3, causal: false }.into(),
                LayerConfig::Conv1d { channels: 12, kernel: 3, stride: 1, padding: 1, bias: true }.into(),
                pool.clone().into(),
                LayerConfig::Gru { features: 9, sequence: true }.into(),
                lstm(20, false),
                dense(3),
            ],
        ),
        (
            "mean of an embedding",
            Shape::Vector(6),
            vec![LayerConfig::EmbeddingBag { tokens: 5, features: 8, padding: Some(2) }.into(), dense(3)],
        ),
        (
            "recurrence and windows over sequences",
            Shape::Sequence { steps: 9, features: 10 },
            vec![
                LayerConfig::Conv1d { channels: 12, kernel: 3, stride: 1, padding: 1, bias: true }.into(),
                pool.into(),
                LayerConfig::Gru { features: 9, sequence: true }.into(),
                LayerConfig::Gru { features: 20, sequence: false }.into(),
                dense(4),
            ],
        ),
        (
            "attention",
            Shape::Sequence { steps: 6, features: 12 },
            vec![
                LayerConfig::PositionEmbedding.into(),
                LayerConfig::MultiHeadAttention { heads: 3, causal: true }.into(),
                LayerConfig::LayerNorm { affine: true }.into(),
                LayerConfig::Gelu.into(),
                LayerConfig::MultiHeadAttention { heads: 1, causal: false }.into(),
                LayerConfig::GlobalAveragePool.into(),
                dense(3),
            ],
        ),
    ]
}

#[test]
fn an_example_gives_the_same_bits_wherever_it_stands() {
    for (name, shape, layers) in networks().into_iter().chain(networks_for_sequences()) {
        let setting = Setting::layers(shape, layers, MOST);
        // An embedding takes tokens; of nine places, short texts leave the last to token 3.
        let setting = match name {
            "texts of different length" => setting.with_inputs(|place| match (place / 9 % 9, place % 9) {
                (length, place) if place > length => 3.0,
                _ => (place * 7 % 5) as f32,
            }),
            name if name.contains("embedding") => setting.with_inputs(|place| (place * 7 % 5) as f32),
            _ => setting,
        };
        check(name, &setting);
    }
}
