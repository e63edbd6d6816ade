//! Several views of one record: their mean gradient takes the place of an example's.

use crate::common::{LOSS, Setting, TOLERANCE, limited, relative_error};
use muffle_nn::config::{Entry, LayerConfig};
use muffle_nn::hooks::Hooks;
use muffle_nn::layers::activation::Activation;
use muffle_nn::layers::window::Extent;
use muffle_nn::{Batch, Engine, Examples, Options, Outcome, Purpose, Shape, Target};
use std::sync::Mutex;

/// The first records of a setting, each of `views` consecutive examples.
struct Viewed {
    batch: Batch,
    views: usize,
    /// Identity of the first record.
    first: u64,
}

impl Viewed {
    fn new(setting: &Setting, records: usize, views: usize) -> Viewed {
        Viewed { batch: setting.batch(0..records * views), views, first: 0 }
    }
}

impl Examples for Viewed {
    fn len(&self) -> usize {
        self.batch.len()
    }

    fn read(&self, index: usize, input: &mut [f32]) {
        self.batch.read(index, input);
    }

    fn target(&self, index: usize) -> Target<'_> {
        self.batch.target(index)
    }

    fn views(&self) -> usize {
        self.views
    }

    fn identity(&self, record: usize) -> u64 {
        self.first + record as u64
    }
}

