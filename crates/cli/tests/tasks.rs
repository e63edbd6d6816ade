//! Tables whose rows have several labels, or numbers to predict, from the description to predictions.

mod common;

use common::{Project, last_json, read_json};
use std::fs;

/// The table of the project with two labels and a number, each made from the inputs.
fn project(target: &str) -> Project {
    let project = Project::new();
    let table = fs::read_to_string(project.path("people.csv")).unwrap();
    let mut rows = "a,b,c,left,right,price\n".to_string();
    for row in table.lines().skip(1) {
        let values: Vec<f64> = row.split(',').take(3).map(|value| value.parse().unwrap()).collect();
        let (left, right) = (u8::from(values[0] > 0.5), u8::from(values[1] > 0.5));
        let price = 100.0 + 200.0 * values[0] + 200.0 * values[2];
        rows += &format!("{},{},{},{left},{right},{price}\n", values[0], values[1], values[2]);
    }
    fs::write(project.path("people.csv"), rows).unwrap();
    let columns = "columns = [{ name = \"a\", range = [0, 1] }, { name = \"b\", range = [0, 1] }, { name = \"c\", range = [0, 1] }]";
    let description =
        format!("format = \"csv\"\npath = \"people.csv\"\ntest_fraction = 0.2\n{target}\n{columns}\n");
    fs::write(project.path("people.toml"), description).unwrap();
    project
}

const LAYERS: &str =
    "model={layers=[{type=\"dense\",features=16},{type=\"tanh\"},{type=\"dense\",features=OUTPUTS}]}";

fn model(outputs: usize) -> String {
    LAYERS.replace("OUTPUTS", &outputs.to_string())
}

fn train(project: &Project, outputs: usize, more: &[&str]) -> serde_json::Value {
    let model = model(outputs);
    let fixed = ["train", "small.toml", "--seed", "1", "--json", "--output", "run", "--set", &model];
    let output = project.muffle(&[&fixed[..], more].concat());
    assert!(output.status.success(), "{output:?}");
    last_json(&output)
}

#[test]
fn numbers_are_predicted_in_their_own_units() {
    let project = project("values = [{ column = \"price\", range = [100, 500] }]");
    let end = train(&project, 1, &["--set", "learning_rate=0.3"]);
    assert!(end["epsilon_if_seed_is_secret"].as_f64().unwrap() <= 4.0, "{end}");
    assert!(end["test_accuracy"].is_null(), "{end}");
    assert_eq!(read_json(&project.path("run/privacy.json"))["status"], "finished");
    // The middle of the range is off by 65 on average.
    let error = end["test"]["mean_absolute_error"]["price"].as_f64().unwrap();
    assert!(error < 35.0, "{end}");
    let evaluated = last_json(&project.muffle(&["evaluate", "run", "--json"]));
    assert!(
        (evaluated["mean_absolute_error"]["price"].as_f64().unwrap() - error).abs() < 1e-9,
        "{evaluated}"
    );
    let predicted = project.muffle(&["predict", "run"]);
    let text = String::from_utf8(predicted.stdout).unwrap();
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("record,price"));
    let price: f64 = lines.next().unwrap().split(',').nth(1).unwrap().parse().unwrap();
    assert!((50.0..550.0).contains(&price), "{price}");
    // Another loss can be chosen, one that does not fit is refused.
    let huber = ["train", "small.toml", "--dry-run", "--set", &model(1), "--set", "loss={huber={delta=0.1}}"];
    assert!(project.muffle(&huber).status.success());
    let wrong =
        ["train", "small.toml", "--dry-run", "--set", &model(1), "--set", "loss=softmax-cross-entropy"];
    let output = project.muffle(&wrong);
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(2) && message.contains("does not fit the targets"), "{message}");
    let two_outputs = model(2);
    // Runs are compared by their errors, and by nothing that numbers do not have.
    let model = model(1);
    let sweep = ["sweep", "small.toml", "--seeds", "1", "--json", "--output", "sweep", "--set", &model];
    let sweep = [&sweep[..], &["--set", "steps=20", "--grid", "learning_rate=0.0001,0.3"]].concat();
    let swept = last_json(&project.muffle(&sweep));
    assert_eq!((&swept["measure"], &swept["finished"]), (&"mean-absolute-error".into(), &2.into()));
    let error = |place: usize| swept["groups"][place]["test_mean_absolute_error"].as_f64().unwrap();
    assert!(error(1) < error(0), "{swept}");
    assert_eq!(swept["best"]["folder"], "cells/learning_rate=0.3-1", "the smallest error is the best");
    let refused = project.muffle(&[&sweep[..], &["--rank-by", "auroc"]].concat());
    let message = String::from_utf8_lossy(&refused.stderr);
    assert!(refused.status.code() == Some(2) && message.contains("numbers to predict"), "{message}");
    let shape = project.muffle(&["train", "small.toml", "--dry-run", "--set", &two_outputs]);
    let message = String::from_utf8_lossy(&shape.stderr);
    assert!(message.contains("2 outputs, the data has 1 values to predict"), "{message}");
}

#[test]
fn several_labels_are_learned_at_once() {
    let project = project("labels = [\"left\", \"right\"]");
    let end = train(&project, 2, &["--set", "learning_rate=2"]);
    assert!(end["epsilon_if_seed_is_secret"].as_f64().unwrap() <= 4.0, "{end}");
    assert!(end["test_accuracy"].as_f64().unwrap() > 0.85, "{end}");
    assert!(end["test"]["area_under_curve"].as_f64().unwrap() > 0.9, "{end}");
    let text = String::from_utf8(project.muffle(&["predict", "run"]).stdout).unwrap();
    assert_eq!(text.lines().next(), Some("record,left,right,probability_left,probability_right"));
    let printed = String::from_utf8(project.muffle(&["evaluate", "run"]).stdout).unwrap();
    assert!(printed.contains("area under the ROC curve") && printed.contains("right"), "{printed}");
    let output = project.muffle(&["attack", "membership", "run"]);
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(2) && message.contains("classes"), "{message}");
}

#[test]
fn nothing_is_learned_from_nothing() {
    let project = project("target = \"none\"");
    let output = project.muffle(&["train", "small.toml", "--dry-run"]);
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(2) && message.contains("nothing to learn"), "{message}");
}
