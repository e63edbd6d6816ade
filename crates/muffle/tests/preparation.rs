//! What a method learns of all records, before the first step or between two, is paid for, once.

mod points;

use muffle::audit::replay;
use muffle::ledger::{Access, Ledger};
use muffle::noise::Key;
use muffle::relevance;
use muffle::run::{Certificate, Preparation, Purse, RunFolder, Trainer, read_ledger};
use muffle::run::{resume, start};
use muffle::train::{DataShape, GradientTrainer, METHOD, Plan, Recipe, STEPS, Trained};
use muffle_accounting::pld::Pld;
use muffle_accounting::{Accountant, Event};
use muffle_nn::relevance::Propagation;
use points::dataset;
use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;

fn plan(settings: &[&str]) -> Plan {
    let text = r#"
        data = "points"
        model = { layers = [{ type = "dense", features = 8 }, { type = "tanh" }, { type = "dense", features = 2 }] }
        method = "relevance-noise"
        steps = 3
        batch_size = 40
        learning_rate = 0.5
        clip = { kind = "flat", threshold = 1.0 }
        threads = 1
    "#;
    let settings: Vec<String> = settings.iter().map(ToString::to_string).collect();
    Plan::new(Recipe::parse("test", text, &settings).unwrap(), &DataShape::of(&dataset())).unwrap()
}

fn run(path: &Path, plan: &Plan) -> Certificate {
    start(path, plan, &dataset(), &AtomicBool::new(false), &mut |_| {}).unwrap().certificate
}

#[test]
fn the_certificate_holds_the_preparation_and_its_price() {
    let folder = tempfile::tempdir().unwrap();
    let plan = plan(&["epsilon=4"]);
    let certificate = run(&folder.path().join("sound"), &plan);
    let laplace = Event::laplace(10.0);
    assert_eq!(
        certificate.preparations,
        [Preparation { purpose: "method".to_string(), event: laplace.clone() }],
        "scale 1 over the default of 0.1"
    );
    let steps = Event::gaussian(plan.noise_multiplier).poisson_sampled(0.1).repeated(3);
    assert_eq!(certificate.events, Event::compose([laplace, steps.clone()]));
    let price = |event: &Event| Pld.epsilon(event, plan.adjacency, 1e-5).unwrap().epsilon;
    let proved = certificate.proved.epsilon.unwrap();
    assert!(proved <= 4.0 && proved > 3.9, "{proved}");
    assert!(price(&steps) < proved - 0.01, "the steps alone cost {}", price(&steps));
}

#[test]
fn the_published_form_pays_for_nothing_and_proves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let certificate = run(&folder.path().join("run"), &plan(&["epsilon=4", "mode=as-published"]));
    assert!(certificate.preparations.is_empty() && certificate.proved.epsilon.is_none());
    assert!(certificate.claimed.unwrap() > 0.0);
}

/// What was learned is in the state from then on: nothing is paid twice, and with a seed not even if that is lost.
#[test]
fn a_preparation_survives_an_interruption() {
    let folder = tempfile::tempdir().unwrap();
    let middle = "parameters.pretraining=0.5";
    for (name, settings, lost) in [
        ("kept", &["noise_multiplier=1"][..], &[3][..]),
        ("seeded", &["noise_multiplier=1", "seed=4"], &[3, 0]),
        ("kept in the middle", &["noise_multiplier=1", "steps=8", middle], &[8]),
        ("seeded in the middle", &["noise_multiplier=1", "steps=8", middle, "seed=4"], &[8, 4]),
    ] {
        let (path, plan) = (folder.path().join(name), plan(settings));
        run(&path, &plan);
        let model = || Trained::open(&path).unwrap().parameters;
        let before = model();
        for step in lost {
            fs::remove_file(path.join(format!("checkpoints/step-{step:010}.safetensors"))).unwrap();
        }
        let opened = RunFolder::open(&path).unwrap();
        resume(&opened, &plan, &dataset(), &AtomicBool::new(false), &mut |_| {}).unwrap();
        let ledger = read_ledger(&path).unwrap();
        let preparations = ledger.entries().iter().filter(|entry| entry.purpose == METHOD.name());
        assert_eq!(preparations.count(), 1, "{name}");
        assert_eq!(model() == before, name.starts_with("seeded"), "{name}");
    }
}

