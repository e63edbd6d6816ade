//! What a method learns of all records before the first step is paid for, once.

mod points;

use muffle::ledger::Ledger;
use muffle::noise::Key;
use muffle::run::{Certificate, Preparation, Purse, RunFolder, Trainer, read_ledger};
use muffle::run::{resume, start};
use muffle::train::{DataShape, GradientTrainer, METHOD, Plan, Recipe, STEPS, Trained};
use muffle_accounting::pld::Pld;
use muffle_accounting::{Accountant, Event};
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

/// What was learned is in the state from step 0 on: nothing is paid twice, and with a seed not even if that is lost.
#[test]
fn a_preparation_survives_an_interruption() {
    let folder = tempfile::tempdir().unwrap();
    for (name, settings, lost) in [
        ("kept", &["noise_multiplier=1"][..], &[3][..]),
        ("seeded", &["noise_multiplier=1", "seed=4"], &[3, 0]),
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
        assert_eq!(model() == before, name == "seeded", "{name}");
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

fn ledger_purposes(purse: &Purse) -> Vec<&str> {
    purse.ledger.entries().iter().map(|entry| entry.purpose.as_str()).collect()
}
