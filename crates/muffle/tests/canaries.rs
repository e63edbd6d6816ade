//! A control of the audits by canaries: they have to expose runs without privacy, and to leave sound ones alone.

use muffle::Result;
use muffle::audit::{Argument, Report, Verdict, runs};
use muffle::data::{Dataset, Records, Scaling, Split, Visibility};
use muffle::noise::{GaussianNoise, Key, Purpose, Stream};
use muffle::run::CanaryMeasurement;
use muffle::train::canaries::{Canaries, usual_choice};
use muffle::train::{DataShape, Evaluator, Plan, Recipe, train_in_memory};
use muffle_nn::Shape;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

const RECORDS: usize = 400;
const WIDTH: usize = 40;

/// Points in many dimensions, which a network can learn by heart one by one; the class is the sign of their first value.
fn dataset() -> Dataset {
    let mut values = vec![0.0; RECORDS * WIDTH];
    GaussianNoise::new(&Key::from_seed(7), Stream::new(Purpose::Data, 0)).fill(0, 1.0, &mut values);
    let labels = values.chunks(WIDTH).map(|record| u32::from(record[0] > 0.0)).collect();
    let split = Split::classified(Records::Floats(values), labels);
    let (classes, scaling) = (["low", "high"].map(String::from).to_vec(), Scaling::identity("as they are"));
    let visibility = Visibility::Public;
    Dataset::new("points", Shape::Vector(WIDTH), classes, scaling, visibility, split.clone(), split).unwrap()
}

fn plan(settings: &[&str]) -> Plan {
    let recipe = r#"
        data = "points"
        model = { layers = [{ type = "dense", features = 32 }, { type = "tanh" }, { type = "dense", features = 2 }] }
        steps = 200
        batch_size = 100
        learning_rate = 1
        clip = { kind = "flat", threshold = 1.0 }
        threads = 1
    "#;
    let settings: Vec<String> = settings.iter().map(ToString::to_string).collect();
    Plan::new(Recipe::parse("test", recipe, &settings).unwrap(), &DataShape::of(&dataset())).unwrap()
}

/// What the model of a recipe gives away of 100 canaries.
fn measured(setting: &str) -> CanaryMeasurement {
    let (dataset, plan) = (dataset(), plan(&[setting]));
    let canaries = Canaries::plant(&dataset, usual_choice(100, 1), RECORDS as u64).unwrap();
    let never = AtomicBool::new(false);
    let parameters =
        train_in_memory(&plan, canaries.training(), Key::from_seed(1), &never, &|| {}).unwrap().unwrap();
    let mut evaluator = Evaluator::new(plan.network.clone(), Some(1)).unwrap();
    canaries.measure(&mut evaluator, &parameters, plan.recipe.run.delta).unwrap()
}

/// A model that knows its records by heart gives all but one of twenty coins away.
#[test]
fn a_run_without_privacy_is_exposed() {
    let found = measured("private=false");
    assert_eq!((found.guesses, found.correct), (20, 19));
    assert!(found.epsilon > 1.2, "{found:?}");
    assert_eq!(Verdict::of(Some(1.0), None, found.epsilon), Verdict::Violated);
    assert_eq!(Verdict::of(None, Some(1.0), found.epsilon), Verdict::Violated);
    assert_eq!(Verdict::of(None, None, found.epsilon), Verdict::NothingClaimed);
}

/// A correct bound exceeds the truth in one of twenty audits at most, and with this seed does not.
#[test]
fn a_sound_run_with_a_small_epsilon_is_not() {
    let found = measured("epsilon=0.5");
    assert_eq!(Verdict::of(None, Some(0.5), found.epsilon), Verdict::NoContradictionFound, "{found:?}");
}

/// What 24 models, trained for 100 steps each, give away of one canary: two of each world choose the test, ten count.
fn measured_in_many(settings: &[&str]) -> Result<Report> {
    let (plan, never, steps) = (plan(settings), AtomicBool::new(false), AtomicU64::new(0));
    let settings = runs::Settings { runs: 24, confidence: 0.95, seed: 1, workers: 2 };
    let count = || {
        steps.fetch_add(1, Ordering::Relaxed);
    };
    let found = runs::audit(&plan, &dataset(), &settings, &never, &count)?.expect("nobody stopped it");
    assert_eq!(steps.into_inner(), 24 * plan.steps);
    Ok(found.report)
}

/// Ten of ten in both worlds bound both errors by 1 − 0.025^(1/10) = 0.3085, and epsilon by ln(0.6915/0.3085) = 0.807.
#[test]
fn many_runs_without_privacy_are_exposed() {
    for sampler in ["poisson", "fixed-size"] {
        let found = measured_in_many(&["private=false", "steps=100", &format!("sampler={sampler}")]).unwrap();
        assert_eq!((found.true_positives, found.false_positives, found.trials), (10, 0, 10), "{found:?}");
        assert!((found.measured - 0.807).abs() < 1e-3, "{found:?}");
        assert_eq!((found.verdict, found.proved), (Verdict::NothingClaimed, None));
        assert_eq!(Verdict::of(Some(0.5), None, found.measured), Verdict::Violated);
    }
}

/// A correct bound exceeds the truth in one of twenty audits at most, and with this seed does not.
#[test]
fn many_sound_runs_do_not_exceed_their_proof() {
    let found = measured_in_many(&["epsilon=0.5", "steps=100"]).unwrap();
    assert_eq!((found.verdict, found.argument), (Verdict::NoContradictionFound, Argument::NoiseFactor));
    let proved = found.proved.unwrap();
    assert!(proved <= 0.5 && found.measured <= proved, "{found:?}");
    // Where little is promised, the events of the run show more than errors alone can.
    let weak = measured_in_many(&["epsilon=200", "steps=100", "learning_rate=4"]).unwrap();
    assert_eq!(weak.verdict, Verdict::NoContradictionFound);
    assert!(
        weak.measured > weak.measured_without_assumptions && weak.measured_without_assumptions > 0.5,
        "{weak:?}"
    );
}

#[test]
fn what_many_runs_cannot_show_is_refused() {
    let refused = measured_in_many(&["private=false", "steps=1", "sampler=reshuffled"]).unwrap_err();
    assert!(refused.to_string().contains("adjacency = \"replace_one\""), "{refused}");
    let (plan, stopped) = (plan(&["private=false", "steps=1"]), AtomicBool::new(true));
    let audit = |runs: u64| {
        let settings = runs::Settings { runs, confidence: 0.95, seed: 1, workers: 1 };
        runs::audit(&plan, &dataset(), &settings, &stopped, &|| {})
    };
    for few in [0, 14, 17] {
        let refused = audit(few).unwrap_err().to_string();
        assert!(refused.contains("unless there are 16 of them"), "{refused}");
    }
    assert_eq!(audit(16).unwrap(), None, "stopped before anything was measured");
}
