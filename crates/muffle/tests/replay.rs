//! Frozen randomness, neighbouring data sets: the released sum moves by no more than the declared sensitivity.

mod common;

use common::{LOSS, Records, Setting, distance, receipt};
use muffle::clip::{Allocation, Clip, Flat, Grouped, PerLayer};
use muffle::data::{Augmentation, Dataset, Scaling, Split, Views, Visibility};
use muffle::mechanism::{Gradients, Mechanism, Rule};
use muffle::noise::Key;
use muffle::sampler::{BallsAndBins, FixedSize, Poisson, Reshuffled, Sampler};
use muffle_accounting::Event;
use muffle_nn::{Examples, Purpose};

const RECORDS: usize = 60;
const STEPS: u64 = 12;
/// Sums are taken in single precision and in another order without a record: relative to the sensitivity.
const ROUNDING: f64 = 1e-4;

fn rules(tensors: usize) -> Vec<(&'static str, Box<dyn Clip>)> {
    let thresholds = (0..tensors).map(|tensor| 0.05 * (1.0 + tensor as f64)).collect();
    let groups = (0..tensors).map(|tensor| tensor % 3).collect();
    vec![
        ("flat", Box::new(Flat::new(0.7))),
        // Above every norm: nothing is clipped, and the bound still holds.
        ("flat, loose", Box::new(Flat::new(1e4))),
        ("per layer", Box::new(PerLayer::new(thresholds))),
        ("per layer, even", Box::new(PerLayer::even(0.4, tensors))),
        ("grouped", Box::new(Grouped::new(groups, vec![0.1, 0.3, 0.02]))),
    ]
}

/// The samplers of this number of records, and whether they know add_remove.
fn samplers(records: usize) -> Vec<(&'static str, Box<dyn Sampler>, bool)> {
    let key = Key::from_seed(21);
    vec![
        ("poisson", Box::new(Poisson::new(&key, records, 0.25)), true),
        ("fixed size", Box::new(FixedSize::new(&key, records, 15)), false),
        ("reshuffled", Box::new(Reshuffled::new(&key, records, 4)), false),
        ("balls and bins", Box::new(BallsAndBins::new(&key, records, 4)), true),
    ]
}

/// The released sum of some records in a step, with noise of multiplier one or none, as this key draws it.
fn release(
    setting: &mut Setting,
    examples: &dyn Examples,
    rule: Rule,
    (mechanism, step, noisy): (&Mechanism, u64, bool),
) -> Vec<f32> {
    let event = match rule {
        _ if !noisy => Event::NonPrivate,
        Rule::L1 { .. } => Event::laplace(1.0),
        _ => Event::gaussian(1.0),
    };
    let (engine, parameters) = (&mut setting.engine, &setting.parameters[..]);
    let gradients = Gradients { engine, parameters, examples, loss: LOSS, seed: step };
    let (bounded, _) = gradients.bounded(rule).unwrap();
    mechanism.release(bounded, f64::from(u8::from(noisy)), receipt(step, event)).gradient().to_vec()
}

fn key(seed: u64) -> Mechanism {
    Mechanism::new(Key::from_seed(seed), 1.0)
}

/// The noisy sums of a run whose parameters stay where they are.
fn run(
    setting: &mut Setting,
    records: &Records,
    rule: &dyn Clip,
    sampler: &mut dyn Sampler,
) -> Vec<Vec<f32>> {
    let mechanism = key(22).allocation(Allocation::EqualShare);
    (0..STEPS)
        .map(|step| {
            let batch = records.select(sampler.draw(step));
            release(setting, &batch, Rule::Norms(rule), (&mechanism, step, true))
        })
        .collect()
}

/// Compares two runs; returns in how many steps they differ.
fn compare(name: &str, sensitivity: f64, run: &[Vec<f32>], neighbour: &[Vec<f32>]) -> usize {
    let distances: Vec<f64> = run.iter().zip(neighbour).map(|(left, right)| distance(left, right)).collect();
    for distance in &distances {
        assert!(*distance <= sensitivity * (1.0 + ROUNDING), "{name}: {distance} above {sensitivity}");
    }
    distances.iter().filter(|distance| **distance > 1e-3 * sensitivity.min(1.0)).count()
}

#[test]
fn a_neighbour_moves_the_sum_by_at_most_the_sensitivity() {
    let mut setting = Setting::new(Purpose::PerExample);
    let records = setting.records(RECORDS, 4.0);
    let (zeroed, removed) = (records.zeroed_out(RECORDS - 1), records.removed());
    for (rule_name, rule) in rules(setting.network.parameters().len()) {
        let sensitivity = rule.bounds().sensitivity();
        let (with, without) = (samplers(RECORDS), samplers(RECORDS - 1));
        for ((name, mut sampler, add_remove), (_, mut fewer, _)) in with.into_iter().zip(without) {
            let name = format!("{rule_name}, {name}");
            let taken = (0..STEPS).filter(|&step| sampler.draw(step).contains(&(RECORDS - 1))).count();
            assert!(taken > 0, "{name}: the record never takes part");
            let original = run(&mut setting, &records, &*rule, &mut *sampler);
            let neighbour = run(&mut setting, &zeroed, &*rule, &mut *sampler);
            assert_eq!(compare(&name, sensitivity, &original, &neighbour), taken, "{name}, zero out");
            if add_remove {
                let neighbour = run(&mut setting, &removed, &*rule, &mut *fewer);
                assert_eq!(compare(&name, sensitivity, &original, &neighbour), taken, "{name}, remove");
            }
        }
    }
}

