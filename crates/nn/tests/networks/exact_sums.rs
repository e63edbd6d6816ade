//! Sums over groups of records on a grid.

use crate::common::{Chosen, Setting};
use muffle_nn::config::{Entry, LayerConfig};
use muffle_nn::layers::activation::Activation;
use muffle_nn::layers::window::Extent;
use muffle_nn::rounding::GROUP;
use muffle_nn::{Engine, Examples, Loss, Purpose, Quanta, Shape, Target};
use std::sync::Mutex;

const LOSS: Loss = Loss::SoftmaxCrossEntropy;
const QUANTUM: f64 = 1.0 / 262_144.0;

fn setting(examples: usize) -> Setting {
    let dense = |features| LayerConfig::Dense { features, bias: true };
    Setting::layers(
        Shape::Vector(30),
        vec![dense(12).into(), Activation::Relu.into(), dense(5).into()],
        examples,
    )
}

/// To norm one.
fn clip(squares: &[f64], factors: &mut [f32]) {
    let norm = squares.iter().sum::<f64>().sqrt();
    factors.fill((1.0 / norm.max(1.0)) as f32);
}

/// Whole numbers of quanta.
fn totals(setting: &Setting, examples: &dyn Examples, threads: usize) -> Vec<f32> {
    let mut engine = setting.engine(Purpose::PerExample, threads, 64);
    let len = setting.network.parameter_len();
    engine.round_sums_to(Quanta::Stretches(vec![(len / 3, QUANTUM), (len, QUANTUM)]));
    engine.weighted_sum_apart(&setting.parameters, examples, LOSS, 1, &clip).unwrap();
    engine.settle(1.0, &|_, totals| assert!(totals.iter().all(|total| total.fract() == 0.0)));
    engine.gradient().to_vec()
}

#[test]
fn sums_are_those_of_plain_steps_to_the_grid() {
    for examples in [0, 1, GROUP, GROUP + 1, 3 * GROUP] {
        let setting = setting(examples);
        let batch = setting.batch(0..examples);
        let mut engine = setting.engine(Purpose::PerExample, 1, 64);
        engine.weighted_sum(&setting.parameters, &batch, LOSS, 1, &clip).unwrap();
        let found = totals(&setting, &batch, 1);
        for (found, expected) in found.iter().zip(engine.gradient()) {
            assert!((found - expected).abs() < 1e-4, "{examples}: {found} for {expected}");
        }
    }
}

/// Networks of random weights and records, with layers that sum by vectors and term by term.
fn networks(examples: usize) -> Vec<(&'static str, Setting)> {
    let dense = |features| -> Entry { LayerConfig::Dense { features, bias: true }.into() };
    let lstm = |features, sequence| -> Entry { LayerConfig::Lstm { features, sequence }.into() };
    let conv = |channels, kernel, stride| -> Entry {
        LayerConfig::Conv2d {
            channels,
            kernel: Extent::Square(kernel),
            stride: Extent::Square(stride),
            padding: Extent::Square(kernel / 2),
            groups: 1,
            bias: true,
        }
        .into()
    };
    let flatten = || -> Entry { LayerConfig::Flatten.into() };
    let sequence = Shape::Sequence { steps: 4, features: 30 };
    let of = |shape, layers| Setting::layers(shape, layers, examples);
    vec![
        ("vectors", of(Shape::Vector(30), vec![dense(12), Activation::Relu.into(), dense(5)])),
        ("sequences", of(sequence, vec![dense(40), Activation::Tanh.into(), flatten(), dense(5)])),
        ("recurrent", of(sequence, vec![lstm(9, true), lstm(7, false), dense(5)])),
        (
            "convolutions",
            of(Shape::image(40, 3, 3), vec![conv(40, 1, 1), conv(64, 3, 2), flatten(), dense(5)]),
        ),
        ("Winograd", of(Shape::image(64, 4, 4), vec![conv(64, 3, 1), flatten(), dense(5)])),
    ]
}

/// Layers write over what the step before left, also where a thread has nothing to do.
#[test]
fn sums_do_not_remember_the_step_before() {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    for (name, setting) in networks(GROUP + 40) {
        let sum = |engine: &mut Engine, parameters: &[f32], examples: usize| {
            let batch = setting.batch(0..examples);
            engine.weighted_sum(parameters, &batch, LOSS, 1, &clip).unwrap();
            engine.gradient().to_vec()
        };
        let others: Vec<f32> = setting.parameters.iter().map(|value| 1.5 * value).collect();
        for examples in [1, 150, GROUP + 40] {
            let new = || setting.engine(Purpose::PerExample, cores.min(2), 64);
            let mut used = new();
            sum(&mut used, &others, GROUP + 40);
            let found = sum(&mut used, &setting.parameters, examples);
            assert_eq!(found, sum(&mut new(), &setting.parameters, examples), "{name}, {examples}");
        }
    }
}