/// The numbers of `scale` are what the method has learned, whatever noise came to their gradients since, and are in the model.
#[test]
fn fixed_numbers_are_set_once_and_stand_still() {
    let folder = tempfile::tempdir().unwrap();
    let layers = "model={layers=[{type=\"scale\"},{type=\"dense\",features=2}]}";
    let scales = |name: &str, settings: &[&str]| {
        let path = folder.path().join(name);
        run(&path, &plan(&[&["noise_multiplier=1", "seed=4", layers][..], settings].concat()));
        Trained::open(&path).unwrap().parameters[..3].to_vec()
    };
    let found = scales("one", &["method=adlm", "steps=1"]);
    assert!(found.iter().all(|scale| *scale != 1.0), "{found:?}");
    let squares: f32 = found.iter().map(|scale| scale * scale).sum();
    assert!((squares - 3.0).abs() < 1e-5, "{found:?}");
    assert_eq!(scales("many", &["method=adlm", "steps=9", "moving_average=0.9"]), found);
    assert_eq!(scales("plain", &["method=dp-sgd", "steps=9"]), [1.0; 3]);
}

/// What γ makes of relevances is known when they are: the run ends, and says what they were like.
#[test]
fn a_distance_that_makes_no_regions_ends_the_run() {
    let folder = tempfile::tempdir().unwrap();
    for (gamma, part) in
        [("1e9", "makes one region of 3 features"), ("1e-9", "makes 3 regions of 3 features")]
    {
        let setting = format!("parameters.gamma={gamma}");
        let plan = plan(&["noise_multiplier=1", "seed=4", "method=afrrs", &setting]);
        let path = folder.path().join(gamma);
        let error = start(&path, &plan, &dataset(), &AtomicBool::new(false), &mut |_| {}).err().unwrap();
        assert!(error.to_string().contains(part), "{error}");
        assert_eq!(read_ledger(&path).unwrap().entries().len(), 1, "it is paid for");
    }
}

/// Components come before what the method learns: an interruption between the two loses neither.
#[test]
fn an_interruption_between_two_preparations_loses_neither() {
    let components = "principal_components={dimensions=2,noise_multiplier=4}";
    let plan = plan(&["noise_multiplier=1", "seed=4", components]);
    let trainer = || GradientTrainer::new(&plan, &dataset(), Key::from_seed(4)).unwrap();
    let next = |trainer: &GradientTrainer| trainer.upcoming(9)[0].purpose;
    let (mut first, mut purse) = (trainer(), Purse::new(Ledger::in_memory(), None).unwrap());
    assert_eq!(next(&first), muffle::principal_components::PURPOSE);
    assert!(purse.pay_and_do(&mut first, 1).unwrap().keep);
    assert_eq!(next(&first), METHOD);
    let mut second = trainer();
    second.restore(&first.state(), 0).unwrap();
    assert_eq!(next(&second), METHOD);
    assert!(purse.pay_and_do(&mut second, 1).unwrap().keep);
    assert_eq!(next(&second), STEPS);
    let mut third = trainer();
    third.restore(&second.state(), 0).unwrap();
    assert_eq!(next(&third), STEPS);
    assert_eq!(ledger_purposes(&purse), ["principal_components", "method"]);
}

