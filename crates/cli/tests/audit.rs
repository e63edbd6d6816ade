//! `muffle audit`, on the binary that users run.

mod common;

use common::{Project, last_json, read_json};

#[test]
fn a_step_ends_with_three_epsilons_and_a_code() {
    let project = Project::new();
    let audit = |method: &str, mode: &str, more: &[&str]| {
        let plain = ["audit", "step", "--method", method, "--mode", mode, "--json", "--trials", "1500"];
        project.muffle(&[&plain[..], more].concat())
    };
    let sound = audit("dp-sgd", "sound", &["--plot", "scores.svg", "--width", "498"]);
    assert_eq!(sound.status.code(), Some(0), "{sound:?}");
    let report = last_json(&sound);
    assert_eq!((&report["verdict"], &report["parameters"]), (&"no_contradiction_found".into(), &1000.into()));
    assert!(report["claimed"].is_null() && report["confidence"] == 0.95, "{report}");
    let (proved, measured) = (report["proved"].as_f64().unwrap(), report["measured"].as_f64().unwrap());
    assert!(measured > 0.5 * proved && measured <= proved, "{report}");
    let plot = std::fs::read_to_string(project.path("scores.svg")).unwrap();
    assert!(plot.starts_with("<svg") && plot.contains("true positives"), "{plot}");

    let published = audit("dp-adam-ilg", "as-published", &[]);
    assert_eq!(published.status.code(), Some(1), "{published:?}");
    let report = last_json(&published);
    assert_eq!(report["verdict"], "violated");
    assert!(report["measured"].as_f64().unwrap() > report["claimed"].as_f64().unwrap(), "{report}");
    assert!(report["threat"].as_str().unwrap().contains("forced into the batch"), "{report}");

    for (arguments, part) in [
        (&["--confidence", "1"][..], "confidence 1 is outside (0, 1)"),
        (&["--trials", "0"], "0 trials"),
        (&["--width", "0"], "a width of 0"),
        (&["--noise-multiplier", "0"], "noise multiplier 0 is outside"),
    ] {
        let plain = ["audit", "step", "--method", "dp-sgd"];
        let output = project.muffle(&[&plain[..], arguments].concat());
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains(part), "{output:?}");
    }
}

#[test]
fn a_replay_holds_for_a_sound_form_and_not_for_a_published_one() {
    let project = Project::new();
    for sampler in ["poisson", "reshuffled", "balls-and-bins"] {
        let setting = format!("sampler={sampler}");
        let output =
            project.muffle(&["audit", "replay", "small.toml", "--steps", "6", "--json", "--set", &setting]);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let report = last_json(&output);
        assert_eq!((report["verdict"].as_str(), report["steps"].as_u64()), (Some("holds"), Some(6)));
    }
    let published =
        ["audit", "replay", "small.toml", "--json", "--set", "method=icgc", "--set", "mode=as-published"];
    let output = project.muffle(&published);
    assert_eq!((output.status.code(), last_json(&output)["verdict"].as_str()), (Some(1), Some("violated")));
    let refused = project.muffle(&["audit", "replay", "small.toml", "--set", "method=noisy-gradient"]);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("muffle audit step"), "{refused:?}");
}

#[test]
fn samplers_are_drawn_as_they_are_charged() {
    let project = Project::new();
    for sampler in ["poisson", "reshuffled", "balls-and-bins"] {
        let setting = format!("sampler={sampler}");
        let plain = ["audit", "participation", "small.toml", "--set", &setting, "--json"];
        let output = project.muffle(&plain);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let report = last_json(&output);
        assert_eq!(report["verdict"], "no_contradiction_found");
        assert_eq!((&report["sampler"], report["confidence"].as_f64()), (&sampler.into(), Some(0.999)));
        assert!(!report["checks"].as_array().unwrap().is_empty(), "{report}");
    }
    for (arguments, part) in
        [(["--confidence", "1"], "confidence 1 is outside"), (["--runs", "0"], "0 runs show nothing")]
    {
        let output = project.muffle(&[&["audit", "participation", "small.toml"][..], &arguments].concat());
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains(part), "{output:?}");
    }
}

/// The plot of an audit has what was measured and what is allowed.
fn drawn(project: &Project, plot: &str) {
    let drawn = std::fs::read_to_string(project.path(plot)).unwrap();
    assert!(drawn.contains("without it") && drawn.contains("the most that the noise allows"), "{plot}");
}

