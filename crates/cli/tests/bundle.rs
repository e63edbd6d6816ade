//! A model file carries what it needs to be used anywhere, and refuses data of another meaning.

mod common;

use common::{Project, last_json, with_header};
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// The binary, in another folder than the project's.
fn muffle(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_muffle")).args(arguments).current_dir(folder).output().unwrap()
}

fn train(project: &Project, more: &[&str]) {
    let fixed =
        ["train", "small.toml", "--quiet", "--seed", "77001", "--output", "runs/run", "--set", "steps=60"];
    let output = project.muffle(&[&fixed[..], more].concat());
    assert!(output.status.success(), "{output:?}");
}

/// A folder far away with nothing in it but the model.
fn elsewhere(project: &Project) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::copy(project.path("runs/run/model.safetensors"), folder.path().join("model.safetensors")).unwrap();
    folder
}

fn refused(output: &Output, parts: &[&str]) {
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(parts.iter().all(|part| message.contains(part)), "{message}");
}

/// The share of rows of a table whose class a model found, by what it wrote of each.
fn share_found(folder: &Path, table: &str, scores: &str) -> f64 {
    let cells = |text: &str, cell: usize| -> Vec<String> {
        text.lines().skip(1).map(|line| line.split(',').nth(cell).unwrap().to_string()).collect()
    };
    let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    let (known, found) = (cells(&read(table), 3), cells(&read(scores), 1));
    assert_eq!(known.len(), found.len());
    known.iter().zip(&found).filter(|(known, found)| known == found).count() as f64 / known.len() as f64
}

#[test]
fn a_model_alone_is_enough() {
    let components = "principal_components={dimensions=2,noise_multiplier=4}";
    for settings in [&[][..], &["--set", components]] {
        let project = Project::new();
        train(&project, settings);
        let other = elsewhere(&project);
        let folder = other.path();
        // The model is used without the description and without a label.
        fs::copy(project.path("people.csv"), folder.join("new.csv")).unwrap();
        let scored =
            muffle(folder, &["predict", "model.safetensors", "--data", "new.csv", "--output", "s.csv"]);
        assert!(scored.status.success(), "{scored:?}");
        let evaluated =
            last_json(&muffle(folder, &["evaluate", "model.safetensors", "--data", "new.csv", "--json"]));
        assert_eq!(evaluated["records"], 640);
        let found = share_found(folder, "new.csv", "s.csv");
        assert!((evaluated["accuracy"].as_f64().unwrap() - found).abs() < 1e-9, "{evaluated} and {found}");
        // With a description of the data it is what the folder of the run says, from wherever it is asked.
        let people = project.path("people.toml").display().to_string();
        let run = project.path("runs/run").display().to_string();
        let by_model =
            last_json(&muffle(folder, &["evaluate", "model.safetensors", "--data", &people, "--json"]));
        let by_run = last_json(&muffle(folder, &["evaluate", &run, "--json"]));
        assert_eq!(by_model["accuracy"], by_run["accuracy"]);
        let attacked =
            muffle(folder, &["attack", "membership", "model.safetensors", "--data", &people, "--json"]);
        assert!(attacked.status.success(), "{attacked:?}");
        let unsplit = ["attack", "membership", "model.safetensors", "--data", "new.csv"];
        refused(&muffle(folder, &unsplit), &["new.csv", "splits"]);
        let planned =
            muffle(folder, &["train", "model.safetensors", "--data", &people, "--dry-run", "--json"]);
        assert_eq!(last_json(&planned)["steps"], 60, "{planned:?}");
    }
}

#[test]
fn what_makes_noise_known_is_not_in_the_model() {
    let project = Project::new();
    train(&project, &["--audit", "100"]);
    let file = fs::read(project.path("runs/run/model.safetensors")).unwrap();
    let text = String::from_utf8_lossy(&file);
    assert!(text.contains("muffle.bundle") && !text.contains("seed") && !text.contains("77001"), "{text}");
}

