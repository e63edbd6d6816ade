//! Certificates that cannot be talked down: by a shorter ledger, by a seed, by an interrupt, by what a split makes public.

mod common;

use common::{Project, last_json, read_json};
use std::fs;
use std::process::Output;

/// Twenty steps, each of them a line of the ledger.
const SHORT: [&str; 8] =
    ["train", "small.toml", "--quiet", "--json", "--set", "steps=20", "--set", "checkpoint_seconds=0"];

const COMPONENTS: &str = "principal_components={dimensions=2,noise_multiplier=4}";

fn run(project: &Project, more: &[&str]) -> serde_json::Value {
    let output = project.muffle(&[&SHORT[..], more].concat());
    assert!(output.status.success(), "{output:?}");
    last_json(&output)
}

fn refused(output: &Output, part: &str) {
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(2) && error.contains(part), "{part}: {output:?}");
}

/// A copy of a finished run, to be tampered with.
fn copy(project: &Project, from: &str, to: &str) {
    for folder in ["", "checkpoints"] {
        fs::create_dir_all(project.path(to).join(folder)).unwrap();
        for entry in fs::read_dir(project.path(from).join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.is_file() {
                fs::copy(&path, project.path(to).join(folder).join(path.file_name().unwrap())).unwrap();
            }
        }
    }
}

#[test]
fn nothing_is_certified_or_used_beside_less_than_the_whole_ledger() {
    let project = Project::new();
    run(&project, &["--set", COMPONENTS, "--output", "run"]);
    let whole = fs::read_to_string(project.path("run/ledger.jsonl")).unwrap();
    let lines: Vec<&str> = whole.lines().collect();
    assert_eq!(lines.len(), 21, "principal components, and a line for each step");
    let join = |lines: &[&str]| lines.iter().flat_map(|line| [line, "\n"]).collect::<String>();
    for (name, text, part) in [
        ("gone", None, "ledger.jsonl"),
        ("empty", Some(String::new()), "ledger.jsonl has 0"),
        ("cut", Some(join(&lines[..2])), "ledger.jsonl has 2"),
        ("torn", Some(whole[..whole.len() - 9].to_string()), "ledger.jsonl has 20"),
        ("tail", Some(join(&lines[9..])), "line 1 does not follow from the recipe"),
        ("holed", Some(join(&[&lines[..9], &lines[10..]].concat())), "line 10 does not follow"),
        ("without components", Some(join(&lines[1..])), "line 1 does not follow"),
    ] {
        copy(&project, "run", name);
        let ledger = project.path(name).join("ledger.jsonl");
        match &text {
            Some(text) => fs::write(&ledger, text).unwrap(),
            None => fs::remove_file(&ledger).unwrap(),
        }
        refused(&project.muffle(&["evaluate", name]), part);
        refused(&project.muffle(&["train", "--quiet", "--resume", name]), part);
    }
    // Whatever is left of the run still names the ledger: each of its files alone is enough to notice.
    for kept in ["checkpoints", "metrics.jsonl", "model.safetensors", "privacy.json"] {
        let name = format!("only {kept}");
        copy(&project, "run", &name);
        for file in ["ledger.jsonl", "metrics.jsonl", "model.safetensors", "privacy.json"] {
            if file != kept {
                fs::remove_file(project.path(&name).join(file)).unwrap();
            }
        }
        if kept != "checkpoints" {
            fs::remove_dir_all(project.path(&name).join("checkpoints")).unwrap();
            fs::create_dir(project.path(&name).join("checkpoints")).unwrap();
        }
        refused(&project.muffle(&["train", "--quiet", "--resume", &name]), "and ledger.jsonl has 0");
    }
    // A line that lacks nothing but its end is kept, and what is whole goes on.
    fs::write(project.path("run/ledger.jsonl"), whole.trim_end()).unwrap();
    assert!(project.muffle(&["evaluate", "run"]).status.success());
    assert!(project.muffle(&["train", "--quiet", "--resume", "run"]).status.success());
    assert_eq!(fs::read_to_string(project.path("run/ledger.jsonl")).unwrap(), whole);
}

