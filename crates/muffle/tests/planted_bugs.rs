//! Mistakes that private training is known for, planted one by one: an audit has to catch each, and to leave the correct step
//! alone.
//!
//! `cargo test -p muffle --test planted_bugs -- --ignored --nocapture` prints how often it does.

mod mistakes;

use mistakes::{BUGS, Bug, CORRECT, Mistaken, share};
use muffle::Result;
use muffle::audit::replay::Replay;
use muffle::audit::step::{Case, Settings, search};
use muffle::audit::{Game, Neighbours, Objective, Planted, PlantedRecord, Subject, attack, neighbours};
use muffle::clip::Flat;
use muffle::ledger::{Access, Ledger};
use muffle::mechanism::{Gradients, Mechanism, Rule};
use muffle::methods::Mode;
use muffle::noise::Key;
use muffle::sampler::{Poisson, Reshuffled, Sampler};
use muffle::train::STEPS;
use muffle_accounting::{Accountant, Adjacency, Event, pld::Pld};
use muffle_nn::{Engine, Loss, Options, Purpose};
use std::ops::Range;

const WIDTH: usize = 500;
/// Noise multiplier of all steps; the threshold is one.
const NOISE: f64 = 1.0;
const CONFIDENCE: f64 = 0.95;

fn settings(trials: u64, seed: u64) -> Settings {
    Settings {
        method: "dp-sgd".to_string(),
        mode: Mode::Sound,
        noise_multiplier: NOISE,
        width: WIDTH,
        settings: Vec::new(),
        trials,
        seed,
        confidence: CONFIDENCE,
        delta: 1e-5,
    }
}

/// A correct step with the bug put in.
fn subject<'a>(case: &'a Case, bug: &'a Bug) -> Subject<'a> {
    let (_, body, shared) = *bug;
    Subject {
        method: Box::new(move || Ok(Box::new(Mistaken(body)))),
        mechanism: Box::new(|key| Mechanism::new(key.clone(), 1.0)),
        number: if shared { |_| 0 } else { |step| step },
        ..Subject::of(&case.plan, Planted::new(WIDTH).parameters(&case.plan.network))
    }
}

/// Whether an audit of the step refutes that it is a Gaussian mechanism of its multiplier.
fn caught_by_plays(bug: &Bug, trials: u64, seed: u64) -> bool {
    let settings = settings(trials, seed);
    let case = Case::new(&settings).unwrap();
    let found = search(&subject(&case, bug), &Planted::new(WIDTH), true, &settings).unwrap();
    found.detections.mu(CONFIDENCE) > 1.0 / NOISE
}

/// Whether a release moves too far on some pair when it is replayed.
fn caught_by_replay(bug: &Bug, seed: u64) -> bool {
    let case = Case::new(&settings(1, seed)).unwrap();
    let moves = |pair: &Neighbours| {
        let mut replay = Replay::new(subject(&case, bug), seed).unwrap();
        let (with, without) = &pair.steps[0];
        !replay.movement(with, without).unwrap().holds()
    };
    neighbours(&Planted::new(WIDTH), Adjacency::AddRemove).iter().any(moves)
}

/// An epoch with hardly any noise, in which the attacker sees every release.
struct Epoch<'a> {
    case: &'a Case,
    engine: Engine,
    shuffled: bool,
}

const BATCHES: usize = 4;
const RECORDS: usize = 12;

impl Epoch<'_> {
    fn new(case: &Case, shuffled: bool) -> Epoch<'_> {
        let engine = Engine::new(case.plan.network.clone(), Options::new(Purpose::PerExample)).unwrap();
        Epoch { case, engine, shuffled }
    }
}

