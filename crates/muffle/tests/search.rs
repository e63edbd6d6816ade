//! A search for a network: what it finds, what it spends, and that nothing is free.

use muffle::Result;
use muffle::data::{Dataset, Records, Scaling, Split, Visibility};
use muffle::ledger::Ledger;
use muffle::run::Status;
use muffle::search::{Candidate, Found, Settings, Strategy, search};
use muffle::train::Recipe;
use muffle_accounting::pld::Pld;
use muffle_accounting::{Accountant, Event};
use muffle_nn::initialise::SplitMix;
use muffle_nn::{ModelDescription, Shape};
use std::cell::RefCell;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

const EPSILON: f64 = 2.0;
const SETTINGS: Settings = Settings {
    strategy: Strategy::Walk,
    candidates: 3,
    share: 0.25,
    reward_epsilon: 0.1,
    channels: [8, 8, 8],
};

fn images() -> Dataset {
    let mut generator = SplitMix::new(3);
    let mut split = |records: usize| {
        Split::classified(
            Records::Floats((0..records * 64).map(|_| generator.normal()).collect()),
            (0..records).map(|record| (record % 3) as u32).collect(),
        )
    };
    let classes = ["a", "b", "c"].map(String::from).to_vec();
    let (train, test) = (split(240), split(10));
    let (scaling, shape) = (Scaling::identity("none"), Shape::image(1, 8, 8));
    Dataset::new("images", shape, classes, scaling, Visibility::Public, train, test).unwrap()
}

fn recipe(settings: &[&str]) -> Recipe {
    let text = format!(
        "data = \"images\"\nmodel = \"cnn-small\"\nepsilon = {EPSILON}\nsteps = 4\nbatch_size = 30\nlearning_rate = 0.5\n\
         clip = {{ kind = \"flat\", threshold = 1 }}\nseed = 2\nthreads = 1"
    );
    let settings: Vec<String> = settings.iter().map(ToString::to_string).collect();
    Recipe::parse("test", &text, &settings).unwrap()
}

fn run(folder: &Path, settings: &Settings, recipe: &Recipe) -> Result<(Found, Vec<f64>)> {
    let mut seen = Vec::new();
    let mut observe = |candidate: &Candidate| seen.push(candidate.accuracy);
    let found = search(folder, recipe, settings, &images(), &AtomicBool::new(false), &mut observe)?;
    Ok((found, seen))
}

/// The ledger of a search.
fn ledger(folder: &Path) -> Ledger {
    let origin = std::fs::read_to_string(folder.join("search.toml")).unwrap();
    Ledger::read(&folder.join("ledger.jsonl"), &origin).unwrap()
}

/// Begins a search, stops it after so many candidates, and says what came of these.
fn stopped_after(folder: &Path, settings: &Settings, recipe: &Recipe, candidates: usize) -> Vec<f64> {
    let (stop, mut seen) = (AtomicBool::new(false), Vec::new());
    let mut observe = |candidate: &Candidate| {
        seen.push(candidate.accuracy);
        stop.store(seen.len() == candidates, Ordering::Relaxed);
    };
    let found = search(folder, recipe, settings, &images(), &stop, &mut observe).unwrap();
    assert_eq!(found.certificate.status, Status::Interrupted);
    seen
}

#[test]
fn a_search_spends_its_budget_and_leaves_a_network_and_a_certificate() {
    for strategy in Strategy::ALL {
        spends_its_budget(&Settings { strategy, ..SETTINGS });
    }
}

