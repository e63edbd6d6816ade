//! Runs that are killed, interrupted, or run out of disk: what was spent is never forgotten, and with a seed the result is
//! that of an uninterrupted run, bit for bit.
#![cfg(unix)]

mod common;

use common::{Project, last_json, read_json, weights};
use muffle::run::{checkpoint, read_ledger};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Checkpoints all the time, and steps for seconds.
const LONG: [&str; 6] =
    ["--set", "steps=60000", "--set", "checkpoint_seconds=0.01", "--set", "evaluations=20"];

/// The same with fewer steps: many kills then meet many runs, and their ends too.
const SHORTER: [&str; 2] = ["--set", "steps=6000"];

/// Given noise and a seed: nothing to calibrate, so that a process starts at once.
const SEEDED: [&str; 6] = ["--set", "epsilon=", "--set", "noise_multiplier=40", "--seed", "3"];

fn seeded() -> Vec<&'static str> {
    [LONG, SEEDED].concat()
}

/// The model of a run with a seed that nobody interrupts.
fn uninterrupted(project: &Project) -> Vec<u8> {
    let arguments = [&["train", "small.toml", "--quiet", "--output", "whole"], &seeded()[..]].concat();
    let output = project.muffle(&arguments);
    assert!(output.status.success(), "{output:?}");
    weights(&project.path("whole/model.safetensors"))
}

/// The folder of a run holds together: nothing saved or measured goes beyond what was paid for.
fn check_paid(run: &Path) -> u64 {
    let ledger = read_ledger(run).unwrap();
    let paid = ledger.entries().iter().map(|entry| entry.to).max().unwrap_or(0);
    let newest = checkpoint::load_newest(&run.join("checkpoints")).unwrap();
    if let Some(checkpoint) = &newest {
        ledger.check_contains(&checkpoint.head).unwrap();
    }
    let saved = newest.map_or(0, |checkpoint| checkpoint.step);
    assert!(saved <= paid, "a checkpoint of step {saved}, {paid} steps are paid");
    for line in fs::read_to_string(run.join("metrics.jsonl")).unwrap_or_default().lines() {
        let metric: Result<serde_json::Value, _> = serde_json::from_str(line);
        let step = metric.ok().and_then(|metric| metric["step"].as_u64()).unwrap_or(0);
        assert!(step <= paid, "a measurement at step {step}, {paid} steps are paid");
    }
    saved
}

/// Starts or continues a run and kills it: some time after it begins to spend, or at once if it is not waited for.
fn kill_after(project: &Project, run: &str, more: &[&str], wait_for_steps: bool, wait: Duration) {
    let ledger = project.path(run).join("ledger.jsonl");
    let size = || fs::metadata(&ledger).map_or(0, |file| file.len());
    let begun = project.path(run).join("recipe.toml").exists();
    let mut arguments = vec!["train", "--quiet"];
    if begun {
        arguments.extend(["--resume", run]);
    } else {
        arguments.extend(["small.toml", "--output", run]);
        arguments.extend(more);
    }
    let before = size();
    let mut child = project.command(&arguments).stdout(Stdio::null()).spawn().unwrap();
    let deadline = Instant::now() + Duration::from_secs(5);
    while wait_for_steps
        && size() == before
        && Instant::now() < deadline
        && child.try_wait().unwrap().is_none()
    {
        std::thread::sleep(Duration::from_millis(1));
    }
    std::thread::sleep(wait);
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Waits of up to forty milliseconds, the same ones every time.
fn waits() -> impl Iterator<Item = Duration> {
    let next = |state: &u64| {
        Some(state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407))
    };
    std::iter::successors(Some(7u64), next).map(|state| Duration::from_micros((state >> 33) % 40_000))
}