impl Game for Epoch<'_> {
    fn name(&self) -> &str {
        "a large record in an epoch"
    }

    fn play(&mut self, present: bool, seed: u64) -> Result<Vec<f32>> {
        let (key, planted) = (Key::from_seed(seed), Planted::new(WIDTH));
        let records = RECORDS + usize::from(present);
        let mut sampler: Box<dyn Sampler> = match self.shuffled {
            true => Box::new(Reshuffled::new(&key, records, BATCHES)),
            false => Box::new(Poisson::new(&key, records, 1.0 / BATCHES as f64)),
        };
        let parameters = planted.parameters(&self.case.plan.network);
        let mechanism = Mechanism::new(key, 1.0);
        let mut seen = Vec::new();
        for step in 0..BATCHES as u64 {
            let value =
                |record: usize| PlantedRecord::with_gradient(if record == RECORDS { 1e3 } else { 0.0 });
            let batch = planted.batch(&sampler.draw(step).into_iter().map(value).collect::<Vec<_>>());
            let (engine, loss) = (&mut self.engine, Loss::SoftmaxCrossEntropy);
            let gradients = Gradients { engine, parameters: &parameters, examples: &batch, loss, seed: 0 };
            let (bounded, _) = gradients.bounded(Rule::Norms(&Flat::new(1.0)))?;
            let access = Access::all(STEPS, step, Event::gaussian(0.01));
            let receipt = Ledger::in_memory().pay_one(access)?;
            seen.extend_from_slice(mechanism.release(bounded, 0.01, receipt).gradient());
        }
        Ok(seen)
    }

    fn parts(&self) -> Vec<Range<usize>> {
        Vec::new()
    }
}

/// However little noise there is, a Poisson sample leaves a record out of all four steps with probability 0.75⁴, so that
/// epsilon is zero at δ = 0.7. A shuffled epoch leaves nobody out.
fn caught_by_participation(shuffled: bool, trials: u64, seed: u64) -> bool {
    let delta = 0.7;
    let accounted = Event::gaussian(0.01).poisson_sampled(1.0 / BATCHES as f64).repeated(BATCHES as u64);
    let proved = Pld.epsilon(&accounted, Adjacency::AddRemove, delta).unwrap().epsilon;
    let case = Case::new(&settings(1, seed)).unwrap();
    let mut games: Vec<Box<dyn Game>> = vec![Box::new(Epoch::new(&case, shuffled))];
    let found = attack(&mut games, Objective::Epsilon { delta }, CONFIDENCE, trials, seed).unwrap();
    found.detections.epsilon(delta, CONFIDENCE) > proved
}

#[test]
fn every_planted_bug_is_caught() {
    for bug in &BUGS {
        assert!(caught_by_plays(bug, 1500, 1), "{}", bug.0);
    }
    assert!(caught_by_participation(true, 300, 1), "shuffled batches accounted as Poisson samples");
}

/// A correct step is refuted with probability 0.05 at most, by the bound; in fact far less often, since two errors have to
/// lie at the ends of their intervals together.
#[test]
fn the_correct_step_is_left_alone() {
    assert!((1..=5).all(|seed| !caught_by_plays(&CORRECT, 1500, seed)));
    assert!(!caught_by_participation(false, 300, 1));
}

/// A replay sees every step by itself: what two steps share is beyond it.
#[test]
fn a_replay_catches_what_one_step_shows() {
    assert!(!caught_by_replay(&CORRECT, 1));
    for bug in &BUGS {
        assert_eq!(caught_by_replay(bug, 1), !bug.2, "{}", bug.0);
    }
}

/// Prints a table for docs/audit.md.
#[test]
#[ignore = "takes minutes; prints the power of each audit"]
fn detection_power() {
    println!("| planted bug | 300 plays | 1,500 plays | replay |\n|---|---|---|---|");
    for bug in BUGS.iter().chain([&CORRECT]) {
        let plays = |trials: u64| share(&|seed| caught_by_plays(bug, trials, seed));
        let replay = share(&|seed| caught_by_replay(bug, seed));
        println!("| {} | {} | {} | {replay} |", bug.0, plays(300), plays(1500));
    }
    let epoch = |trials: u64| share(&|seed| caught_by_participation(true, trials, seed));
    println!("| shuffled batches accounted as Poisson samples | {} | {} | - |", epoch(300), epoch(1500));
}