/// Half a quantum before, twice half of one after, and a part of 0.8 per cent.
#[test]
fn one_record_more_moves_a_sum_by_its_bound_and_what_is_said() {
    for (name, setting) in networks(GROUP + 40) {
        assert_eq!(setting.network.group() == GROUP, name == "vectors", "{name}");
        let batch = setting.batch(0..setting.examples());
        let all = Chosen { all: &batch, places: (0..setting.examples()).collect() };
        let with = totals(&setting, &all, 1);
        for left_out in (0..setting.examples()).step_by(59) {
            let places = (0..setting.examples()).filter(|place| *place != left_out).collect();
            let without = totals(&setting, &Chosen { all: &batch, places }, 1);
            let moved: f64 = with.iter().zip(&without).map(|(a, b)| f64::from(a - b).powi(2)).sum();
            let grid = 1.5 * QUANTUM * (with.len() as f64).sqrt();
            assert!(moved.sqrt() <= 1.008 + grid, "{name}, {left_out}: {}", moved.sqrt());
        }
    }
}

/// Whole numbers of quanta that are so small that single precision shows.
fn fine_totals(setting: &Setting, examples: &dyn Examples, threads: usize) -> Vec<f64> {
    let mut engine = setting.engine(Purpose::PerExample, threads, 50);
    let len = setting.network.parameter_len();
    let quantum = 2f64.powi(-34);
    engine.round_sums_to(Quanta::Stretches(vec![(len, quantum)]));
    engine.weighted_sum_apart(&setting.parameters, examples, LOSS, 1, &clip).unwrap();
    let found = Mutex::new(vec![0.0; len]);
    engine
        .settle(1.0, &|first, totals| found.lock().unwrap()[first..][..totals.len()].copy_from_slice(totals));
    found.into_inner().unwrap()
}

/// The sum of a group is the same to the bit whatever happens to other groups, to the micro-batches that its records share with theirs
/// and to the shares of threads. So what one record changes does not depend on whether another is there, unless they share a group:
/// then rounding lets it differ by thousands of quanta of this size.
#[test]
fn groups_do_not_see_each_other() {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let count = GROUP + 40;
    for (name, setting) in networks(count).into_iter().filter(|(name, _)| *name != "vectors") {
        let batch = setting.batch(0..count);
        let without = |left_out: &[usize]| {
            let places = (0..count).filter(|place| !left_out.contains(place)).collect();
            fine_totals(&setting, &Chosen { all: &batch, places }, cores.min(2))
        };
        let all = without(&[]);
        let apart = (0..6).filter(|pair| {
            let (one, other) = (pair * 41, pair * 17 + 150);
            let [without_one, without_other, without_both] =
                [&[one][..], &[other], &[one, other]].map(without);
            let difference = |place: usize| {
                (all[place] - without_one[place]) - (without_other[place] - without_both[place])
            };
            // Each of four totals is rounded once.
            (0..all.len()).all(|place| difference(place).abs() <= 2.0)
        });
        assert!(apart.count() >= 4, "{name}");
    }
}

/// Records of other groups do not move at all: a record whose gradient is zero changes nothing, wherever it is put.
#[test]
fn a_record_of_nothing_changes_nothing_in_other_groups() {
    let setting = setting(2 * GROUP + 40);
    let batch = setting.batch(0..setting.examples());
    // Left out by the engine, since its input is no number.
    struct Spoiled<'a>(&'a dyn Examples);
    impl Examples for Spoiled<'_> {
        fn len(&self) -> usize {
            self.0.len() + 1
        }
        fn read(&self, index: usize, input: &mut [f32]) {
            if index == 0 { input.fill(f32::NAN) } else { self.0.read(index - 1, input) }
        }
        fn target(&self, index: usize) -> Target<'_> {
            self.0.target(index.max(1) - 1)
        }
        fn identity(&self, record: usize) -> u64 {
            if record == 0 { 1 << 40 } else { record as u64 - 1 }
        }
    }
    let moved = |threads| {
        let (with, without) =
            (totals(&setting, &Spoiled(&batch), threads), totals(&setting, &batch, threads));
        with.iter().zip(&without).map(|(a, b)| f64::from(a - b).abs()).fold(0.0, f64::max)
    };
    // Its own group is summed in another order: a quantum, where all groups in another order would be several.
    assert!(moved(1) <= 1.0 * QUANTUM, "{}", moved(1) / QUANTUM);
}