#[test]
fn a_hundred_kills_change_nothing_with_a_seed() {
    let project = Project::new();
    let whole = uninterrupted(&project);
    let mut places = std::collections::BTreeSet::new();
    for (kill, wait) in (0..100).zip(waits()) {
        kill_after(&project, "killed", &seeded(), kill % 4 > 0, wait);
        if project.path("killed/ledger.jsonl").exists() {
            places.insert(check_paid(&project.path("killed")));
        }
    }
    assert!(places.len() > 20, "the kills came at {} different places", places.len());
    let end = project.muffle(&["train", "--quiet", "--json", "--resume", "killed"]);
    assert!(end.status.success(), "{end:?}");
    assert!(weights(&project.path("killed/model.safetensors")) == whole);
    let events = |run: &str| read_json(&project.path(run).join("privacy.json"))["events"].clone();
    assert_eq!(events("whole"), events("killed"));
}

#[test]
fn kills_without_a_seed_cost_steps_and_never_exceed_epsilon() {
    let project = Project::new();
    for kill in 0..6 {
        kill_after(&project, "killed", &LONG, true, Duration::from_millis(5 + 7 * kill));
        if project.path("killed/ledger.jsonl").exists() {
            check_paid(&project.path("killed"));
        }
    }
    let end = last_json(&project.muffle(&["train", "--json", "--resume", "killed"]));
    assert!(end["epsilon"].as_f64().unwrap() <= 4.0, "{end}");
    let ledger = read_ledger(&project.path("killed")).unwrap();
    let paid: u64 = fs::read_to_string(project.path("killed/ledger.jsonl"))
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
        .map(|entry| entry["to"].as_u64().unwrap() - entry["from"].as_u64().unwrap())
        .sum();
    // Steps that were lost are paid for like all others.
    assert!(paid >= end["steps"].as_u64().unwrap());
    assert_eq!(
        read_json(&project.path("killed/privacy.json"))["events"],
        serde_json::to_value(ledger.total()).unwrap()
    );
}

#[test]
fn an_interrupt_saves_and_says_how_to_go_on() {
    let project = Project::new();
    let whole = uninterrupted(&project);
    let arguments = [&["train", "small.toml", "--quiet", "--output", "stopped"], &seeded()[..]].concat();
    let child = project.command(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let deadline = Instant::now() + Duration::from_secs(20);
    while !project.path("stopped/metrics.jsonl").exists() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(2));
    }
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{output:?}");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("interrupted: continue with `muffle train --resume stopped`"), "{text}");
    assert_eq!(read_json(&project.path("stopped/privacy.json"))["status"], "interrupted");
    assert!(!project.path("stopped/model.safetensors").exists());
    assert!(project.muffle(&["train", "--quiet", "--resume", "stopped"]).status.success());
    assert!(weights(&project.path("stopped/model.safetensors")) == whole);
}

#[test]
fn a_full_disk_stops_before_the_step_and_the_run_goes_on_later() {
    let project = Project::new();
    let whole = uninterrupted(&project);
    // No file may grow beyond four kilobytes; the ledger does at some point.
    let limited = "trap '' XFSZ; ulimit -f 8; exec \"$@\"";
    let output = Command::new("sh")
        .args([
            "-c",
            limited,
            "sh",
            env!("CARGO_BIN_EXE_muffle"),
            "train",
            "small.toml",
            "--quiet",
            "--output",
            "full",
        ])
        .args(seeded().iter().chain(&["--set", "evaluations=1"]))
        .current_dir(project.path(""))
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.contains("make room, then resume"), "{error}");
    check_paid(&project.path("full"));
    assert!(project.muffle(&["train", "--quiet", "--resume", "full"]).status.success());
    assert!(weights(&project.path("full/model.safetensors")) == whole);
}

#[test]
fn a_damaged_checkpoint_or_ledger_is_named_with_what_to_do() {
    let project = Project::new();
    kill_after(&project, "run", &seeded(), true, Duration::from_millis(100));
    assert!(check_paid(&project.path("run")) > 0);
    let mut checkpoints: Vec<_> = fs::read_dir(project.path("run/checkpoints"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "safetensors"))
        .collect();
    checkpoints.sort();
    let newest = checkpoints.pop().unwrap();
    let whole = fs::read(&newest).unwrap();
    fs::write(&newest, &whole[..whole.len() / 2]).unwrap();
    let output = project.muffle(&["train", "--resume", "run"]);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(2) && error.contains("the checkpoint is damaged"), "{error}");
    fs::remove_file(&newest).unwrap();
    let ledger = project.path("run/ledger.jsonl");
    let text = fs::read_to_string(&ledger).unwrap();
    fs::write(&ledger, text.replacen('{', "<", 1)).unwrap();
    let output = project.muffle(&["train", "--resume", "run"]);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(2) && error.contains("line 1 is damaged"), "{error}");
    fs::write(&ledger, text).unwrap();
    assert!(project.muffle(&["train", "--quiet", "--resume", "run"]).status.success());
}

