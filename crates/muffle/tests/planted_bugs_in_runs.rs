//! The planted mistakes in whole runs, where the attacker sees the finished model only.
//!
//! `cargo test -p muffle --test planted_bugs_in_runs -- --ignored --nocapture` prints how often an audit catches each.

mod mistakes;

use mistakes::{BUGS, Bug, CORRECT, Mistaken, share};
use muffle::audit::{Report, runs};
use muffle::clip::Flat;
use muffle::data::{Dataset, Records, Scaling, Split, Visibility};
use muffle::mechanism::{Mechanism, Rule};
use muffle::methods::{self, Blueprint, BuildResult, Entry, Release, Step};
use muffle::noise::{GaussianNoise, Key, Purpose, Stream};
use muffle::sampler::SamplerChoice;
use muffle::train::canaries::{Canaries, usual_choice};
use muffle::train::{DataShape, Evaluator, Plan, Recipe, train_in_memory};
use muffle_accounting::{Accountant, pld::Pld};
use muffle_nn::Shape;
use std::sync::atomic::AtomicBool;

const RECORDS: usize = 400;
const WIDTH: usize = 1000;
const CONFIDENCE: f64 = 0.95;

/// Points in so many dimensions that each has a direction of its own; labels are coins.
fn dataset() -> Dataset {
    let mut values = vec![0.0; RECORDS * (WIDTH + 1)];
    GaussianNoise::new(&Key::from_seed(7), Stream::new(Purpose::Data, 0)).fill(0, 1.0, &mut values);
    let coins = values.split_off(RECORDS * WIDTH);
    let labels = coins.iter().map(|&coin| u32::from(coin > 0.0)).collect();
    let split = Split::classified(Records::Floats(values), labels);
    let (classes, scaling) = (["low", "high"].map(String::from).to_vec(), Scaling::identity("as they are"));
    let visibility = Visibility::Public;
    Dataset::new("points", Shape::Vector(WIDTH), classes, scaling, visibility, split.clone(), split).unwrap()
}

/// Logistic regression, by default in one step on all records. The step is long, so that the first weights are forgotten and
/// the loss on a record says how far the release points in its direction: all that an attacker could ask of a black box.
fn plan(dataset: &Dataset, settings: &[&str]) -> Plan {
    let recipe = r#"
        data = "points"
        model = { layers = [{ type = "dense", features = 2 }] }
        steps = 1
        batch_size = 400
        learning_rate = 30
        clip = { kind = "flat", threshold = 1.0 }
        threads = 1
    "#;
    let settings: Vec<String> = settings.iter().map(ToString::to_string).collect();
    Plan::new(Recipe::parse("test", recipe, &settings).unwrap(), &DataShape::of(dataset)).unwrap()
}

/// Noise from a key that all runs share.
fn noise_of_a_fixed_key<'a>(step: Step<'a, '_>) -> muffle_nn::Result<Release<'a>> {
    let (bounded, unprotected) = step.gradients.bounded(Rule::Norms(&Flat::new(1.0)))?;
    let mechanism = Mechanism::new(Key::from_seed(1), RECORDS as f32);
    let gradient = mechanism.release(bounded, step.noise_multiplier, step.receipt);
    Ok(Release { gradient, unprotected })
}

/// The mistakes that the method of a run can make.
const IN_RUNS: [Bug; 8] = [
    BUGS[0],
    BUGS[1],
    BUGS[2],
    BUGS[3],
    BUGS[4],
    BUGS[5],
    ("one draw of noise for all runs", noise_of_a_fixed_key, false),
    CORRECT,
];

const HALF_THE_NOISE: usize = 0;
const CLIPPED_AFTER_AVERAGING: usize = 4;
const FIXED_KEY: usize = 6;
const NONE: usize = 7;

fn build<const BUG: usize>(_: &Blueprint) -> BuildResult {
    Ok(Box::new(Mistaken(IN_RUNS[BUG].1)))
}

/// A plan for a correct run whose steps make a mistake.
fn mistaken(mut plan: Plan, bug: usize) -> Plan {
    const BUILD: [fn(&Blueprint) -> BuildResult; IN_RUNS.len()] =
        [build::<0>, build::<1>, build::<2>, build::<3>, build::<4>, build::<5>, build::<6>, build::<7>];
    plan.method = Box::leak(Box::new(Entry { build: BUILD[bug], ..*methods::find("dp-sgd").unwrap() }));
    plan
}

fn audit(plan: &Plan, dataset: &Dataset, runs: u64, seed: u64) -> Report {
    let settings = runs::Settings { runs, confidence: CONFIDENCE, seed, workers: 2 };
    runs::audit(plan, dataset, &settings, &AtomicBool::new(false), &|| {})
        .unwrap()
        .expect("nobody stopped it")
        .report
}

