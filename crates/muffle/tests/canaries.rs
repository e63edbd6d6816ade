//! A control of the audit by canaries: it has to expose a run without privacy, and to leave a sound one alone.

use muffle::audit::Verdict;
use muffle::data::{Dataset, Records, Scaling, Split, Visibility};
use muffle::noise::{GaussianNoise, Key, Purpose, Stream};
use muffle::train::canaries::{Canaries, CanaryMeasurement, usual_choice};
use muffle::train::{DataShape, Evaluator, Plan, Recipe, train_in_memory};
use muffle_nn::Shape;
use std::sync::atomic::AtomicBool;

const RECORDS: usize = 400;
const WIDTH: usize = 40;

/// Points in many dimensions, which a network can learn by heart one by one; the class is the sign of their first value.
fn dataset() -> Dataset {
    let mut values = vec![0.0; RECORDS * WIDTH];
    GaussianNoise::new(&Key::from_seed(7), Stream::new(Purpose::Data, 0)).fill(0, 1.0, &mut values);
    let labels = values.chunks(WIDTH).map(|record| u32::from(record[0] > 0.0)).collect();
    let split = Split { records: Records::Floats(values), labels };
    let (classes, scaling) = (["low", "high"].map(String::from).to_vec(), Scaling::identity("as they are"));
    let visibility = Visibility::Public;
    Dataset::new("points", Shape::Vector(WIDTH), classes, scaling, visibility, split.clone(), split).unwrap()
}

/// What the model of a recipe gives away of 100 canaries, and the most that its run may.
fn measured(setting: &str) -> CanaryMeasurement {
    let recipe = r#"
        data = "points"
        model = { layers = [{ type = "dense", features = 32 }, { type = "tanh" }, { type = "dense", features = 2 }] }
        steps = 200
        batch_size = 100
        learning_rate = 1
        clip = { kind = "flat", threshold = 1.0 }
        threads = 1
    "#;
    let dataset = dataset();
    let recipe = Recipe::parse("test", recipe, &[setting.to_string()]).unwrap();
    let plan = Plan::new(recipe, &DataShape::of(&dataset)).unwrap();
    let canaries = Canaries::plant(&dataset, usual_choice(100, 1)).unwrap();
    let never = AtomicBool::new(false);
    let parameters =
        train_in_memory(&plan, canaries.training(), Key::from_seed(1), &never, &|| {}).unwrap().unwrap();
    let mut evaluator = Evaluator::new(plan.network.clone(), Some(1)).unwrap();
    canaries.measure(&mut evaluator, &parameters, plan.recipe.delta).unwrap()
}

/// A model that knows its records by heart gives all coins away, as far as twenty guesses can show.
#[test]
fn a_run_without_privacy_is_exposed() {
    let found = measured("private=false");
    assert_eq!((found.guesses, found.correct), (20, 20));
    assert!(found.epsilon > 1.7, "{found:?}");
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