fn spends_its_budget(settings: &Settings) {
    let place = tempfile::tempdir().unwrap();
    let (found, seen) = run(place.path(), settings, &recipe(&[])).unwrap();
    assert_eq!(seen.len(), 3);
    assert_eq!(found.accuracy, seen.iter().copied().fold(f64::NEG_INFINITY, f64::max));
    // Three networks of four steps on 30 of 180 records, and three noisy counts.
    let ledger = ledger(place.path());
    let paid = |purpose: &str| {
        let entries = ledger.entries().iter().filter(|entry| entry.purpose == purpose);
        entries.map(|entry| entry.to - entry.from).sum::<u64>()
    };
    assert_eq!((paid("steps"), paid("validation")), (12, 3));
    assert_eq!(ledger.total(), found.certificate.events);
    let Event::Compose { events } = ledger.total() else { panic!("several charges") };
    assert_eq!(events.iter().filter(|event| **event == Event::laplace(10.0)).count(), 3);
    let price = Pld.epsilon(&ledger.total(), found.certificate.adjacency, 1e-5).unwrap().epsilon;
    assert!(price <= EPSILON && price > 0.95 * EPSILON, "{price}");
    assert!(found.certificate.epsilon_if_seed_is_secret().unwrap() <= EPSILON);
    assert_eq!(found.certificate.binding.ledger, ledger.head());
    assert_eq!(found.certificate.training["sampler"]["sample_rate"], 30.0 / 180.0);
    // What was found can be trained.
    let model = ModelDescription::read(&place.path().join("model.toml")).unwrap();
    assert_eq!(model, found.model);
    let network = model.network().unwrap();
    assert_eq!((network.input(), network.output()), (Shape::image(1, 8, 8), Shape::Vector(3)));
    // A folder is for one search, which is not run again; the same seed gives the same one.
    let other = Settings { candidates: 4, ..*settings };
    let message = run(place.path(), &other, &recipe(&[])).unwrap_err().to_string();
    assert!(message.contains("another folder"), "{message}");
    let (same, nothing) = run(place.path(), settings, &recipe(&[])).unwrap();
    assert_eq!((same.accuracy, nothing), (found.accuracy, Vec::new()));
    assert_eq!(self::ledger(place.path()).head(), ledger.head());
    let again = tempfile::tempdir().unwrap();
    assert_eq!(run(again.path(), settings, &recipe(&[])).unwrap().1, seen);
}

/// Stopped after one candidate and gone on with: the same candidates, rewards, network and price as without a stop.
#[test]
fn a_stopped_search_goes_on_with_the_same_bits() {
    for strategy in Strategy::ALL {
        let settings = Settings { strategy, candidates: 4, ..SETTINGS };
        let (whole, parts) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (found, seen) = run(whole.path(), &settings, &recipe(&[])).unwrap();
        let mut together = stopped_after(parts.path(), &settings, &recipe(&[]), 2);
        let (again, rest) = run(parts.path(), &settings, &recipe(&[])).unwrap();
        together.extend(rest);
        assert_eq!(together, seen, "{strategy:?}");
        let file = |folder: &Path, name: &str| std::fs::read(folder.join(name)).unwrap();
        for name in ["candidates.jsonl", "model.toml", "ledger.jsonl"] {
            assert!(file(whole.path(), name) == file(parts.path(), name), "{strategy:?}: {name}");
        }
        assert_eq!(again.certificate.events, found.certificate.events);
        assert_eq!(again.certificate.status, Status::Finished);
    }
}

/// Both strategies begin at random, and go on in their own ways.
#[test]
fn strategies_propose_other_cells() {
    let cells = |strategy: Strategy| {
        let place = tempfile::tempdir().unwrap();
        run(place.path(), &Settings { strategy, ..SETTINGS }, &recipe(&[])).unwrap();
        let text = std::fs::read_to_string(place.path().join("candidates.jsonl")).unwrap();
        let cell = |line: &str| -> Vec<u64> {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            line["cell"].as_array().unwrap().iter().map(|choice| choice.as_u64().unwrap()).collect()
        };
        text.lines().map(cell).collect::<Vec<_>>()
    };
    let differences =
        |one: &[u64], other: &[u64]| one.iter().zip(other).filter(|(one, other)| one != other).count();
    let walk = cells(Strategy::Walk);
    assert_eq!(differences(&walk[0], &walk[1]), 1);
    let drawn = cells(Strategy::Controller);
    assert!(differences(&drawn[0], &drawn[1]) > 3, "{drawn:?}");
}

