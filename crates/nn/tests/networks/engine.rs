//! The engine: reproducible, the same for all ways to split a batch, and careful with examples that are not finite.

use crate::common::{LOSS, Setting, conv, relative_error};
use muffle_nn::config::{Entry, LayerConfig};
use muffle_nn::layers::activation::Activation;
use muffle_nn::layers::window::Extent;
use muffle_nn::{Batch, Engine, Network, Options, Outcome, Purpose, Shape};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

fn dense(features: usize) -> LayerConfig {
    LayerConfig::Dense { features, bias: true }
}

fn norm() -> Entry {
    LayerConfig::GroupNorm { groups: 2, affine: true }.into()
}

fn dropout() -> Entry {
    LayerConfig::Dropout { rate: 0.5 }.into()
}

fn image_setting(extra: Vec<Entry>) -> Setting {
    let mut layers: Vec<Entry> = vec![conv(6).into(), norm(), Activation::Relu.into()];
    layers.extend(extra);
    layers.extend([LayerConfig::Flatten.into(), dense(5).into()]);
    Setting::layers(Shape::image(2, 6, 5), layers, 13)
}

fn clip(norms: &[f64], factors: &mut [f32]) {
    let norm = norms.iter().sum::<f64>().sqrt() as f32;
    factors.fill((0.5 / norm).min(1.0));
}

