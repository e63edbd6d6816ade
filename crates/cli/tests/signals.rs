//! Signals: one is one stop, however often it is sent at once, and nothing is lost by it.
#![cfg(unix)]

mod common;

use common::{Project, last_json, read_json};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// A run that takes minutes unless somebody stops it.
const LONG: [&str; 9] = [
    "train",
    "small.toml",
    "--json",
    "--set",
    "steps=9000000",
    "--set",
    "epsilon=",
    "--set",
    "noise_multiplier=40",
];

#[track_caller]
fn wait_for(path: &Path) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !path.exists() {
        assert!(Instant::now() < deadline, "{} does not appear", path.display());
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn signal(child: &Child, name: &str) {
    Command::new("kill").args([name, &child.id().to_string()]).status().unwrap();
}

fn start(command: &mut Command) -> Child {
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// The run has saved its state and says how to go on.
#[track_caller]
fn is_stopped(project: &Project, run: &str, output: &Output) {
    let result = last_json(output);
    assert_eq!((&result["interrupted"], &result["finished"]), (&true.into(), &false.into()));
    let next = format!("continue with `muffle train --resume {run}`");
    assert_eq!(result["next"], next);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(error.contains(&format!("interrupted: {next}")), "{error}");
    assert_eq!(read_json(&project.path(run).join("privacy.json"))["status"], "interrupted");
    let checkpoints = std::fs::read_dir(project.path(run).join("checkpoints")).unwrap();
    assert!(checkpoints.count() > 0, "the state is saved");
}

#[test]
fn signals_that_come_together_are_one_stop() {
    for name in ["-INT", "-TERM", "-HUP"] {
        let project = Project::new();
        let child = start(&mut project.command(&[&LONG[..], &["--output", "run"]].concat()));
        wait_for(&project.path("run/ledger.jsonl"));
        for _ in 0..3 {
            signal(&child, name);
        }
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(130), "{name}: {output:?}");
        is_stopped(&project, "run", &output);
    }
}

/// `timeout` signals its child, and then the whole group once more.
#[test]
fn a_timeout_is_one_stop() {
    if Command::new("timeout").arg("--version").output().is_err() {
        println!("skipped: there is no timeout");
        return;
    }
    let project = Project::new();
    let mut command = Command::new("timeout");
    command.args(["--preserve-status", "60", env!("CARGO_BIN_EXE_muffle")]);
    command.args(LONG).args(["--output", "run"]).current_dir(project.path(""));
    let child = start(&mut command);
    wait_for(&project.path("run/ledger.jsonl"));
    // It passes on what it is sent, as it does when the time is up.
    signal(&child, "-TERM");
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{output:?}");
    is_stopped(&project, "run", &output);
}

/// Before the first charge there is nothing to lose: a plan ends at once.
#[test]
fn a_plan_stops_at_a_signal() {
    let project = Project::new();
    let pipe = project.path("wait.toml");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    // Reading a pipe that this process holds open takes as long as it likes.
    let hold = std::fs::OpenOptions::new().read(true).write(true).open(&pipe).unwrap();
    let mut command = project.command(&["train", "/dev/stdin", "--dry-run"]);
    let mut child = start(command.stdin(Stdio::from(hold)));
    std::thread::sleep(Duration::from_millis(300));
    assert!(child.try_wait().unwrap().is_none(), "it waits for its recipe");
    signal(&child, "-TERM");
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), None, "ended by the signal: {output:?}");
}
