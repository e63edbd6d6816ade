//! Class weights that are counted and a threshold that is chosen: paid for, kept, and known to the model.

mod points;

use muffle::ledger::Ledger;
use muffle::noise::Key;
use muffle::run::{Certificate, Preparation, Purse, RunFolder, Trainer, read_ledger};
use muffle::run::{resume, start};
use muffle::train::evaluation::Decision;
use muffle::train::{
    CLASS_SHARES, DataShape, Evaluation, Evaluator, GradientTrainer, Plan, Recipe, STEPS, THRESHOLD, Trained,
};
use muffle_accounting::Event;
use points::dataset;
use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;

const COUNTED: [&str; 2] = ["class_weights=balanced", "class_shares={epsilon=0.5}"];
const HELD_OUT: &str = "threshold={goal={recall=0.9},records={kind=\"held-out\",share=0.25,epsilon=2.0}}";
const PUBLIC: &str = "threshold={goal=\"f1\",records={kind=\"public-test\"}}";

fn planned(settings: &[&str]) -> muffle::Result<Plan> {
    let text = r#"
        data = "points"
        model = { layers = [{ type = "dense", features = 2 }] }
        steps = 3
        batch_size = 40
        learning_rate = 0.5
        clip = { kind = "flat", threshold = 1.0 }
        threads = 1
    "#;
    let settings: Vec<String> = settings.iter().map(ToString::to_string).collect();
    Plan::new(Recipe::parse("test", text, &settings)?, &DataShape::of(&dataset()))
}

fn plan(settings: &[&str]) -> Plan {
    planned(settings).unwrap()
}

fn run(path: &Path, plan: &Plan) -> (Certificate, Evaluation) {
    let summary = start(path, plan, &dataset(), &AtomicBool::new(false), &mut |_| {}).unwrap();
    (summary.certificate, Evaluation::of(&summary.measured))
}

/// The test split as the opened model sees it.
fn evaluated(path: &Path) -> (Decision, Evaluation) {
    let trained = Trained::open(path).unwrap();
    let mut evaluator = Evaluator::new(trained.network, Some(1)).unwrap().deciding(trained.decision);
    (trained.decision, evaluator.evaluate(&trained.parameters, &dataset().test()).unwrap())
}

fn purposes(ledger: &Ledger) -> Vec<&str> {
    ledger.entries().iter().map(|entry| entry.purpose.as_str()).collect()
}

#[test]
fn both_are_in_the_ledger_in_the_price_and_in_the_model() {
    let folder = tempfile::tempdir().unwrap();
    let (path, plan) = (folder.path().join("run"), plan(&[&COUNTED[..], &["epsilon=4", HELD_OUT]].concat()));
    let (certificate, measured) = run(&path, &plan);
    let count = Preparation { purpose: "class_shares".to_string(), event: Event::laplace(2.0) };
    assert_eq!(certificate.preparations, [count]);
    // A quarter of 400 records is not trained on.
    let steps = Event::gaussian(plan.noise_multiplier).poisson_sampled(40.0 / 300.0).repeated(3);
    assert_eq!(certificate.events, Event::compose([Event::laplace(2.0), steps, Event::laplace(0.5)]));
    let proved = certificate.proved.epsilon.unwrap();
    assert!(proved <= 4.0 && proved > 3.9, "{proved}");
    let ledger = read_ledger(&path).unwrap();
    let names = purposes(&ledger);
    assert_eq!((names[0], names[names.len() - 1]), (CLASS_SHARES.name(), THRESHOLD.name()));
    let (decision, found) = evaluated(&path);
    assert!(decision.threshold().is_some_and(|threshold| threshold > 0.0 && threshold < 1.0));
    assert_eq!(found, measured, "what was measured at the end is what the model does");
    assert!(
        certificate.training.contains_key("threshold") && certificate.training.contains_key("class_weights")
    );
}

/// After an interruption nothing is counted twice; a threshold that was lost is paid again only where the budget allows.
#[test]
fn an_interruption_never_exceeds_the_budget() {
    let folder = tempfile::tempdir().unwrap();
    let settings = [&COUNTED[..], &["epsilon=4", HELD_OUT]].concat();
    for (name, more, lost) in [("kept", None, 0), ("lost", None, 3), ("seeded", Some("seed=4"), 3)] {
        let settings: Vec<&str> = settings.iter().copied().chain(more).collect();
        let (path, plan) = (folder.path().join(name), plan(&settings));
        let (_, before) = run(&path, &plan);
        if lost > 0 {
            fs::remove_file(path.join(format!("checkpoints/step-{lost:010}.safetensors"))).unwrap();
        }
        let opened = RunFolder::open(&path).unwrap();
        let again = resume(&opened, &plan, &dataset(), &AtomicBool::new(false), &mut |_| {}).unwrap();
        let (decision, found) = evaluated(&path);
        let count =
            |name: &str| purposes(&read_ledger(&path).unwrap()).iter().filter(|it| **it == name).count();
        assert_eq!((count(CLASS_SHARES.name()), count(THRESHOLD.name())), (1, 1), "{name}");
        match name {
            // All of the budget is spent, so neither the steps nor the threshold are repeated.
            "lost" => assert_eq!((decision, again.steps), (Decision::default(), 0)),
            _ => assert_eq!(found, before, "{name}"),
        }
        let price = again.certificate.conditional_epsilon().unwrap();
        assert!(price <= 4.0, "{name}: {price}");
    }
}