fn clipped(setting: &Setting, threads: usize, micro_batch: usize, seed: u64) -> Vec<f32> {
    let mut engine = setting.engine(Purpose::PerExample, threads, micro_batch);
    let examples = setting.batch(0..setting.examples());
    engine.weighted_sum(&setting.parameters, &examples, LOSS, seed, &clip).unwrap();
    engine.gradient().to_vec()
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

#[test]
fn the_same_seed_and_threads_give_the_same_bits() {
    let setting = image_setting(vec![dropout()]);
    for threads in 1..=cores().min(4) {
        let first = clipped(&setting, threads, 3, 11);
        for _ in 0..3 {
            assert_eq!(clipped(&setting, threads, 3, 11), first);
        }
        assert_ne!(clipped(&setting, threads, 3, 12), first, "another seed");
    }
}

#[test]
fn threads_and_micro_batches_do_not_matter() {
    // With dropout: its mask belongs to the example, wherever that runs.
    for setting in [image_setting(vec![]), image_setting(vec![dropout(), dropout()])] {
        let expected = clipped(&setting, 1, 100, 11);
        for threads in 1..=cores().min(4) {
            for micro_batch in [1, 2, 5, 100] {
                let error = relative_error(&clipped(&setting, threads, micro_batch, 11), &expected);
                assert!(error <= 1e-5, "{threads} threads, micro-batch {micro_batch}: {error}");
            }
        }
    }
}

#[test]
fn dropout_drops_its_share_and_nothing_when_evaluating() {
    let network = Network::new(Shape::Vector(1000), &[LayerConfig::Dropout { rate: 0.25 }.into()]);
    let setting = Setting::new(network.unwrap(), 20, 1).with_inputs(|_| 1.0);
    let examples = setting.batch(0..20);
    let mut outputs = vec![0.0; 20_000];
    let mut engine = setting.engine(Purpose::Evaluate, 1, 8);
    engine.outputs(&[], &examples, &mut outputs).unwrap();
    assert!(outputs.iter().all(|&value| value == 1.0));
    let layer = LayerConfig::Dropout { rate: 0.25 }.build("a", Shape::Vector(20_000));
    let other = LayerConfig::Dropout { rate: 0.25 }.build("b", Shape::Vector(20_000));
    let masks = [layer, other].map(|layer| {
        crate::common::layer_run::run(
            &*layer.unwrap(),
            Purpose::Plain,
            &[],
            &vec![1.0; 20_000],
            &vec![1.0; 20_000],
        )
    });
    for mask in &masks {
        let kept = mask.output.iter().filter(|&&value| value > 0.0).count() as f64;
        // Four standard deviations.
        assert!((kept - 15_000.0).abs() < 4.0 * (20_000f64 * 0.25 * 0.75).sqrt());
        assert!(mask.output.iter().all(|&value| value == 0.0 || value == 1.0 / 0.75));
        assert_eq!(mask.output, mask.downstream, "the same mask on the way back");
    }
    let equal = masks[0].output.iter().zip(&masks[1].output).filter(|(a, b)| a == b).count() as f64;
    // Two layers agree as often as independent ones.
    assert!((equal - 20_000.0 * 0.625).abs() < 4.0 * (20_000f64 * 0.625 * 0.375).sqrt());
    for rate in [-0.1, 1.0, 2.0, f32::NAN] {
        assert!(LayerConfig::Dropout { rate }.build("a", Shape::Vector(3)).is_err());
    }
}

/// A step on a batch with some examples replaced, and on the same batch without them.
fn with_and_without(setting: &Setting, inputs: &[f32], bad: &[usize]) -> (Outcome, Vec<f32>, Vec<f32>) {
    let width = setting.network.input().len();
    let count = inputs.len() / width;
    let class = |example: usize| (example % setting.network.output().len()) as u32;
    let calls = AtomicUsize::new(0);
    let weigh = |norms: &[f64], factors: &mut [f32]| {
        calls.fetch_add(1, Ordering::Relaxed);
        clip(norms, factors);
    };
    let mut engine = setting.engine(Purpose::PerExample, 1, 4);
    let batch = Batch::new(inputs.to_vec(), (0..count).map(class).collect());
    let outcome = engine.weighted_sum(&setting.parameters, &batch, LOSS, 1, &weigh).unwrap();
    let found = engine.gradient().to_vec();
    assert_eq!(calls.into_inner(), count - bad.len(), "no factor for a bad example");
    let good: Vec<usize> = (0..count).filter(|example| !bad.contains(example)).collect();
    let rest = good.iter().flat_map(|&e| inputs[e * width..][..width].to_vec());
    let batch = Batch::new(rest.collect(), good.iter().map(|&example| class(example)).collect());
    engine.weighted_sum(&setting.parameters, &batch, LOSS, 1, &clip).unwrap();
    (outcome, found, engine.gradient().to_vec())
}

#[test]
fn examples_that_are_not_finite_are_left_out() {
    let setting = image_setting(vec![]);
    let mut inputs: Vec<f32> = (0..9 * 60).map(|index| ((index * 29) % 31) as f32 / 15.0).collect();
    inputs[2 * 60 + 7] = f32::NAN;
    inputs[3 * 60] = f32::INFINITY;
    inputs[8 * 60 + 59] = f32::NEG_INFINITY;
    let (outcome, found, expected) = with_and_without(&setting, &inputs, &[2, 3, 8]);
    let mut places: Vec<(usize, &str)> =
        outcome.excluded.iter().map(|excluded| (excluded.example, excluded.place.as_str())).collect();
    places.sort();
    assert_eq!(places, [(2, "the input"), (3, "the input"), (8, "the input")]);
    assert!(outcome.loss.is_finite());
    assert!(relative_error(&found, &expected) <= 1e-5);
}

#[test]
fn an_overflow_is_reported_with_its_layer() {
    let layers = [Entry::named("first", dense(4)), Entry::named("second", dense(3))];
    let network = Network::new(Shape::Vector(2), &layers).unwrap();
    let mut setting = Setting::new(network, 3, 1);
    for (index, value) in setting.parameters.iter_mut().enumerate() {
        *value = if index < 12 { 1.0 } else { 1e10 };
    }
    let inputs = [1.0, 0.5, 1e30, 1e30, 0.25, -1.0];
    let (outcome, found, expected) = with_and_without(&setting, &inputs, &[1]);
    assert_eq!(outcome.excluded.len(), 1);
    assert_eq!(outcome.excluded[0].example, 1);
    assert_eq!(outcome.excluded[0].place, "layer `second` (dense)");
    assert!(relative_error(&found, &expected) <= 1e-5);
}

#[test]
fn a_gradient_that_overflows_is_reported_with_its_tensor() {
    let layers = [Entry::named("only", dense(3))];
    let mut setting = Setting::new(Network::new(Shape::Vector(2), &layers).unwrap(), 3, 1);
    setting.parameters.fill(0.0);
    let inputs = [1.0, 0.5, 1e30, 1e30, 0.25, -1.0];
    let (outcome, found, expected) = with_and_without(&setting, &inputs, &[1]);
    assert_eq!(outcome.excluded[0].place, "the gradient of `only.weight`");
    assert!(relative_error(&found, &expected) <= 1e-5);
}

#[test]
fn tokens_that_do_not_exist_are_reported_at_the_embedding() {
    let embedding = LayerConfig::Embedding { tokens: 5, features: 3, padding: None };
    let layers = [Entry::named("words", embedding), LayerConfig::GlobalAveragePool.into(), dense(2).into()];
    let setting = Setting::new(Network::new(Shape::Vector(3), &layers).unwrap(), 5, 1);
    let inputs = [0.0, 4.0, 2.0, 5.0, 1.0, 1.0, 2.0, 2.5, 1.0, -1.0, 0.0, 0.0, 3.0, 3.0, 1e9];
    let (outcome, found, expected) = with_and_without(&setting, &inputs, &[1, 2, 3, 4]);
    assert_eq!(outcome.excluded.len(), 4);
    for excluded in &outcome.excluded {
        assert_eq!(excluded.place, "layer `words` (embedding)");
    }
    assert!(relative_error(&found, &expected) <= 1e-5);
}

#[test]
fn parameters_that_are_not_finite_exclude_everything_and_end() {
    let mut setting = image_setting(vec![]);
    setting.parameters[0] = f32::NAN;
    let mut engine = setting.engine(Purpose::PerExample, 1, 4);
    let outcome = engine.weighted_sum(&setting.parameters, &setting.batch(0..9), LOSS, 1, &clip).unwrap();
    assert_eq!(outcome.excluded.len(), 9);
    assert!(outcome.excluded[0].place.starts_with("layer `0` (conv2d)"));
}

#[test]
fn an_empty_batch_gives_zero() {
    let setting = image_setting(vec![]);
    let mut engine = setting.engine(Purpose::PerExample, cores().min(2), 4);
    let whole = setting.batch(0..5);
    engine.weighted_sum(&setting.parameters, &whole, LOSS, 1, &clip).unwrap();
    assert!(engine.gradient().iter().any(|&value| value != 0.0));
    let outcome = engine.weighted_sum(&setting.parameters, &setting.batch(0..0), LOSS, 1, &clip).unwrap();
    assert_eq!(outcome, Outcome::default());
    assert!(engine.gradient().iter().all(|&value| value == 0.0));
}

#[test]
fn options_that_cannot_be_met_are_refused() {
    let network = image_setting(vec![]).network;
    let refusal = |threads: Option<usize>, micro_batch: Option<usize>| {
        let options = Options { threads, micro_batch, ..Options::new(Purpose::Plain) };
        let error = Engine::new(network.clone(), options).err().expect("a refusal");
        error.to_string()
    };
    assert!(refusal(Some(0), None).contains("threads"));
    assert!(refusal(Some(100_000), None).contains("100000"));
    assert!(refusal(None, Some(0)).contains("micro-batch"));
    let mut engine = Engine::new(network.clone(), Options::new(Purpose::Evaluate)).unwrap();
    let setting = image_setting(vec![]);
    let wrong = engine.sum(&setting.parameters, &setting.batch(0..1), LOSS, 1);
    assert!(wrong.unwrap_err().to_string().contains("purpose"));
}

fn batch_norm_setting() -> Setting {
    let layers: Vec<Entry> = vec![
        conv(4).into(),
        Entry::named("norm", LayerConfig::BatchNorm),
        Activation::Relu.into(),
        LayerConfig::Flatten.into(),
        dense(3).into(),
    ];
    Setting::layers(Shape::image(2, 4, 3), layers, 9)
}

#[test]
fn batch_normalisation_is_refused_where_examples_count() {
    let setting = batch_norm_setting();
    let options = Options::new(Purpose::PerExample);
    let error = Engine::new(setting.network.clone(), options).err().expect("a refusal");
    let message = error.to_string();
    assert!(message.contains("`norm`") && message.contains("GroupNorm"), "{message}");
    let mut engine = setting.engine(Purpose::Plain, 1, 4);
    let visit = |_: usize, _: &mut [f32], _: &mut [f32]| panic!("no gradient to see");
    let result = engine.visit(&setting.parameters, &setting.batch(0..3), LOSS, 1, &visit);
    assert!(result.unwrap_err().to_string().contains("GroupNorm"));
}

#[test]
fn batch_normalisation_sees_the_whole_batch() {
    let setting = batch_norm_setting();
    let gradient = |threads: usize, micro_batch: usize| {
        let mut engine = setting.engine(Purpose::Plain, threads, micro_batch);
        // A small batch first: the engine has to grow, and to forget.
        engine.sum(&setting.parameters, &setting.batch(0..2), LOSS, 1).unwrap();
        engine.sum(&setting.parameters, &setting.batch(0..9), LOSS, 1).unwrap();
        engine.gradient().to_vec()
    };
    let whole = gradient(1, 100);
    assert_eq!(gradient(1, 2), whole);
    assert_eq!(gradient(cores().min(2), 4), whole);
    // The gradient is that of the summed loss: compare with a step along it.
    let mut engine = setting.engine(Purpose::Plain, 1, 9);
    let mut loss_at = |step: f32| {
        let mut parameters = setting.parameters.clone();
        for parameter in setting.network.parameters() {
            if parameter.tensor.role == muffle_nn::layer::Role::Trainable {
                for index in parameter.range.clone() {
                    parameters[index] += step * whole[index];
                }
            }
        }
        engine.sum(&parameters, &setting.batch(0..9), LOSS, 1).unwrap().loss
    };
    let trainable = setting
        .network
        .parameters()
        .iter()
        .filter(|parameter| parameter.tensor.role == muffle_nn::layer::Role::Trainable);
    let square: f64 = trainable
        .flat_map(|parameter| &whole[parameter.range.clone()])
        .map(|value| f64::from(*value).powi(2))
        .sum();
    let step = 1e-3 / square.sqrt();
    let slope = (loss_at(step as f32) - loss_at(-step as f32)) / (2.0 * step);
    assert!((slope / square - 1.0).abs() < 1e-2, "{slope} against {square}");
}

#[test]
fn a_bad_input_does_not_reach_others_through_batch_normalisation() {
    let setting = batch_norm_setting();
    let width = setting.network.input().len();
    let mut inputs: Vec<f32> = (0..6 * width).map(|index| ((index * 7) % 11) as f32).collect();
    inputs[3 * width] = f32::NAN;
    let mut engine = setting.engine(Purpose::Plain, 1, 4);
    let batch = Batch::new(inputs, vec![0, 1, 2, 0, 1, 2]);
    let outcome = engine.sum(&setting.parameters, &batch, LOSS, 1).unwrap();
    assert_eq!(outcome.excluded.len(), 1);
    assert_eq!(outcome.excluded[0].example, 3);
    assert!(engine.gradient().iter().all(|value| value.is_finite()));
}

#[test]
fn outputs_do_not_depend_on_threads() {
    for setting in [image_setting(vec![dropout()]), batch_norm_setting()] {
        let outputs = |threads: usize, micro_batch: usize| {
            let count = setting.examples();
            let mut outputs = vec![0.0; count * setting.network.output().len()];
            let mut engine = setting.engine(Purpose::Evaluate, threads, micro_batch);
            engine.outputs(&setting.parameters, &setting.batch(0..count), &mut outputs).unwrap();
            outputs
        };
        let expected = outputs(1, 100);
        assert!(relative_error(&outputs(cores().min(2), 3), &expected) <= 1e-6);
        assert!(relative_error(&outputs(1, 1), &expected) <= 1e-6);
    }
}

#[test]
fn networks_that_do_not_fit_are_refused_with_the_reason() {
    let build = |layer: LayerConfig, shape: Shape| {
        Network::new(shape, &[Entry::named("odd", layer)])
            .err()
            .unwrap_or_else(|| panic!("a refusal"))
            .to_string()
    };
    let image = Shape::image(6, 5, 5);
    let (vector, sequence) = (Shape::Vector(6), Shape::Sequence { steps: 2, features: 3 });
    let groups = LayerConfig::GroupNorm { groups: 4, affine: true };
    assert!(build(groups, image).contains("4 groups must divide its 6 channels"));
    assert!(build(LayerConfig::LayerNorm { affine: true }, image).contains("group-norm"));
    assert!(build(LayerConfig::BatchNorm, sequence).contains("layer-norm"));
    assert!(build(LayerConfig::GlobalAveragePool, vector).contains("image or a sequence"));
    let reshape = LayerConfig::Reshape { shape: vec![7, 2] };
    assert!(build(reshape, vector).contains("do not fill"));
    let embedding = LayerConfig::Embedding { tokens: 0, features: 3, padding: None };
    assert!(build(embedding, vector).contains("tokens"));
    let stretch = |padding: usize, extra: usize| LayerConfig::ConvTranspose2d {
        channels: 2,
        kernel: Extent::Square(2),
        stride: Extent::Square(1),
        padding: Extent::Square(padding),
        output_padding: Extent::Square(extra),
        bias: true,
    };
    assert!(build(stretch(0, 1), image).contains("smaller than the stride"));
    assert!(build(stretch(3, 0), image).contains("leaves no output"));
    assert!(
        Arc::new(Network::new(image, &[stretch(0, 0).into()]).unwrap()).output() == Shape::image(2, 6, 6)
    );
}

/// A convolution with gradients so large that every example is a block of its own.
fn block_setting(examples: usize) -> Setting {
    let layers = vec![
        conv(96).into(),
        Activation::Tanh.into(),
        LayerConfig::GlobalAveragePool.into(),
        LayerConfig::Flatten.into(),
        dense(3).into(),
    ];
    Setting::layers(Shape::image(96, 12, 12), layers, examples)
}

#[test]
fn blocks_give_every_example_its_own_gradient() {
    crate::common::check(&block_setting(5));
}

#[test]
fn examples_left_out_of_a_block_are_not_added_and_others_only_once() {
    let mut setting = block_setting(1);
    let weight = setting.network.parameters()[0].range.clone();
    // Without weights the outputs do not depend on the inputs, and large ones show in this layer's gradient only.
    setting.parameters[weight].fill(0.0);
    let width = setting.network.input().len();
    let mut inputs: Vec<f32> = (0..9 * width).map(|index| ((index * 29) % 31) as f32 / 15.0).collect();
    let bad = [1, 5, 6];
    for example in bad {
        inputs[example * width..][..width].fill(1e25);
    }
    let (outcome, found, expected) = with_and_without(&setting, &inputs, &bad);
    let excluded: Vec<usize> = outcome.excluded.iter().map(|excluded| excluded.example).collect();
    assert_eq!(excluded, bad);
    assert!(outcome.excluded.iter().all(|excluded| excluded.place == "the gradient of `0.weight`"));
    assert!(relative_error(&found, &expected) < 1e-5);
}

#[test]
fn limited_sums_leave_out_what_is_not_finite() {
    // A step of limited sums on some examples of the batch.
    let sum = |setting: &Setting, inputs: &[f32], chosen: &[usize]| {
        let width = setting.network.input().len();
        let values = chosen.iter().flat_map(|&example| inputs[example * width..][..width].to_vec());
        let batch = Batch::new(values.collect(), chosen.iter().map(|&example| example as u32 % 3).collect());
        let mut engine = setting.engine(Purpose::Plain, 1, 4);
        let limits = vec![0.01; setting.parameters.len()];
        let outcome = engine.limited_sum_apart(&setting.parameters, &batch, LOSS, 1, &limits).unwrap();
        engine.for_each_chunk(&|_, _| {});
        let excluded: Vec<(usize, String)> =
            outcome.excluded.into_iter().map(|excluded| (excluded.example, excluded.place)).collect();
        (excluded, engine.gradient().to_vec())
    };

    // Behind a ReLU and weights of zero all outputs are finite: only the first layer's gradient is not.
    let layers = vec![Entry::named("first", dense(4)), Activation::Relu.into(), dense(3).into()];
    let mut setting = Setting::layers(Shape::Vector(2), layers, 1);
    setting.parameters[..8].fill(0.0);
    let inputs = [1.0, 0.5, 1e30, -3e38, 0.25, -1.0, f32::NAN, 1.0, 1.0, 1.0, 3e38, 3e38];
    setting.parameters[8..12].fill(1.0);
    setting.parameters[12..24].iter_mut().for_each(|weight| *weight *= 100.0);
    let (excluded, found) = sum(&setting, &inputs, &[0, 1, 2, 3, 4, 5]);
    let places: Vec<(usize, &str)> = excluded.iter().map(|(example, place)| (*example, &place[..])).collect();
    let gradient = "the gradient of `first`";
    assert_eq!(places, [(1, gradient), (3, "the input"), (5, gradient)]);
    assert_eq!(found, sum(&setting, &inputs, &[0, 2, 4]).1);
    assert!(found.iter().all(|value| value.abs() <= 3.0 * 0.01 + 1e-7) && found.iter().any(|&it| it != 0.0));

    // The same where gradients are written out.
    let mut setting = image_setting(vec![]);
    let weight = setting.network.parameters()[0].range.clone();
    setting.parameters[weight].fill(0.0);
    let mut inputs: Vec<f32> = (0..6 * 60).map(|index| ((index * 29) % 31) as f32 / 15.0).collect();
    inputs[2 * 60..3 * 60].fill(3e38);
    let (excluded, found) = sum(&setting, &inputs, &[0, 1, 2, 3, 4, 5]);
    assert_eq!(excluded, [(2, "the gradient of `0`".to_string())]);
    assert_eq!(found, sum(&setting, &inputs, &[0, 1, 3, 4, 5]).1);
}

#[test]
fn sums_left_apart_are_added_up_on_the_way() {
    let setting = image_setting(vec![]);
    let examples = setting.batch(0..setting.examples());
    let expected = clipped(&setting, cores(), 4, 1);
    let mut engine = setting.engine(Purpose::PerExample, cores(), 4);
    engine.weighted_sum_apart(&setting.parameters, &examples, LOSS, 1, &clip).unwrap();
    engine.for_each_chunk(&|_, chunk: &mut [f32]| chunk.iter_mut().for_each(|value| *value *= 2.0));
    let doubled: Vec<f32> = expected.iter().map(|value| 2.0 * value).collect();
    assert_eq!(engine.gradient(), doubled);
}

#[test]
#[should_panic(expected = "have not been added up")]
fn sums_left_apart_are_not_handed_out() {
    let setting = image_setting(vec![]);
    let examples = setting.batch(0..setting.examples());
    let mut engine = setting.engine(Purpose::PerExample, 1, 4);
    engine.weighted_sum_apart(&setting.parameters, &examples, LOSS, 1, &clip).unwrap();
    engine.gradient();
}