#[test]
fn data_of_another_meaning_are_refused_with_the_difference() {
    let project = Project::new();
    train(&project, &[]);
    let description = fs::read_to_string(project.path("people.toml")).unwrap();
    for (from, to, part) in [
        ("[\"no\", \"yes\"]", "[\"yes\", \"no\"]", "the outputs are `no`, `yes`, in the data `yes`, `no`"),
        (
            "\"a\", range = [0, 1]",
            "\"a\", range = [0, 2]",
            "column `a`: range [0.0,1.0] in the model, [0.0,2.0]",
        ),
        (
            "{ name = \"a\", range = [0, 1] }, { name = \"b\", range = [0, 1] }",
            "{ name = \"b\", range = [0, 1] }, { name = \"a\", range = [0, 1] }",
            "the columns come as `a`, `b`, `c`, in the data as `b`, `a`, `c`",
        ),
    ] {
        fs::write(project.path("people.toml"), description.replacen(from, to, 1)).unwrap();
        let model = "runs/run/model.safetensors";
        refused(&project.muffle(&["evaluate", "runs/run"]), &[part, "people.toml"]);
        refused(&project.muffle(&["predict", model, "--data", "people.toml"]), &[part]);
        refused(&project.muffle(&["attack", "membership", "runs/run"]), &[part]);
        refused(&project.muffle(&["train", "--resume", "runs/run"]), &[part, "began"]);
    }
    fs::write(project.path("people.toml"), description).unwrap();
    assert!(project.muffle(&["train", "--quiet", "--resume", "runs/run"]).status.success());
}

#[test]
fn bare_weights_need_their_model_named() {
    let project = Project::new();
    train(&project, &[]);
    let file = fs::read(project.path("runs/run/model.safetensors")).unwrap();
    // As PyTorch would have saved it.
    let bare = with_header(&file, |header| drop(header.as_object_mut().unwrap().remove("__metadata__")));
    fs::write(project.path("bare.safetensors"), bare).unwrap();
    let layers = "layers = [{ type = \"dense\", features = 16 }, { type = \"tanh\" }, { type = \"dense\", features = 2 }]";
    fs::write(project.path("model.toml"), format!("input = [3]\n{layers}\n")).unwrap();
    refused(&project.muffle(&["evaluate", "bare.safetensors", "--data", "people.toml"]), &["name the model"]);
    let bare = ["evaluate", "bare.safetensors", "--model", "model.toml", "--data"];
    let evaluated = last_json(&project.muffle(&[&bare[..], &["people.toml", "--json"]].concat()));
    let expected = last_json(&project.muffle(&["evaluate", "runs/run", "--json"]));
    assert_eq!(evaluated["accuracy"], expected["accuracy"]);
    let rows = ["predict", "bare.safetensors", "--model", "model.toml", "--data", "people.csv"];
    refused(&project.muffle(&rows), &["bare weights", ".toml"]);
}

#[test]
fn a_damaged_bundle_is_refused() {
    let project = Project::new();
    train(&project, &[]);
    let file = fs::read(project.path("runs/run/model.safetensors")).unwrap();
    let length = u64::from_le_bytes(*file.first_chunk().unwrap()) as usize;
    let header = String::from_utf8(file[8..8 + length].to_vec()).unwrap();
    for (from, to, part) in [
        ("\\\"input\\\":[3]", "\\\"input\\\":[4]", "columns become 3 inputs, not 4"),
        (
            "\\\"classes\\\":[\\\"no\\\",\\\"yes\\\"]",
            "\\\"classes\\\":[\\\"no\\\",\\\"yes\\\",\\\"so\\\"]",
            "3 outputs",
        ),
        ("\\\"stored\\\"", "\\\"stares\\\"", "stares"),
    ] {
        assert!(header.contains(from), "{header}");
        let changed = header.replacen(from, to, 1);
        let bytes =
            [&(changed.len() as u64).to_le_bytes()[..], changed.as_bytes(), &file[8 + length..]].concat();
        fs::write(project.path("changed.safetensors"), bytes).unwrap();
        let output = project.muffle(&["predict", "changed.safetensors", "--data", "people.csv"]);
        refused(&output, &["changed.safetensors", part]);
    }
}
