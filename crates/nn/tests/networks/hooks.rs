//! Hooks see what flows through a network, and what they write is what the layer computes with.

use crate::common::{LOSS, Setting, conv, relative_error};
use muffle_nn::config::{Entry, LayerConfig, Piece};
use muffle_nn::hooks::{Hooks, Place};
use muffle_nn::layers::activation::Activation;
use muffle_nn::{Engine, Options, Purpose, Shape};
use std::sync::Mutex;

fn dense(features: usize) -> Entry {
    LayerConfig::Dense { features, bias: true }.into()
}

fn small() -> Setting {
    let layers = vec![dense(6), Activation::Tanh.into(), dense(4)];
    Setting::layers(Shape::Vector(5), layers, 3)
}

fn hooked(setting: &Setting, hooks: &dyn Hooks) -> Vec<f32> {
    let options = Options {
        threads: Some(1),
        micro_batch: Some(setting.examples()),
        hooked: true,
        ..Options::new(Purpose::PerExample)
    };
    let mut engine = Engine::new(setting.network.clone(), options).unwrap();
    let examples = setting.batch(0..setting.examples());
    let ones = |_: &[f64], factors: &mut [f32]| factors.fill(1.0);
    engine.hooked_sum(&setting.parameters, &examples, LOSS, 3, hooks, &ones).unwrap();
    engine.gradient().to_vec()
}

fn unhooked(setting: &Setting) -> Vec<f32> {
    let mut engine = setting.engine(Purpose::PerExample, 1, setting.examples());
    let examples = setting.batch(0..setting.examples());
    let ones = |_: &[f64], factors: &mut [f32]| factors.fill(1.0);
    engine.weighted_sum(&setting.parameters, &examples, LOSS, 3, &ones).unwrap();
    engine.gradient().to_vec()
}

struct Nothing;

impl Hooks for Nothing {}

#[test]
fn hooks_that_do_nothing_change_no_bit() {
    let setting = small();
    assert_eq!(hooked(&setting, &Nothing), unhooked(&setting));
    let conv = |channels: usize| -> Entry { conv(channels).into() };
    let norm = || -> Entry { LayerConfig::GroupNorm { groups: 2, affine: true }.into() };
    let main = vec![conv(4), norm(), Activation::Relu.into(), conv(4)];
    let branches = vec![Piece::Sequential(main).into(), Piece::Sequential(vec![]).into(), conv(4)];
    let layers = vec![
        conv(4),
        Activation::Relu.into(),
        Piece::Sum(branches).into(),
        Activation::Relu.into(),
        LayerConfig::Dropout { rate: 0.3 }.into(),
        LayerConfig::Flatten.into(),
        dense(3),
    ];
    let setting = Setting::layers(Shape::image(2, 5, 4), layers, 5);
    assert_eq!(hooked(&setting, &Nothing), unhooked(&setting));
}

#[test]
fn hooks_need_an_engine_built_for_them() {
    let setting = small();
    let mut engine = setting.engine(Purpose::PerExample, 1, 2);
    let ones = |_: &[f64], factors: &mut [f32]| factors.fill(1.0);
    let examples = setting.batch(0..1);
    let result = engine.hooked_sum(&setting.parameters, &examples, LOSS, 3, &Nothing, &ones);
    assert!(result.unwrap_err().to_string().contains("hooks"));
}

/// What a layer had before it on the way back.
struct Back {
    node: usize,
    input: Vec<f32>,
    output: Vec<f32>,
    upstream: Vec<f32>,
}

#[derive(Default)]
struct Seen {
    inputs: Vec<(usize, String, Vec<f32>)>,
    upstreams: Vec<Back>,
    downstreams: Vec<(usize, Vec<f32>)>,
}

#[derive(Default)]
struct Watch(Mutex<Seen>);

impl Hooks for Watch {
    fn input(&self, place: &Place, input: &mut [f32]) {
        assert_eq!(input.len(), place.batch * place.input.len());
        let entry = (place.node, place.kind.to_string(), input.to_vec());
        self.0.lock().unwrap().inputs.push(entry);
    }

    fn upstream(&self, place: &Place, input: &[f32], output: &[f32], upstream: &mut [f32]) {
        assert_eq!(upstream.len(), place.batch * place.output.len());
        let entry = Back {
            node: place.node,
            input: input.to_vec(),
            output: output.to_vec(),
            upstream: upstream.to_vec(),
        };
        self.0.lock().unwrap().upstreams.push(entry);
    }

    fn downstream(&self, place: &Place, _input: &[f32], _upstream: &[f32], downstream: &mut [f32]) {
        let entry = (place.node, downstream.to_vec());
        self.0.lock().unwrap().downstreams.push(entry);
    }
}