/// Half of the steps are those of DP-SGD; relevance is then released at the weights that they have come to, and noise follows it.
#[test]
fn relevance_is_learned_of_weights_that_were_privately_trained() {
    let settings = ["noise_multiplier=1", "steps=8", "parameters.pretraining=0.5"];
    let (plan, key) = (plan(&settings), Key::from_seed(4));
    let plain = self::plan(&["noise_multiplier=1", "steps=8", "method=dp-sgd"]);
    let trainer = |plan: &Plan| GradientTrainer::new(plan, &dataset(), key.clone()).unwrap();
    let purse = || Purse::new(Ledger::in_memory(), None).unwrap();
    let (mut relevant, mut paid) = (trainer(&plan), purse());
    let (mut reference, mut spent) = (trainer(&plain), purse());
    assert!(!paid.pay_and_do(&mut relevant, 99).unwrap().keep);
    spent.pay_and_do(&mut reference, 4).unwrap();
    assert_eq!((relevant.step(), reference.step()), (4, 4), "no further than to the release");
    let distance = |one: &GradientTrainer, other: &GradientTrainer| {
        let pairs = one.result().iter().zip(other.result());
        pairs.map(|(one, other)| (one - other).abs()).fold(0.0, f32::max)
    };
    assert!(distance(&relevant, &reference) < 1e-5);

    // By hand: absolute relevances of unit length, summed at these weights, and noise of scale 10.
    let trained = relevant.state()["parameters"].clone();
    assert_eq!(relevant.upcoming(99)[0].purpose, METHOD);
    assert!(paid.pay_and_do(&mut relevant, 99).unwrap().keep);
    assert_eq!((relevant.step(), &relevant.state()["parameters"]), (4, &trained));
    let propagation = Propagation::new(plan.network.clone(), 0.01).unwrap();
    let sum = |parameters: &[f32]| {
        relevance::bounded(&propagation, parameters, &dataset().train(), relevance::Of::Neurons).unwrap()
    };
    let released = |parameters: &[f32]| {
        let receipt = Ledger::in_memory().pay_one(Access::all(METHOD, 0, Event::laplace(10.0))).unwrap();
        relevance::shares(&plan.mechanism(&key).answer(sum(parameters), 10.0, receipt).0, 0.1)
    };
    let shares = relevant.state()["method.shares"].clone();
    assert_eq!(shares, released(&trained));
    let first = trainer(&plan).state()["parameters"].clone();
    assert_ne!(shares, released(&first), "not at the first weights");

    paid.pay_and_do(&mut relevant, 99).unwrap();
    spent.pay_and_do(&mut reference, 4).unwrap();
    assert_eq!(relevant.step(), 8);
    assert!(distance(&relevant, &reference) > 1e-3, "noise follows relevance");
    assert_eq!(ledger_purposes(&paid), ["steps", "method", "steps"]);
    let price = |event: &Event| Pld.epsilon(event, plan.adjacency, 1e-5).unwrap().epsilon;
    let whole = price(&paid.ledger.total());
    assert!((whole - price(&plan.total_cost().unwrap())).abs() < 1e-9, "as planned");
    assert!(whole > price(&spent.ledger.total()) + 0.01, "the release is a part of it");
}

/// Wherever the release stands, the plan prices it; an epoch that is charged as a whole is not interrupted.
#[test]
fn the_place_of_a_release_follows_from_the_plan_alone() {
    let after = |settings: &[&str]| {
        let plan =
            plan(&[&["noise_multiplier=1", "steps=30", "parameters.pretraining=0.5"], settings].concat());
        plan.prepared_after(&*plan.build_method().unwrap(), &*plan.sampler(&Key::from_seed(0), 400))
    };
    assert_eq!(after(&[]), 15);
    assert_eq!(after(&["sampler=balls-and-bins"]), 10, "ten batches of 40 are an epoch");
    assert_eq!(after(&["parameters.pretraining=0"]), 0);
    assert_eq!(after(&["steps=1"]), 0);
    let noise = |share: &str| plan(&["epsilon=4", share]).noise_multiplier;
    assert_eq!(noise("parameters.pretraining=0"), noise("parameters.pretraining=0.5"));
}

/// A replay learns where the run does: until then it is DP-SGD's, and from then on releases keep their promise in other units, which
/// show where nothing is clipped.
#[test]
fn a_replay_goes_through_the_release() {
    let replayed = |settings: &[&str]| {
        let loose = ["noise_multiplier=1", "steps=8", "clip.threshold=100", "learning_rate=0.001"];
        let plan = plan(&[&loose, settings].concat());
        replay::run(&plan, &dataset(), 8, 3).unwrap()
    };
    let relevant = replayed(&["parameters.pretraining=0.5"]);
    assert!(relevant.iter().all(replay::Movement::holds), "{relevant:?}");
    let plain = replayed(&["method=dp-sgd"]);
    let alike = |step: usize| (relevant[step].moved / plain[step].moved - 1.0).abs() < 1e-3;
    assert!((0..4).all(alike) && !(4..8).any(alike), "{relevant:?}, {plain:?}");
}

fn ledger_purposes(purse: &Purse) -> Vec<&str> {
    purse.ledger.entries().iter().map(|entry| entry.purpose.as_str()).collect()
}
