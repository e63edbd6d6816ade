//! Training without a folder ends at the model of the run with the same key.

mod points;

use muffle::noise::Key;
use muffle::run::start;
use muffle::train::{DataShape, Plan, Recipe, Trained, train_in_memory};
use points::dataset;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

fn plan(settings: &[&str]) -> Plan {
    let text = r#"
        data = "points"
        model = { layers = [{ type = "dense", features = 8 }, { type = "tanh" }, { type = "dense", features = 2 }] }
        epsilon = 4
        steps = 25
        batch_size = 40
        learning_rate = 0.5
        clip = { kind = "flat", threshold = 1.0 }
        threads = 1
        seed = 11
    "#;
    let settings: Vec<String> = settings.iter().map(ToString::to_string).collect();
    Plan::new(Recipe::parse("test", text, &settings).unwrap(), &DataShape::of(&dataset())).unwrap()
}

#[test]
fn the_model_is_that_of_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let never = AtomicBool::new(false);
    for (number, settings) in [
        &[][..],
        &["private=false"],
        &["method=relevance-noise", "moving_average=0.5"],
        // Noise that follows the run, which a filter ends.
        &["method=adpsgd", "parameters={gradients=1}", "epsilon=1", "steps=2000", "noise_multiplier=3"],
    ]
    .iter()
    .enumerate()
    {
        let (plan, path) = (plan(settings), folder.path().join(number.to_string()));
        let summary = start(&path, &plan, &dataset(), &never, &mut |_| {}).unwrap();
        let steps = AtomicU64::new(0);
        let count = || {
            steps.fetch_add(1, Ordering::Relaxed);
        };
        let found = train_in_memory(&plan, &dataset(), Key::from_seed(11), &never, &count).unwrap();
        assert!(found.unwrap() == Trained::open(&path).unwrap().parameters, "{settings:?}");
        assert_eq!(steps.into_inner(), summary.steps, "{settings:?}");
    }
}

/// Masks belong to a record, not to its place in a batch: the check of the network before the first step finds nothing.
#[test]
fn networks_with_dropout_are_trained() {
    const DROPPING: &str = "model={layers=[{type=\"dense\",features=8},{type=\"tanh\"},{type=\"dropout\",rate=0.5},\
                            {type=\"dense\",features=2}]}";
    let (folder, never) = (tempfile::tempdir().unwrap(), AtomicBool::new(false));
    for (number, private) in ["private=true", "private=false"].iter().enumerate() {
        let (plan, path) = (plan(&[DROPPING, private]), folder.path().join(number.to_string()));
        let summary = start(&path, &plan, &dataset(), &never, &mut |_| {}).unwrap();
        assert_eq!(summary.steps, 25, "{private}");
    }
}

#[test]
fn a_stop_leaves_no_model() {
    let stop = AtomicBool::new(false);
    let found = train_in_memory(&plan(&[]), &dataset(), Key::from_seed(1), &stop, &|| {
        stop.store(true, Ordering::Relaxed);
    });
    assert_eq!(found.unwrap(), None);
}