/// The figures of one series of kills.
#[derive(Default)]
struct Kills {
    /// Checkpoints that were the newest after a kill.
    places: std::collections::BTreeSet<(u64, u64)>,
    /// Runs that came to their end.
    runs: u64,
}

/// Kills runs so many times, one run after the other, and lets `check` see each that came to its end.
fn kill_often(project: &Project, name: &str, kills: u64, more: &[&str], check: &dyn Fn(&str)) -> Kills {
    let mut found = Kills::default();
    for (kill, wait) in (0..kills).zip(waits()) {
        let run = format!("{name}-{}", found.runs);
        kill_after(project, &run, more, kill % 4 > 0, wait);
        if project.path(&run).join("ledger.jsonl").exists() {
            found.places.insert((found.runs, check_paid(&project.path(&run))));
        }
        if kill + 1 < kills && !project.path(&run).join("model.safetensors").exists() {
            continue;
        }
        let begun = project.path(&run).join("recipe.toml").exists();
        let end = match begun {
            true => project.muffle(&["train", "--quiet", "--resume", &run]),
            false => project.muffle(&[&["train", "small.toml", "--quiet", "--output", &run], more].concat()),
        };
        assert!(end.status.success(), "{run} after kill {kill}: {end:?}");
        check(&run);
        found.runs += 1;
    }
    found
}

/// So many kills with a seed and so many without, of runs of two threads: nothing that was spent is lost, the budget holds, and
/// with a seed every run ends with the bits of one that nobody killed.
#[test]
#[ignore = "takes a second for every kill: MUFFLE_KILLS=1000 cargo test --release --test crash -- --ignored --nocapture kills"]
fn kills_at_many_moments_lose_nothing() {
    let kills: u64 =
        std::env::var("MUFFLE_KILLS").map_or(20, |number| number.parse().expect("MUFFLE_KILLS is a number"));
    let project = Project::new();
    let two_threads = [&LONG[..], &SHORTER, &["--set", "threads=2"]].concat();
    let with_seed = [&two_threads[..], &SEEDED].concat();
    let output =
        project.muffle(&[&["train", "small.toml", "--quiet", "--output", "whole"], &with_seed[..]].concat());
    assert!(output.status.success(), "{output:?}");
    let whole = weights(&project.path("whole/model.safetensors"));
    let events = |run: &str| read_json(&project.path(run).join("privacy.json"))["events"].clone();
    let same = |run: &str| {
        assert!(weights(&project.path(run).join("model.safetensors")) == whole, "{run} has other weights");
        assert_eq!(events(run), events("whole"), "{run}");
    };
    let with = kill_often(&project, "seeded", kills, &with_seed, &same);
    let paid = |run: &str| {
        let certificate = read_json(&project.path(run).join("privacy.json"));
        assert!(certificate["proved"]["epsilon"].as_f64().unwrap() <= 4.0, "{run}: {certificate}");
        let ledger = read_ledger(&project.path(run)).unwrap();
        assert_eq!(certificate["events"], serde_json::to_value(ledger.total()).unwrap(), "{run}");
    };
    let without = kill_often(&project, "secret", kills, &two_threads, &paid);
    for (name, found) in [("with a seed", with), ("without a seed", without)] {
        println!(
            "{name}: {kills} kills at {} places of {} runs, nothing lost",
            found.places.len(),
            found.runs
        );
    }
    println!("with a seed all weights are those of a run that nobody killed, bit for bit");
}