/// Whether many runs with one canary, or without it, refute that a step is a Gaussian mechanism of multiplier one.
fn caught_by_many_runs(bug: usize, runs: u64, seed: u64) -> bool {
    let dataset = dataset();
    let found = audit(&mistaken(plan(&dataset, &["noise_multiplier=1"]), bug), &dataset, runs, seed);
    found.measured > found.proved.unwrap()
}

/// Whether one run with many canaries refutes an epsilon of one.
fn caught_by_one_run(bug: usize, seed: u64) -> bool {
    let dataset = dataset();
    exceeds_one(&mistaken(plan(&dataset, &["epsilon=1"]), bug), &dataset, seed)
}

fn exceeds_one(plan: &Plan, dataset: &Dataset, seed: u64) -> bool {
    let canaries =
        Canaries::plant(dataset, usual_choice(200, seed), dataset.train().split().len() as u64).unwrap();
    let never = AtomicBool::new(false);
    let trained = train_in_memory(plan, canaries.training(), Key::from_seed(seed), &never, &|| {}).unwrap();
    let mut evaluator = Evaluator::new(plan.network.clone(), Some(1)).unwrap();
    let found = canaries.measure(&mut evaluator, &trained.unwrap(), plan.recipe.run.delta).unwrap();
    found.epsilon > 1.0
}

/// Whether many runs of four shuffled batches refute that they were Poisson samples: by the record that takes part for sure,
/// where a Poisson sample leaves it out of all four with probability 0.75⁴.
fn shuffling_caught_by_many_runs(shuffled: bool, runs: u64, seed: u64) -> bool {
    let dataset = dataset();
    let poisson = plan(
        &dataset,
        &["steps=4", "batch_size=100", "noise_multiplier=0.1", "delta=0.7", "learning_rate=10"],
    );
    let proved = Pld.epsilon(&poisson.total_cost().unwrap(), poisson.adjacency, 0.7).unwrap().epsilon;
    let mut used = poisson;
    if shuffled {
        used.recipe.training.sampler = SamplerChoice::Reshuffled;
    }
    audit(&used, &dataset, runs, seed).measured_without_assumptions > proved
}

/// The same, of one run with many canaries.
fn shuffling_caught_by_one_run(seed: u64) -> bool {
    let dataset = dataset();
    let mut plan = plan(&dataset, &["steps=4", "batch_size=100", "epsilon=1", "learning_rate=10"]);
    plan.recipe.training.sampler = SamplerChoice::Reshuffled;
    exceeds_one(&plan, &dataset, seed)
}

#[test]
fn many_runs_catch_what_moves_the_loss_of_a_canary() {
    for bug in [HALF_THE_NOISE, CLIPPED_AFTER_AVERAGING, FIXED_KEY] {
        assert!(caught_by_many_runs(bug, 1000, 1), "{}", IN_RUNS[bug].0);
    }
    assert!(shuffling_caught_by_many_runs(true, 200, 1));
}

/// Two of twenty seeds do, this one among them.
#[test]
fn one_run_catches_records_that_are_hardly_clipped() {
    assert!(caught_by_one_run(CLIPPED_AFTER_AVERAGING, 12));
}

/// A correct run is refuted with probability 0.05 at most, by the bound, in each of these audits.
#[test]
fn correct_runs_are_left_alone() {
    assert!((1..=3).all(|seed| !caught_by_many_runs(NONE, 200, seed)));
    assert!((1..=20).all(|seed| !caught_by_one_run(NONE, seed)));
    assert!(!shuffling_caught_by_many_runs(false, 200, 1));
}

/// Prints a table for docs/audit.md.
#[test]
#[ignore = "takes minutes; prints the power of each audit"]
fn detection_power() {
    println!("| planted bug | 200 runs | 1,000 runs | one run, 200 canaries |\n|---|---|---|---|");
    for (bug, (name, ..)) in IN_RUNS.iter().enumerate() {
        let many = |runs: u64| share(&|seed| caught_by_many_runs(bug, runs, seed));
        let one = share(&|seed| caught_by_one_run(bug, seed));
        println!("| {name} | {} | {} | {one} |", many(200), many(1000));
    }
    let shuffled = |runs: u64| share(&|seed| shuffling_caught_by_many_runs(true, runs, seed));
    println!(
        "| shuffled batches accounted as Poisson samples | {} | {} | {} |",
        shuffled(200),
        shuffled(1000),
        share(&shuffling_caught_by_one_run)
    );
}