#[test]
fn hooks_see_every_layer() {
    let setting = small();
    let watch = Watch::default();
    hooked(&setting, &watch);
    let seen = watch.0.into_inner().unwrap();
    let kinds: Vec<(usize, &str)> =
        seen.inputs.iter().map(|(node, kind, _)| (*node, kind.as_str())).collect();
    assert_eq!(kinds, [(0, "dense"), (1, "tanh"), (2, "dense")]);
    let backwards: Vec<usize> = seen.upstreams.iter().map(|back| back.node).collect();
    assert_eq!(backwards, [2, 1, 0]);
    // The first layer's input gradient is nobody's business.
    let downstreams: Vec<usize> = seen.downstreams.iter().map(|(node, _)| *node).collect();
    assert_eq!(downstreams, [2, 1]);
    for back in &seen.upstreams {
        let node = back.node;
        assert_eq!(back.input, seen.inputs[node].2, "the input on the way back");
        if node < 2 {
            assert_eq!(back.output, seen.inputs[node + 1].2, "an output is the next input");
            let next = &seen.downstreams.iter().find(|(other, _)| *other == node + 1).unwrap().1;
            assert_eq!(&back.upstream, next, "an upstream gradient is the next one's downstream");
        }
    }
    let logits = &seen.upstreams[0].output;
    let manual =
        logits.chunks_exact(4).zip(seen.upstreams[0].upstream.chunks_exact(4)).all(|(logits, upstream)| {
            let total: f32 = logits.iter().map(|logit| logit.exp()).sum();
            let differs = |(logit, slope): (&f32, &f32)| (logit.exp() / total - slope).abs();
            let off: Vec<f32> = logits.iter().zip(upstream).map(differs).collect();
            // One less at the right class, equal everywhere else.
            off.iter().filter(|off| **off < 1e-6).count() == 3 && (off.iter().sum::<f32>() - 1.0).abs() < 1e-5
        });
    assert!(manual, "the gradient of the loss at the logits");
}

/// Cuts the input of the last layer to norm `0.5`, example by example.
struct Clip;

const CLIP: f64 = 0.5;

impl Hooks for Clip {
    fn input(&self, place: &Place, input: &mut [f32]) {
        if place.node != 2 {
            return;
        }
        for example in input.chunks_exact_mut(place.input.len()) {
            let norm = example.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>().sqrt();
            let factor = (CLIP / norm).min(1.0) as f32;
            example.iter_mut().for_each(|value| *value *= factor);
        }
    }
}

#[test]
fn a_clipped_input_changes_what_it_should() {
    let setting = small();
    let watch = Watch::default();
    hooked(&setting, &watch);
    let inputs = watch.0.into_inner().unwrap().inputs.remove(0).2;
    let wide: Vec<f64> = setting.parameters.iter().map(|&value| f64::from(value)).collect();
    let (first, rest) = wide.split_at(30);
    let (first_bias, rest) = rest.split_at(6);
    let (second, second_bias) = rest.split_at(24);
    let mut expected = vec![0.0; wide.len()];
    for (example, input) in inputs.chunks_exact(5).enumerate() {
        let input: Vec<f64> = input.iter().map(|&value| f64::from(value)).collect();
        let map = |matrix: &[f64], bias: &[f64], input: &[f64]| -> Vec<f64> {
            let row = |row: &[f64]| row.iter().zip(input).map(|(a, b)| a * b).sum::<f64>();
            matrix.chunks_exact(input.len()).zip(bias).map(|(values, bias)| row(values) + bias).collect()
        };
        let hidden: Vec<f64> = map(first, first_bias, &input).iter().map(|value| value.tanh()).collect();
        let norm = hidden.iter().map(|value| value * value).sum::<f64>().sqrt();
        let clipped: Vec<f64> = hidden.iter().map(|value| value * (CLIP / norm).min(1.0)).collect();
        assert!(norm > CLIP, "the hook must have something to do");
        let logits = map(second, second_bias, &clipped);
        let total: f64 = logits.iter().map(|logit| logit.exp()).sum();
        let mut slopes: Vec<f64> = logits.iter().map(|logit| logit.exp() / total).collect();
        let batch = setting.batch(example..example + 1);
        let muffle_nn::Target::Class(class) = muffle_nn::Examples::target(&batch, 0) else {
            panic!("a class")
        };
        slopes[class as usize] -= 1.0;
        for (output, slope) in slopes.iter().enumerate() {
            for (index, value) in clipped.iter().enumerate() {
                expected[36 + output * 6 + index] += slope * value;
            }
            expected[60 + output] += slope;
        }
        // The gradient passes the hook as if it were not there.
        for (index, value) in hidden.iter().enumerate() {
            let back: f64 =
                slopes.iter().enumerate().map(|(output, slope)| slope * second[output * 6 + index]).sum();
            let back = back * (1.0 - value * value);
            for (column, input) in input.iter().enumerate() {
                expected[index * 5 + column] += back * input;
            }
            expected[30 + index] += back;
        }
    }
    let expected: Vec<f32> = expected.iter().map(|&value| value as f32).collect();
    let error = relative_error(&hooked(&setting, &Clip), &expected);
    assert!(error <= 1e-5, "differs by {error}");
    assert!(relative_error(&unhooked(&setting), &expected) > 1e-2);
}