/// Another factor for every tensor, by its norm.
fn weigh(norms: &[f64], factors: &mut [f32]) {
    for (tensor, (factor, norm)) in factors.iter_mut().zip(norms).enumerate() {
        *factor = (0.05 * (1.0 + tensor as f32) / norm.sqrt() as f32).min(1.0);
    }
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Weighted sums, visits and plain sums against a loop over the gradients of single examples.
fn check(setting: &Setting) {
    let single = setting.one_at_a_time();
    let tensors = setting.network.parameters();
    // One engine for all, so that every change of views has to lay out its memory anew.
    for (threads, micro_batch) in [(1, 1), (1, 4), (cores().min(2), 7), (cores().min(2), 100)] {
        let mut weighted = setting.engine(Purpose::PerExample, threads, micro_batch);
        let mut plain = setting.engine(Purpose::Plain, threads, micro_batch);
        for (records, views) in [(0, 2), (1, 5), (3, 1), (5, 2), (3, 5), (4, 3), (1, 1), (0, 5)] {
            let case =
                format!("{records} records of {views} views, {threads} threads, micro-batch {micro_batch}");
            let examples = Viewed::new(setting, records, views);
            let mut means = vec![vec![0.0f32; setting.parameters.len()]; records];
            for (example, gradient) in single.iter().enumerate().take(records * views) {
                let mean = &mut means[example / views];
                mean.iter_mut().zip(gradient).for_each(|(mean, value)| *mean += value / views as f32);
            }

            let (mut expected, mut factors) = (vec![0.0; setting.parameters.len()], vec![0.0; tensors.len()]);
            for mean in &means {
                let norm = |range: std::ops::Range<usize>| {
                    mean[range].iter().map(|value: &f32| f64::from(*value).powi(2)).sum()
                };
                let norms: Vec<f64> = tensors.iter().map(|tensor| norm(tensor.range.clone())).collect();
                weigh(&norms, &mut factors);
                for (tensor, factor) in tensors.iter().zip(&factors) {
                    tensor.range.clone().for_each(|index| expected[index] += factor * mean[index]);
                }
            }
            let outcome = weighted.weighted_sum(&setting.parameters, &examples, LOSS, 3, &weigh).unwrap();
            assert!(outcome.excluded.is_empty(), "{case}");
            for tensor in tensors {
                let (found, expected) =
                    (&weighted.gradient()[tensor.range.clone()], &expected[tensor.range.clone()]);
                let error = relative_error(found, expected);
                assert!(error <= TOLERANCE, "{case}: weighted sum of {} differs by {error}", tensor.name);
            }

            let found = Mutex::new(vec![Vec::new(); records]);
            let visit = |record: usize, gradient: &mut [f32], sum: &mut [f32]| {
                found.lock().unwrap()[record] = gradient.to_vec();
                sum.iter_mut().zip(gradient).for_each(|(sum, value)| *sum += *value);
            };
            plain.visit(&setting.parameters, &examples, LOSS, 3, &visit).unwrap();
            for (found, mean) in found.into_inner().unwrap().iter().zip(&means) {
                assert!(relative_error(found, mean) <= TOLERANCE, "{case}: visit");
            }
            let summed = plain.gradient().to_vec();
            let plain_outcome = plain.sum(&setting.parameters, &examples, LOSS, 3).unwrap();
            assert!(relative_error(plain.gradient(), &summed) <= TOLERANCE, "{case}: plain sum");
            let limits = vec![0.02; summed.len()];
            plain.limited_sum_apart(&setting.parameters, &examples, LOSS, 3, &limits).unwrap();
            plain.for_each_chunk(&|_, _| {});
            let means: Vec<&[f32]> = means.iter().map(|mean| &mean[..]).collect();
            let error = relative_error(plain.gradient(), &limited(&means, &limits));
            assert!(error <= TOLERANCE, "{case}: limited sum differs by {error}");

            let all = plain.sum(&setting.parameters, &examples.batch, LOSS, 3).unwrap().loss;
            for loss in [outcome.loss, plain_outcome.loss] {
                assert!((loss * views as f64 - all).abs() <= 1e-4 * all, "{case}: loss {loss} of {all}");
            }
        }
    }
}

fn dense(features: usize) -> Entry {
    LayerConfig::Dense { features, bias: true }.into()
}

fn conv(channels: usize, stride: usize, groups: usize) -> Entry {
    LayerConfig::Conv2d {
        channels,
        kernel: Extent::Square(3),
        stride: Extent::Square(stride),
        padding: Extent::Square(1),
        groups,
        bias: true,
    }
    .into()
}

fn flatten() -> Entry {
    LayerConfig::Flatten.into()
}

/// Padded and strided, depthwise and, from sixteen channels on, Winograd convolutions.
/// Without dropout: the masks of a record's views are not those of as many records.
fn image_setting() -> Setting {
    let layers = vec![
        conv(16, 2, 1),
        LayerConfig::GroupNorm { groups: 4, affine: true }.into(),
        Activation::Tanh.into(),
        conv(16, 1, 16),
        Activation::Tanh.into(),
        conv(16, 1, 1),
        Activation::Tanh.into(),
        flatten(),
        dense(5),
    ];
    Setting::layers(Shape::image(2, 9, 8), layers, 15)
}

#[test]
fn dense_layers() {
    check(&Setting::layers(Shape::Vector(11), vec![dense(7), Activation::Tanh.into(), dense(4)], 15));
}

#[test]
fn convolutions_and_normalisation() {
    check(&image_setting());
}

/// Masks follow record and view: a record gives alone what it gives beside others, and its views do not share a mask.
#[test]
fn masks_of_views_belong_to_the_record() {
    let layers = vec![dense(40), LayerConfig::Dropout { rate: 0.5 }.into(), dense(4)];
    let setting = Setting::layers(Shape::Vector(11), layers, 12);
    let gradients = |engine: &mut Engine, examples: &dyn Examples| {
        let found = Mutex::new(vec![Vec::new(); examples.len() / examples.views()]);
        let visit = |record: usize, gradient: &mut [f32], _: &mut [f32]| {
            found.lock().unwrap()[record] = gradient.to_vec()
        };
        engine.visit(&setting.parameters, examples, LOSS, 3, &visit).unwrap();
        found.into_inner().unwrap()
    };
    let whole = Viewed::new(&setting, 4, 3);
    let together = gradients(&mut setting.engine(Purpose::Plain, cores().min(2), 5), &whole);
    for (record, expected) in together.iter().enumerate() {
        let batch = setting.batch(3 * record..3 * record + 3);
        let alone = Viewed { batch, views: 3, first: record as u64 };
        assert_eq!(
            gradients(&mut setting.engine(Purpose::Plain, 1, 100), &alone),
            std::slice::from_ref(expected)
        );
    }
    // Three views of the same input under one mask would be one view of it.
    let mut input = vec![0.0; 11];
    setting.batch(0..1).read(0, &mut input);
    let same = |views| Viewed { batch: Batch::new(input.repeat(views), vec![0; views]), views, first: 0 };
    let engine = &mut setting.engine(Purpose::Plain, 1, 100);
    assert!(relative_error(&gradients(engine, &same(3))[0], &gradients(engine, &same(1))[0]) > 0.1);
}

#[test]
fn tokens_through_a_recurrent_layer() {
    let layers = vec![
        LayerConfig::Embedding { tokens: 9, features: 6, padding: None }.into(),
        LayerConfig::LayerNorm { affine: true }.into(),
        LayerConfig::Lstm { features: 7, sequence: false }.into(),
        dense(3),
    ];
    let token = |index: usize| ((index * 7 + index / 5) % 9) as f32;
    check(&Setting::layers(Shape::Vector(5), layers, 15).with_inputs(token));
}

fn clipped(engine: &mut Engine, setting: &Setting, examples: &dyn Examples) -> (Vec<f32>, Outcome) {
    let outcome = engine.weighted_sum(&setting.parameters, examples, LOSS, 3, &weigh).unwrap();
    (engine.gradient().to_vec(), outcome)
}

#[test]
fn one_view_is_the_ordinary_path_and_the_same_bits_come_again() {
    let setting = image_setting();
    for threads in 1..=cores().min(2) {
        let mut engine = setting.engine(Purpose::PerExample, threads, 4);
        let ordinary = clipped(&mut engine, &setting, &setting.batch(0..15));
        let several = clipped(&mut engine, &setting, &Viewed::new(&setting, 3, 5));
        assert_eq!(clipped(&mut engine, &setting, &Viewed::new(&setting, 15, 1)), ordinary);
        assert_eq!(clipped(&mut engine, &setting, &Viewed::new(&setting, 3, 5)), several);
        let mut fresh = setting.engine(Purpose::PerExample, threads, 4);
        assert_eq!(clipped(&mut fresh, &setting, &Viewed::new(&setting, 3, 5)), several);
    }
}

/// Views 0 to 2 are the first record; view 4 of the second is spoiled.
#[test]
fn a_view_that_is_not_finite_excludes_its_record() {
    let layers = || vec![Entry::named("only", LayerConfig::Dense { features: 3, bias: true })];
    let inputs = |index: usize| ((index * 29) % 31) as f32 / 15.0;
    // Not a number, and a number whose squared gradient overflows.
    for (bad, place) in [(f32::NAN, "the input"), (1e30, "the gradient of `only.weight`")] {
        let setting = |spoil: bool| {
            let value = move |index: usize| if spoil && index == 4 * 2 { bad } else { inputs(index) };
            let mut setting = Setting::layers(Shape::Vector(2), layers(), 9).with_inputs(value);
            setting.parameters.fill(0.0);
            setting
        };
        let (spoiled, whole) = (setting(true), setting(false));
        for (threads, micro_batch) in [(1, 3), (1, 100), (cores().min(2), 6)] {
            let mut engine = spoiled.engine(Purpose::PerExample, threads, micro_batch);
            let (found, outcome) = clipped(&mut engine, &spoiled, &Viewed::new(&spoiled, 3, 3));
            let excluded: Vec<(usize, &str)> =
                outcome.excluded.iter().map(|excluded| (excluded.example, &*excluded.place)).collect();
            assert_eq!(excluded, [(1, place)]);
            // Without the record: what all three give less what the first two give beyond the first.
            let (all, loss) = clipped(&mut engine, &whole, &Viewed::new(&whole, 3, 3));
            let (two, loss_of_two) = clipped(&mut engine, &whole, &Viewed::new(&whole, 2, 3));
            let (one, loss_of_one) = clipped(&mut engine, &whole, &Viewed::new(&whole, 1, 3));
            let rest = all.iter().zip(two.iter().zip(&one)).map(|(all, (two, one))| all - two + one);
            assert!(relative_error(&found, &rest.collect::<Vec<f32>>()) < 1e-5);
            let rest = loss.loss - loss_of_two.loss + loss_of_one.loss;
            assert!((outcome.loss - rest).abs() < 1e-5, "{} of {rest}", outcome.loss);
        }
    }
}

#[test]
fn batch_normalisation_sees_all_views_and_still_averages() {
    let layers = vec![dense(4), LayerConfig::BatchNorm.into(), Activation::Tanh.into(), dense(3)];
    let setting = Setting::layers(Shape::Vector(5), layers, 12);
    let mut engine = setting.engine(Purpose::Plain, 1, 2);
    let trainable = |engine: &Engine| -> Vec<f32> {
        let network = engine.network();
        let moved = |parameter: &&muffle_nn::network::Parameter| {
            parameter.tensor.role == muffle_nn::layer::Role::Trainable
        };
        let tensors = network.parameters().iter().filter(moved);
        tensors.flat_map(|tensor| engine.gradient()[tensor.range.clone()].to_vec()).collect()
    };
    engine.sum(&setting.parameters, &Viewed::new(&setting, 0, 5), LOSS, 3).unwrap();
    engine.sum(&setting.parameters, &Viewed::new(&setting, 4, 3), LOSS, 3).unwrap();
    let means = trainable(&engine);
    engine.sum(&setting.parameters, &setting.batch(0..12), LOSS, 3).unwrap();
    let third: Vec<f32> = trainable(&engine).iter().map(|value| value / 3.0).collect();
    assert!(relative_error(&means, &third) <= TOLERANCE);
}

struct Nothing;

impl Hooks for Nothing {}

#[test]
fn hooks_refuse_views() {
    let setting = image_setting();
    let options = Options { hooked: true, ..Options::new(Purpose::PerExample) };
    let mut engine = Engine::new(setting.network.clone(), options).unwrap();
    let examples = Viewed::new(&setting, 3, 5);
    let refusal = engine.hooked_sum(&setting.parameters, &examples, LOSS, 3, &Nothing, &weigh);
    assert!(refusal.unwrap_err().to_string().contains("one view"));
    assert!(engine.weighted_sum(&setting.parameters, &examples, LOSS, 3, &weigh).is_ok());
}

#[test]
#[should_panic(expected = "7 examples do not divide into records of 3 views")]
fn half_a_record_is_refused() {
    let setting = image_setting();
    let examples = Viewed { batch: setting.batch(0..7), views: 3, first: 0 };
    let _ = setting.engine(Purpose::Plain, 1, 4).sum(&setting.parameters, &examples, LOSS, 3);
}