/// The certificate of a run has the bound of its own audit, and too few canaries are refused with the number that is needed.
#[test]
fn canaries_of_a_run_are_measured() {
    let project = Project::new();
    let private = project.muffle(&[
        "train",
        "small.toml",
        "--seed",
        "1",
        "--json",
        "--output",
        "run",
        "--audit",
        "200",
    ]);
    assert!(private.status.success(), "{private:?}");
    let certificate = read_json(&project.path("run/privacy.json"));
    let measured = certificate["measured"].as_f64().unwrap();
    assert!(
        measured <= certificate["proved_if_seed_is_secret"]["epsilon"].as_f64().unwrap(),
        "{certificate}"
    );
    assert_eq!(last_json(&private)["measured_epsilon"], certificate["measured"]);
    // 200 of 500 records, expected among some 512: a standard deviation of 11, and five of them are allowed.
    let canaries = certificate["audit"]["canaries"].as_f64().unwrap();
    assert!((canaries - 205.0).abs() < 55.0, "{canaries}");
    let outside = certificate["not_covered"].to_string();
    assert!(outside.contains("the audit: its numbers of canaries and right guesses"), "{outside}");

    // What was run can be audited again by its folder, or by its model alone.
    for what in ["run", "run/model.safetensors"] {
        let replay =
            project.muffle(&["audit", "replay", what, "--steps", "2", "--results", "replay", "--json"]);
        assert_eq!((replay.status.code(), &last_json(&replay)["verdict"]), (Some(0), &"holds".into()));
    }
    let text = std::fs::read_to_string(project.path("replay/results.md")).unwrap();
    assert!(
        text.starts_with("# Replay of dp-sgd, sound: holds") && text.contains("| step | moved | allowed |"),
        "{text}"
    );
    let output = project.muffle(&["audit", "run", "small.toml", "--results", "elsewhere"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("choose its folder by --output"), "{output:?}");
    let output = project.muffle(&["audit", "run", "."]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("no run in this folder"), "{output:?}");

    let audited = ["audit", "run", "small.toml", "--canaries", "200", "--json", "--output", "audited"];
    let audit = project.muffle(&[&audited[..], &["--plot", "one.svg"]].concat());
    assert_eq!(audit.status.code(), Some(0), "{audit:?}");
    let report = last_json(&audit);
    assert_eq!(
        (report["guesses"].as_u64(), report["verdict"].as_str()),
        (Some(40), Some("no_contradiction_found"))
    );
    // The seed lies in the folder, so nothing is proved.
    assert!(report["proved"].is_null(), "{report}");
    assert_eq!(
        report["epsilon_if_seed_is_secret"],
        read_json(&project.path("audited/privacy.json"))["proved_if_seed_is_secret"]["epsilon"]
    );

    // Without privacy there is nothing to contradict; what is measured stands there all the same.
    let plain = ["audit", "run", "small.toml", "--canaries", "200", "--set", "private=false", "--output"];
    let without = project.muffle(&[&plain[..], &["plain", "--json"]].concat());
    assert_eq!(without.status.code(), Some(0), "{without:?}");
    let report = last_json(&without);
    assert_eq!(report["verdict"], "nothing_claimed");
    assert!(report["claimed"].is_null() && report["proved"].is_null(), "{report}");
    assert!(report["measured"].as_f64().is_some(), "{report}");
    let text = project.muffle(&[&plain[..], &["again"]].concat());
    let text = String::from_utf8_lossy(&text.stdout).to_string();
    assert!(text.contains("nothing was claimed") && text.contains("measured    at least"), "{text}");

    drawn(&project, "one.svg");

    let few = project.muffle(&["audit", "run", "small.toml", "--canaries", "4", "--output", "few"]);
    let message = String::from_utf8_lossy(&few.stderr).to_string();
    assert_eq!(few.status.code(), Some(2), "{few:?}");
    assert!(message.contains("unless there are 6 of them"), "{message}");
}

/// Many runs with one canary in place of one run with many.
#[test]
fn many_runs_are_measured_by_one_canary_each() {
    let project = Project::new();
    let many = |runs: &str, more: &[&str]| {
        let plain = ["audit", "run", "small.toml", "--set", "steps=20", "--json", "--runs", runs];
        project.muffle(&[&plain[..], more].concat())
    };
    let audit = many("16", &["--plot", "many.svg"]);
    assert_eq!(audit.status.code(), Some(0), "{audit:?}");
    let report = last_json(&audit);
    assert_eq!(report["verdict"], "no_contradiction_found");
    assert_eq!((report["trials"].as_u64(), report["confidence"].as_f64()), (Some(6), Some(0.95)));
    assert!(report["measured"].as_f64().unwrap() <= report["proved"].as_f64().unwrap(), "{report}");
    assert!(report["claimed"].is_null() && report["threat"].as_str().unwrap().contains("black box"));
    drawn(&project, "many.svg");
    assert!(report["measured_if_gaussian"].as_f64().is_some(), "{report}");
    for (runs, more, part) in [
        ("12", &[][..], "unless there are 16 of them"),
        ("16", &["--canaries", "20"], "cannot be used with"),
        ("16", &["--confidence", "0"], "confidence 0 is outside"),
    ] {
        let output = many(runs, more);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains(part), "{output:?}");
    }
    // Without --runs an audit is about gradients, and says what is to be used for others.
    let other = project.muffle(&["audit", "run", "functional-adult"]);
    assert_eq!(other.status.code(), Some(2), "{other:?}");
    assert!(
        String::from_utf8_lossy(&other.stderr).contains("muffle audit run functional-adult --runs"),
        "{other:?}"
    );
}