#[test]
fn a_certificate_is_about_its_model_its_recipe_and_its_ledger() {
    let project = Project::new();
    let first = run(&project, &["--output", "run"]);
    run(&project, &["--set", "learning_rate=0.4", "--output", "other"]);
    let certificate = read_json(&project.path("run/privacy.json"));
    assert_eq!(certificate["binding"]["ledger"]["lines"], 20);
    for digest in ["/binding/recipe", "/binding/ledger/sha256", "/binding/files/model.safetensors"] {
        assert_eq!(certificate.pointer(digest).unwrap().as_str().unwrap().len(), 64, "{digest}");
    }
    for (file, part) in [
        ("model.safetensors", "model.safetensors: this is not the file that the certificate is about"),
        ("ledger.jsonl", "ledger.jsonl: line 1 does not follow from the recipe"),
        ("privacy.json", "this is not the recipe that the certificate is about"),
    ] {
        let name = format!("another {file}");
        copy(&project, "run", &name);
        fs::copy(project.path("other").join(file), project.path(&name).join(file)).unwrap();
        for command in ["evaluate", "predict"] {
            refused(&project.muffle(&[command, &name]), part);
            assert!(project.muffle(&[command, &name, "--unverified"]).status.success(), "{command} {name}");
        }
        let resumed = project.muffle(&["train", "--quiet", "--resume", &name]);
        assert_eq!(resumed.status.code(), Some(2), "{file}: {resumed:?}");
    }
    // A process that dies between the model and its certificate leaves the certificate of an interrupted run.
    copy(&project, "run", "between");
    let mut interrupted = certificate.clone();
    interrupted["status"] = "interrupted".into();
    interrupted["binding"]["files"] = serde_json::json!({});
    fs::write(project.path("between/privacy.json"), interrupted.to_string()).unwrap();
    refused(&project.muffle(&["evaluate", "between"]), "the run is not finished");
    assert!(project.muffle(&["train", "--quiet", "--resume", "between"]).status.success());
    assert!(project.muffle(&["evaluate", "between"]).status.success());
    copy(&project, "run", "changed");
    let recipe = fs::read_to_string(project.path("changed/recipe.toml")).unwrap();
    fs::write(
        project.path("changed/recipe.toml"),
        recipe.replace("learning_rate = 0.5", "learning_rate = 0.6"),
    )
    .unwrap();
    refused(&project.muffle(&["evaluate", "changed"]), "recipe.toml: this is not the recipe");
    refused(&project.muffle(&["train", "--quiet", "--resume", "changed"]), "the recipe");
    // Weights without a run are what they are.
    fs::copy(project.path("run/model.safetensors"), project.path("bare.safetensors")).unwrap();
    let bare = project.muffle(&["evaluate", "bare.safetensors", "--data", "people.toml", "--json"]);
    assert_eq!(last_json(&bare)["accuracy"], first["test_accuracy"]);
}