/// Rules that clip reach their bound: the sensitivity is not a loose one.
#[test]
fn a_clipped_record_comes_close_to_the_bound() {
    let mut setting = Setting::new(Purpose::PerExample);
    let record = setting.records(1, 4.0);
    for threshold in [1e-3, 0.1] {
        let rule = Flat::new(threshold);
        let released = release(&mut setting, &record.all(), Rule::Norms(&rule), (&key(1), 0, false));
        let norm = distance(&released, &vec![0.0; released.len()]);
        assert!(norm <= threshold && norm > 0.9999 * threshold, "{norm} of {threshold}");
    }
}

#[test]
fn a_neighbour_moves_the_l1_sum_by_at_most_the_threshold() {
    let mut setting = Setting::new(Purpose::Plain);
    let records = setting.records(20, 4.0);
    let mut of = |records: &Records, threshold: f64| {
        release(&mut setting, &records.all(), Rule::L1 { threshold }, (&key(1), 0, true))
    };
    for threshold in [0.3, 3.0] {
        let original = of(&records, threshold);
        for neighbour in [records.zeroed_out(19), records.removed(), records.zeroed_out(3)] {
            let changed = of(&neighbour, threshold);
            let change: f64 =
                original.iter().zip(&changed).map(|(left, right)| f64::from((left - right).abs())).sum();
            // Each of some 6,000 coordinates is rounded at the size of its noise, threshold · 2⁻²⁴ or so.
            assert!(change <= threshold * (1.0 + 2e-3), "{change} above {threshold}");
            assert!(change > 0.9 * threshold, "{change}: the record takes part");
        }
    }
}

/// The same records as images of a data set.
fn images(setting: &Setting, records: &Records) -> Dataset {
    let split = Split::classified(
        muffle::data::Records::Floats(records.inputs.concat()),
        (0..records.inputs.len() as u32).map(|record| record % 10).collect(),
    );
    let classes = (0..10).map(|class| class.to_string()).collect();
    let (shape, scaling) = (setting.network.input(), Scaling::identity("random"));
    Dataset::new("random", shape, classes, scaling, Visibility::Public, split.clone(), split).unwrap()
}

/// A record counts once, however many views it has.
#[test]
fn a_neighbour_with_several_views_moves_the_sum_by_at_most_the_sensitivity() {
    let (mut setting, mut plain) = (Setting::new(Purpose::PerExample), Setting::new(Purpose::Plain));
    let dataset = images(&setting, &setting.records(RECORDS, 4.0));
    let augmentation = Augmentation { shift: 2, flip: true, crop: 1, ..Default::default() };
    let views = |records: Vec<usize>, count: usize| {
        Views::new(dataset.train().select(records), augmentation, 5, 40, count)
    };
    for count in [2, 5] {
        let whole = views((0..RECORDS).collect(), count);
        assert_eq!((whole.len(), whole.views()), (RECORDS * count, count));
        for (name, rule) in rules(setting.network.parameters().len()) {
            let name = format!("{name}, {count} views");
            let sensitivity = rule.bounds().sensitivity();
            let mut of =
                |examples: &Views| release(&mut setting, examples, Rule::Norms(&*rule), (&key(22), 0, true));
            let original = [of(&whole)];
            assert_eq!([of(&whole)], original, "{name}: the same bits");
            for removed in [0, RECORDS / 2, RECORDS - 1] {
                let others = (0..RECORDS).filter(|&record| record != removed).collect();
                let neighbour = [of(&views(others, count))];
                assert_eq!(compare(&name, sensitivity, &original, &neighbour), 1, "{name}");
            }
        }
        for threshold in [1e-3, 0.1] {
            let rule = Flat::new(threshold);
            let record = views(vec![7], count);
            let released = release(&mut setting, &record, Rule::Norms(&rule), (&key(1), 0, false));
            let norm = distance(&released, &vec![0.0; released.len()]);
            assert!(norm <= threshold && norm > 0.9999 * threshold, "{norm} of {threshold}");
            let released = release(&mut plain, &record, Rule::L1 { threshold }, (&key(1), 0, false));
            let norm: f64 = released.iter().map(|value| f64::from(value.abs())).sum();
            assert!(norm <= threshold && norm > 0.9999 * threshold, "{norm} of {threshold} in L1 norm");
        }
    }
}
