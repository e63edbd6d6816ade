//! Standard output and files that are no files: a reader that goes away, a full disk, pipes where a file is needed.
#![cfg(unix)]

mod common;

use common::{Project, last_json};
use std::fs::{self, OpenOptions};
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// A device on which every write fails, where there is one.
fn full() -> Option<Stdio> {
    let device = OpenOptions::new().write(true).open("/dev/full");
    if device.is_err() {
        println!("skipped: there is no /dev/full");
    }
    device.ok().map(Stdio::from)
}

/// Runs a command whose reader went away.
fn unread(project: &Project, arguments: &[&str]) -> Output {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    project.command(arguments).stdout(writer).output().unwrap()
}

#[track_caller]
fn is_whole(run: &Path) {
    for file in ["model.safetensors", "privacy.json", "metrics.jsonl"] {
        assert!(run.join(file).is_file(), "{file}");
    }
}

#[test]
fn a_reader_that_goes_away_ends_a_command_quietly_and_a_run_not_at_all() {
    let project = Project::new();
    let listing = unread(&project, &["methods"]);
    assert_eq!((listing.status.code(), &listing.stderr[..]), (Some(141), &b""[..]), "{listing:?}");
    let run = ["train", "small.toml", "--json", "--output", "run"];
    let trained = unread(&project, &run);
    assert_eq!((trained.status.code(), &trained.stderr[..]), (Some(141), &b""[..]), "{trained:?}");
    is_whole(&project.path("run"));
    let sweep = ["sweep", "small.toml", "--set", "steps=5", "--grid", "learning_rate=0.1,1", "--seeds", "1"];
    let swept = unread(&project, &[&sweep[..], &["--json", "--output", "rates"]].concat());
    assert_eq!(swept.status.code(), Some(141), "{swept:?}");
    assert_eq!(fs::read_to_string(project.path("rates/results.csv")).unwrap().lines().count(), 3);
}

#[test]
fn a_full_standard_output_is_an_error_and_a_run_goes_on() {
    let project = Project::new();
    let Some(device) = full() else { return };
    let listing = project.command(&["recipes", "mnist"]).stdout(device).output().unwrap();
    let error = String::from_utf8_lossy(&listing.stderr);
    assert_eq!(listing.status.code(), Some(2), "{error}");
    assert!(error.starts_with("error: standard output: ") && error.lines().count() == 1, "{error}");
    let mut command = project.command(&["train", "small.toml", "--output", "run"]);
    let status = command.stdout(full().unwrap()).stderr(full().unwrap()).status().unwrap();
    assert_eq!(status.code(), Some(2));
    is_whole(&project.path("run"));
}

#[test]
fn pipes_and_devices_are_refused_where_a_file_is_needed() {
    let project = Project::new();
    fs::create_dir_all(project.path("images/cats")).unwrap();
    for name in ["images/cats/1.png", "pipe.csv", "pipe.toml", "pipe.safetensors", "pipe.json"] {
        assert!(Command::new("mkfifo").arg(project.path(name)).status().unwrap().success());
    }
    let description = fs::read_to_string(project.path("people.toml")).unwrap();
    fs::write(project.path("piped.toml"), description.replace("people.csv", "pipe.csv")).unwrap();
    for arguments in [
        &["train", "small.toml", "--dry-run", "--data", "images"][..],
        &["train", "small.toml", "--dry-run", "--data", "piped.toml"],
        &["train", "small.toml", "--dry-run", "--data", "pipe.toml"],
        &["train", "small.toml", "--dry-run", "--model", "pipe.toml"],
        &["train", "pipe.toml", "--dry-run"],
        &["evaluate", "pipe.safetensors"],
        &["account", "--delta", "1e-5", "--events", "pipe.json"],
        &["train", "/dev/zero", "--dry-run"],
    ] {
        let output = project.muffle(arguments);
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {error}");
        assert!(error.contains("a regular file is needed"), "{arguments:?}: {error}");
    }
}

/// A pipe that a shell has opened is meant to be read.
#[test]
fn events_are_read_from_standard_input() {
    let project = Project::new();
    fs::write(project.path("events.json"), r#"{"kind":"gaussian","noise_multiplier":1.0}"#).unwrap();
    let account = format!(
        "cat events.json | {} account --events /dev/stdin --delta 1e-5 --json",
        env!("CARGO_BIN_EXE_muffle")
    );
    let output = Command::new("sh").args(["-c", &account]).current_dir(project.path("")).output().unwrap();
    assert!(last_json(&output)["epsilon"]["pld"].as_f64().unwrap() > 1.0, "{output:?}");
}

#[test]
fn messages_quote_little_and_no_control_characters() {
    let project = Project::new();
    for value in ["x".repeat(1_000_000), "\u{1b}[31mred\u{7}".to_string()] {
        fs::write(project.path("people.csv"), format!("a,b,c,answer\n{value},0.1,0.1,yes\n")).unwrap();
        let output = project.muffle(&["train", "small.toml", "--dry-run"]);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(error.contains("people.csv, line 2") && error.contains("is not a number"), "{error}");
        assert!(
            error.len() < 1000 && !error.trim_end().contains(|found: char| found.is_control()),
            "{error:?}"
        );
    }
}