#[test]
fn a_seed_beside_the_model_proves_nothing() {
    let project = Project::new();
    let result = run(&project, &["--seed", "3", "--output", "seeded"]);
    let certificate = read_json(&project.path("seeded/privacy.json"));
    assert!(certificate["proved"]["epsilon"].is_null() && result["epsilon"].is_null(), "{certificate}");
    let figure = certificate["proved_if_seed_is_secret"]["epsilon"].as_f64().unwrap();
    assert!(figure <= 4.0 && figure > 3.8, "{figure}");
    assert_eq!(result["epsilon_if_seed_is_secret"], figure);
    assert!(
        certificate["warning"].as_str().unwrap().contains("if the seed is secret and was drawn at random")
    );
    let metrics = fs::read_to_string(project.path("seeded/metrics.jsonl")).unwrap();
    assert!(metrics.lines().all(|line| line.contains("\"epsilon\":null")), "{metrics}");
    let plan = last_json(&project.muffle(&["train", "small.toml", "--seed", "3", "--dry-run", "--json"]));
    assert!(plan["epsilon"].is_null() && plan["epsilon_if_seed_is_secret"].as_f64().unwrap() > 3.8, "{plan}");
    let screen = project.muffle(&["train", "small.toml", "--seed", "3", "--dry-run"]);
    let screen = String::from_utf8_lossy(&screen.stdout).into_owned();
    assert_eq!(screen.matches("if the seed is secret and was drawn at random").count(), 1, "{screen}");
    let secret = run(&project, &["--output", "secret"]);
    assert!(
        secret["epsilon"].as_f64().unwrap() > 3.8 && secret["epsilon_if_seed_is_secret"].is_null(),
        "{secret}"
    );
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_costs_what_was_planned() {
    let project = Project::new();
    let arguments = ["train", "small.toml", "--quiet", "--output", "stopped", "--set", "steps=60000"];
    let child = project.command(&arguments).stdout(std::process::Stdio::piped()).spawn().unwrap();
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while !project.path("stopped/metrics.jsonl").exists() && std::time::Instant::now() < deadline {
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{output:?}");
    let certificate = read_json(&project.path("stopped/privacy.json"));
    assert_eq!(certificate["status"], "interrupted");
    let proved = certificate["proved"]["epsilon"].as_f64().unwrap();
    assert!(proved <= 4.0 && proved > 3.9, "{proved} after {} steps", certificate["steps"]);
    let blind = certificate["proved_if_stopped_without_looking"]["epsilon"].as_f64().unwrap();
    assert!(blind < 0.9 * proved, "{blind} for {proved}");
    let screen = String::from_utf8_lossy(&output.stdout);
    assert!(screen.contains("the price of all that was planned"), "{screen}");
    // The events are those of the figure.
    fs::write(project.path("events.json"), certificate["events"].to_string()).unwrap();
    let priced = project.muffle(&["account", "--events", "events.json", "--delta", "1e-5", "--json"]);
    assert_eq!(last_json(&priced)["epsilon"], certificate["epsilon"]);
}

#[test]
fn the_dry_run_of_a_published_form_prints_its_claim_as_a_claim() {
    let project = Project::new();
    let form = ["--method", "icgc", "--mode", "as-published"];
    let result = run(&project, &[&form[..], &["--output", "run"]].concat());
    let arguments = [&["train", "small.toml", "--dry-run", "--set", "steps=20"], &form[..]].concat();
    let plan = last_json(&project.muffle(&[&arguments[..], &["--json"]].concat()));
    assert!(plan["epsilon"].is_null() && plan["claimed_epsilon"].is_number(), "{plan}");
    assert_eq!(plan["claimed_epsilon"], result["claimed_epsilon"]);
    let screen = project.muffle(&arguments);
    let screen = String::from_utf8_lossy(&screen.stdout).into_owned();
    assert!(screen.contains("epsilon           not proved (claimed: "), "{screen}");
}

/// Lin et al. 2020 state no epsilon: what stands in for one where noise is chosen is not theirs.
#[test]
fn a_paper_that_states_no_epsilon_claims_none() {
    let project = Project::new();
    for method in ["noisy-gradient", "quantile-clip"] {
        let form = ["--method", method, "--mode", "as-published"];
        let result = run(&project, &[&form[..], &["--output", method]].concat());
        assert!(result["epsilon"].is_null() && result["claimed_epsilon"].is_null(), "{result}");
        let certificate = read_json(&project.path(format!("{method}/privacy.json")));
        let proved = &certificate["proved"];
        assert!(certificate["claimed"].is_null() && proved["epsilon"].is_null(), "{certificate}");
        assert!(proved["assumption"].as_str().unwrap().contains("no accountant proves"), "{certificate}");
        assert!(certificate["events"].to_string().contains("no price in "), "{certificate}");
        let screen =
            project.muffle(&[&["train", "small.toml", "--dry-run", "--set", "steps=20"], &form[..]].concat());
        let screen = String::from_utf8_lossy(&screen.stdout).into_owned();
        assert!(screen.contains("epsilon           infinite (not private)"), "{screen}");
    }
}

#[test]
fn what_a_hash_of_private_records_decides_is_not_public() {
    let project = Project::new();
    let dry = |settings: &[&str]| {
        let settings = settings.iter().flat_map(|setting| ["--set", setting]).collect::<Vec<_>>();
        project.muffle(&[&["train", "small.toml", "--dry-run"], &settings[..]].concat())
    };
    let public = "validation={records={kind=\"public-test\"},period=1,checks=1,gain=0.1,factor=0.7}";
    refused(&dry(&["sampler=fixed-size", "records="]), "can change sides");
    refused(&dry(&["adjacency=replace_one"]), "test_path");
    refused(&dry(&[public]), "it is not public");
    // Test records of their own are another matter.
    let description = fs::read_to_string(project.path("people.toml")).unwrap();
    let apart = description.replace("test_fraction = 0.2", "test_path = \"people.csv\"");
    fs::write(project.path("apart.toml"), apart).unwrap();
    for settings in [&["adjacency=replace_one"][..], &["sampler=fixed-size", "records="], &[public]] {
        let output = dry(&[settings, &["data=apart.toml"]].concat());
        assert!(output.status.success(), "{settings:?}: {output:?}");
    }
}

#[test]
fn a_delta_that_gives_records_away_is_warned_of() {
    let project = Project::new();
    let warning = |delta: &str| {
        let output = project.muffle(&["train", "small.toml", "--dry-run", "--set", delta]);
        String::from_utf8_lossy(&output.stderr).contains("is not below one over the 500 records")
    };
    assert!(warning("delta=0.002") && warning("delta=0.01") && !warning("delta=0.0019"));
}

/// Noise that follows what was released has the price of its budget, whoever asks.
#[test]
fn the_events_of_a_run_with_a_filter_have_its_price() {
    let project = Project::new();
    let validation = "validation={records={kind=\"held-out\",share=0.2,epsilon=0.1},period=1,checks=1,gain=0.9,factor=0.7}";
    let settings = ["--set", validation, "--set", "noise_multiplier=3"];
    run(&project, &[&settings[..], &["--output", "run"]].concat());
    let certificate = read_json(&project.path("run/privacy.json"));
    assert_eq!(certificate["proved"]["epsilon"], 4.0);
    fs::write(project.path("events.json"), certificate["events"].to_string()).unwrap();
    let priced =
        last_json(&project.muffle(&["account", "--events", "events.json", "--delta", "1e-5", "--json"]));
    assert!((priced["epsilon"]["basic_composition"].as_f64().unwrap() - 4.0).abs() < 1e-6, "{priced}");
    let sweep = ["sweep", "small.toml", "--grid", "learning_rate=0.1,0.5", "--set", "steps=20", "--json"];
    let sweep = [&sweep[..], &settings].concat();
    let output = project.muffle(&[&sweep[..], &["--seeds", "1", "--price", "--output", "priced"]].concat());
    assert!(output.status.success(), "{output:?}");
    let price = &last_json(&output)["price"];
    assert!((price["delta"].as_f64().unwrap() - 2e-5).abs() < 1e-12, "{price}");
    assert!((price["epsilon"].as_f64().unwrap() - 8.0).abs() < 0.1, "{price}");
    refused(
        &project.muffle(&[&sweep[..], &["--random", "2", "--output", "drawn"]].concat()),
        "its price is its budget",
    );
}

#[test]
fn a_priced_sweep_counts_every_run_of_its_folder() {
    let project = Project::new();
    let sweep = |grid: &str, more: &[&str]| {
        let fixed =
            ["sweep", "small.toml", "--set", "steps=20", "--json", "--output", "sweep", "--grid", grid];
        project.muffle(&[&fixed[..], more].concat())
    };
    let price = |grid: &str| {
        let output = sweep(grid, &["--price", "--seeds", "1"]);
        assert!(output.status.success(), "{output:?}");
        last_json(&output)["price"]["epsilon"].as_f64().unwrap()
    };
    let (one, two) = (price("learning_rate=0.1"), price("learning_rate=0.5"));
    assert!(one <= 4.0 && two > 1.3 * one, "{one}, then {two} for both");
    assert_eq!(price("learning_rate=0.1,0.5"), two);
    refused(&sweep("learning_rate=0.1,0.5", &["--random", "2"]), "there are runs that no search drew");
    fs::remove_file(project.path("sweep/cells/learning_rate=0.1-1/privacy.json")).unwrap();
    let output = sweep("learning_rate=0.5", &["--price", "--seeds", "1"]);
    refused(&output, "the run has no certificate");
}