/// A process that died in a candidate has paid for it: it is paid for again, and what the budget allows is less by that.
#[test]
fn what_was_lost_is_paid_for_and_shortens_the_search() {
    let (place, recipe) = (tempfile::tempdir().unwrap(), recipe(&["seed="]));
    let whole = Settings { candidates: 4, ..SETTINGS };
    stopped_after(place.path(), &whole, &recipe, 2);
    // As if the second candidate had not come to its end.
    let path = place.path().join("candidates.jsonl");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.lines().next().unwrap().to_string() + "\n").unwrap();
    let (found, seen) = run(place.path(), &whole, &recipe).unwrap();
    assert_eq!(seen.len(), 2, "of three that were left");
    let price = found.certificate.proved.epsilon.unwrap();
    assert!(price <= EPSILON && found.certificate.status == Status::Finished, "{price}");
    // A file that no search wrote.
    std::fs::write(&path, "{}\n").unwrap();
    let message = run(place.path(), &whole, &recipe).unwrap_err().to_string();
    assert!(message.contains("line 1 is no candidate"), "{message}");
}

#[test]
fn what_cannot_be_searched_is_refused_before_anything_is_spent() {
    for (settings, keys, part) in [
        (SETTINGS, &["epsilon=", "noise_multiplier=1"][..], "needs epsilon"),
        (SETTINGS, &["sampler=reshuffled"], "balls-and-bins"),
        (SETTINGS, &["private=false"], "private = true"),
        (SETTINGS, &["principal_components={dimensions=4,noise_multiplier=2}"], "without validation"),
        (Settings { candidates: 0, ..SETTINGS }, &[], "at least one candidate"),
        (Settings { share: 1.0, ..SETTINGS }, &[], "between 0 and 1"),
        (Settings { channels: [8, 12, 8], ..SETTINGS }, &[], "multiples of eight"),
        (Settings { reward_epsilon: 50.0, ..SETTINGS }, &[], "epsilon"),
    ] {
        let place = tempfile::tempdir().unwrap();
        let message = run(place.path(), &settings, &recipe(keys)).unwrap_err().to_string();
        assert!(message.contains(part), "{keys:?}: {message}");
        assert!(!place.path().join("ledger.jsonl").exists(), "{keys:?}");
    }
}

/// Whoever stops a search has seen its accuracies: the price is that of all candidates.
#[test]
fn a_stopped_search_costs_what_was_planned() {
    let place = tempfile::tempdir().unwrap();
    let stop = AtomicBool::new(true);
    let recipe = recipe(&["seed="]);
    let found = search(place.path(), &recipe, &SETTINGS, &images(), &stop, &mut |_| {}).unwrap();
    let certificate = found.certificate;
    assert_eq!((certificate.status, certificate.steps), (Status::Interrupted, 4));
    let epsilon = certificate.proved.epsilon.unwrap();
    assert!(epsilon <= EPSILON && epsilon > 0.95 * EPSILON, "{epsilon}");
    let blind = certificate.proved_if_stopped_without_looking.unwrap();
    assert!(blind.epsilon.unwrap() < 0.8 * EPSILON, "{blind:?}");
}

#[test]
fn two_searches_do_not_share_a_folder() {
    let place = tempfile::tempdir().unwrap();
    let other = RefCell::new(String::new());
    let mut observe = |_: &Candidate| {
        let refused = run(place.path(), &SETTINGS, &recipe(&[])).unwrap_err();
        *other.borrow_mut() = refused.to_string();
    };
    search(place.path(), &recipe(&[]), &SETTINGS, &images(), &AtomicBool::new(false), &mut observe).unwrap();
    assert!(other.borrow().contains("another process is at work in this folder"), "{other:?}");
}