#[test]
fn a_saved_state_knows_what_was_chosen() {
    let plan = plan(&[&COUNTED[..], &["noise_multiplier=1", HELD_OUT]].concat());
    let trainer = || GradientTrainer::new(&plan, &dataset(), Key::from_seed(4)).unwrap();
    let (mut first, mut purse) = (trainer(), Purse::new(Ledger::in_memory(), None).unwrap());
    assert_eq!(first.upcoming(9)[0].purpose, CLASS_SHARES);
    assert!(purse.pay_and_do(&mut first, 1).unwrap().keep);
    let mut second = trainer();
    second.restore(&first.state(), 0).unwrap();
    assert_eq!(second.upcoming(9)[0].purpose, STEPS);
    purse.pay_and_do(&mut second, 9).unwrap();
    assert_eq!(second.closing().unwrap().purpose, THRESHOLD);
    purse.pay_and_close(&mut second, true).unwrap();
    assert_eq!(second.closing(), None);
    let mut third = trainer();
    third.restore(&second.state(), 3).unwrap();
    assert_eq!((third.closing(), third.state()), (None, second.state()));
    assert_eq!(purposes(&purse.ledger).last(), Some(&"threshold"));
}

#[test]
fn numbers_and_public_records_cost_nothing() {
    let folder = tempfile::tempdir().unwrap();
    for (name, settings, threshold) in [
        ("number", &["threshold=0.3", "class_weights=[1.0, 2.5]"][..], Some(0.3)),
        ("public", &[PUBLIC, "class_weights=balanced", "class_shares=[0.75, 0.25]"], None),
    ] {
        let path = folder.path().join(name);
        let (certificate, measured) = run(&path, &plan(&[settings, &["noise_multiplier=1"]].concat()));
        let steps = Event::gaussian(1.0).poisson_sampled(0.1).repeated(3);
        assert_eq!(certificate.events, Event::compose([steps]), "{name}");
        let (decision, found) = evaluated(&path);
        assert_eq!(found, measured, "{name}");
        assert!(
            decision.threshold().is_some() && threshold.is_none_or(|it| decision.threshold() == Some(it))
        );
    }
    // Weights change what is learned.
    let weights = |settings: &[&str]| {
        let path = folder.path().join(settings.len().to_string());
        run(&path, &plan(&[settings, &["noise_multiplier=1", "seed=3"]].concat()));
        Trained::open(&path).unwrap().parameters
    };
    assert_ne!(weights(&[]), weights(&["class_weights=[0.1, 9.0]"]));
}

#[test]
fn what_cannot_be_is_refused_while_it_is_free() {
    let filtered = "validation={records={kind=\"held-out\",share=0.25,epsilon=0.1},period=2,checks=1,gain=0.01,factor=0.7}";
    let other = filtered.replace("0.25", "0.5");
    for (settings, part) in [
        (&["class_weights=[1.0, 2.0, 3.0]"][..], "class_weights has 3 numbers, and there are 2 classes"),
        (&["class_weights=balanced"], "class_shares is missing"),
        (&["class_weights=heavy"], "class_weights is \"balanced\" or a list"),
        (&["class_weights=balanced", "class_shares=[1.0]"], "class_shares has 1 numbers"),
        (&["threshold=2.0"], "threshold = 2 is outside (0, 1)"),
        (&["threshold={goal=\"f1\"}"], "threshold.records is missing"),
        (&["threshold=high"], "threshold is a number between 0 and 1"),
        (&["epsilon=4", filtered, HELD_OUT], "spends the whole budget on steps"),
        (&["epsilon=4", &other, HELD_OUT], "both need the same share"),
        (&[HELD_OUT, "sampler=fixed-size"], "threshold.records.kind = \"held-out\": a sample of fixed size"),
    ] {
        let settings = [settings, &["noise_multiplier=1"]].concat();
        let message = planned(&settings).err().map_or(String::new(), |error| error.to_string());
        assert!(message.contains(part), "{settings:?}: {message}");
    }
}
