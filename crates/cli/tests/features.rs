//! Training on fixed features: made once, kept, and part of the model.

mod common;

use common::{Project, last_json};
use muffle::data::Search;
use muffle::kinds;
use muffle::run::start;
use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

const RECIPE: &str = r#"
    data = "mnist"
    subset = 600
    test_subset = 300
    features = { kind = "scattering", groups = 9 }
    model = { layers = [{ type = "flatten" }, { type = "dense", features = 10 }] }
    epsilon = 50
    steps = 60
    batch_size = 300
    learning_rate = 4
    clip = { kind = "flat", threshold = 0.1 }
    optimizer = { kind = "sgd", momentum = 0.9 }
    threads = 1
    seed = 1
"#;

fn project() -> Project {
    let project = Project::new();
    fs::write(project.path("digits.toml"), RECIPE).unwrap();
    project
}

/// Trains into a folder, with features kept in `cache`.
fn train(project: &Project, output: &str) -> Value {
    let mut command = project.command(&["train", "digits.toml", "--quiet", "--json", "--output", output]);
    let output = command.env("MUFFLE_CACHE", project.path("cache")).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    last_json(&output)
}

fn kept(project: &Project) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> =
        fs::read_dir(project.path("cache")).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

#[test]
fn a_model_of_features_takes_records_as_they_are() {
    let project = project();
    let trained = train(&project, "run");
    let accuracy = trained["test_accuracy"].as_f64().unwrap();
    assert!(accuracy > 0.8, "{accuracy}");
    let certificate: Value =
        serde_json::from_slice(&fs::read(project.path("run/privacy.json")).unwrap()).unwrap();
    assert_eq!(certificate["features"]["kind"], "scattering");
    let evaluated = project.muffle(&["evaluate", "run", "--json"]);
    assert!(evaluated.status.success(), "{evaluated:?}");
    let evaluated = last_json(&evaluated)["accuracy"].as_f64().unwrap();
    // In training features have half precision: a record or two on the edge may change sides.
    assert!((evaluated - accuracy).abs() < 0.01, "{evaluated} {accuracy}");
}

#[test]
fn features_are_kept_and_damaged_ones_are_made_anew() {
    let project = project();
    let weights = |run: &str| {
        let file = fs::read(project.path(run).join("model.safetensors")).unwrap();
        let header = u64::from_le_bytes(*file.first_chunk().unwrap()) as usize;
        file[8 + header..].to_vec()
    };
    train(&project, "first");
    let [test, training] = &kept(&project)[..] else { panic!("two splits") };
    let whole = fs::read(training).unwrap();
    // What is kept is used: other features, another model.
    let ones: Vec<u8> = whole.chunks_exact(2).flat_map(|_| [0x00, 0x3c]).collect();
    fs::write(training, ones).unwrap();
    train(&project, "other");
    assert!(weights("other") != weights("first"));
    fs::write(training, &whole[..whole.len() - 2]).unwrap();
    fs::write(test, &fs::read(test).unwrap()[..100]).unwrap();
    train(&project, "again");
    assert!(weights("again") == weights("first"));
    assert!(fs::read(training).unwrap() == whole);
}

/// Views of a record are looked at together, on features that were made of each before.
#[test]
fn a_model_learns_from_features_of_views() {
    let project = project();
    let views = "augmentation={views=3,shift=1}";
    let mut command =
        project.command(&["train", "digits.toml", "--quiet", "--json", "--output", "views", "--set", views]);
    let output = command.env("MUFFLE_CACHE", project.path("cache")).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let accuracy = last_json(&output)["test_accuracy"].as_f64().unwrap();
    assert!(accuracy > 0.8, "{accuracy}");
    assert_eq!(kept(&project).len(), 4, "two splits and two views");
}

/// A stop while features are made leaves a run that goes on.
#[test]
fn a_run_can_be_stopped_before_its_first_step() {
    let project = project();
    let parts = kinds::find(project.path("digits.toml").to_str().unwrap(), None, &[]).unwrap();
    let (job, dataset) = kinds::prepare(&parts, &Search::new(None)).unwrap();
    let mut made = 0;
    let stop = AtomicBool::new(true);
    let stopped = start(&project.path("run"), &*job, &dataset, &stop, &mut |progress| {
        made += progress.readiness.map_or(0, |readiness| readiness.done);
    });
    assert!(matches!(stopped, Err(muffle::Error::Interrupted { .. })) && made == 0);
    assert!(!project.path("run/privacy.json").exists(), "nothing was spent");
    let mut resumed = project.command(&["train", "--resume", "run", "--json"]);
    let resumed = resumed.env("MUFFLE_CACHE", project.path("cache")).output().unwrap();
    assert!(resumed.status.success(), "{resumed:?}");
    let lines = String::from_utf8_lossy(&resumed.stdout);
    assert!(lines.contains(r#""making":"features""#), "{lines}");
    assert_eq!(last_json(&resumed)["test_accuracy"], train(&project, "other")["test_accuracy"]);
}

#[test]
fn what_does_not_go_with_features_is_said() {
    let project = project();
    for (setting, part) in [
        ("augmentation.views=2", "augmentation.views = 2"),
        ("augmentation={views=1,shift=1}", "set views to 2 or more"),
        ("augmentation={views=3,flip=true}", "augmentation.views = 3"),
        ("features.kind=filters", "features.patches"),
        ("features.patches=0", "features.patches = 0"),
        ("features.patches=30000", "outside 1 to 10000"),
        ("features={kind=\"filters\",prior={weights=\"none.safetensors\",layers=2}}", "none.safetensors"),
        ("principal_components={dimensions=3,noise_multiplier=1}", "principal_components"),
        ("features.groups=5", "5 groups must divide its 81 channels"),
        ("features.kind=wavelet", "scattering"),
        ("features.pool=9", "features"),
    ] {
        let output = project.muffle(&["train", "digits.toml", "--dry-run", "--set", setting]);
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && message.contains(part), "{setting}: {message}");
    }
}
