//! The commands `account` and `calibrate`, as a user meets them.

mod common;

use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

fn muffle(arguments: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_muffle"))
        .args(arguments.split_whitespace())
        .output()
        .expect("the binary runs")
}

fn text(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).expect("text")
}

fn json(arguments: &str) -> Value {
    serde_json::from_str(&text(&muffle(arguments))).expect("one JSON object")
}

/// A file of its own for each test.
fn file(name: &str, contents: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(&path, contents).expect("the temporary directory is writable");
    path
}

#[track_caller]
fn refused(arguments: &str, parts: &[&str]) {
    let output = muffle(arguments);
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(output.stdout.is_empty());
    for part in parts {
        assert!(message.contains(part), "`{part}` is not in: {message}");
    }
}

const RUN: &str = "account --noise-multiplier 1.0 --sample-rate 0.01 --steps 10000 --delta 1e-5";

/// Whatever says what was spent gives the same price; a certificate brings its delta and adjacency.
#[test]
fn the_folder_of_a_run_its_certificate_and_its_ledger_have_one_price() {
    let project = common::Project::new();
    let trained =
        project.muffle(&["train", "small.toml", "--quiet", "--set", "delta=1e-4", "--output", "run"]);
    assert!(trained.status.success(), "{trained:?}");
    let price = |more: &[&str]| {
        let output = project.muffle(&[&["account", "--json", "--events"], more].concat());
        assert!(output.status.success(), "{output:?}");
        common::last_json(&output)
    };
    let certificate = common::read_json(&project.path("run/privacy.json"));
    let of_run = price(&["run"]);
    assert_eq!(of_run["epsilon"]["pld"], certificate["proved"]["epsilon"]);
    assert_eq!((&of_run["delta"], &of_run["adjacency"]), (&certificate["delta"], &certificate["adjacency"]));
    assert_eq!(price(&["run/privacy.json"]), of_run);
    std::fs::copy(project.path("run/ledger.jsonl"), project.path("copy.jsonl")).unwrap();
    std::fs::write(project.path("events.json"), certificate["events"].to_string()).unwrap();
    for file in ["run/ledger.jsonl", "copy.jsonl", "events.json"] {
        assert_eq!(price(&[file, "--delta", "1e-4"]), of_run, "{file}");
        let without = project.muffle(&["account", "--events", file]);
        assert!(String::from_utf8_lossy(&without.stderr).contains("--delta is missing"), "{without:?}");
    }
    assert!(
        price(&["run", "--delta", "1e-6"])["epsilon"]["pld"].as_f64() > of_run["epsilon"]["pld"].as_f64()
    );
    // A charge that no certificate knows of.
    let ledger = project.path("run/ledger.jsonl");
    std::fs::remove_file(project.path("run/privacy.json")).unwrap();
    assert_eq!(price(&["run", "--delta", "1e-4"]), of_run);
    let text = std::fs::read_to_string(&ledger).unwrap();
    std::fs::write(&ledger, text.replacen("gaussian", "laplace", 1)).unwrap();
    let changed = project.muffle(&["account", "--events", "run", "--delta", "1e-4"]);
    assert_eq!(changed.status.code(), Some(2), "{changed:?}");
}

#[test]
fn absurd_noise_is_refused_and_a_large_delta_warned_of() {
    for command in ["account --steps 10 --sample-rate 0.1", "calibrate --epsilon 1 --sample-rate 0.1"] {
        for noise in ["0", "-1", "nan", "inf", "1e16", "1e40", "1e300"] {
            refused(&format!("{command} --delta 1e-5 --noise-multiplier {noise}"), &["--noise-multiplier"]);
        }
    }
    let event = file("absurd.json", r#"{"kind":"gaussian","noise_multiplier":1e40}"#);
    refused(
        &format!("account --events {} --delta 1e-5", event.display()),
        &["noise_multiplier", "at most 1e15"],
    );
    let warned = |delta: &str| {
        let run = "account --noise-multiplier 1 --records 1000 --batch-size 10 --steps 10 --delta";
        String::from_utf8_lossy(&muffle(&format!("{run} {delta}")).stderr)
            .contains("not below one over the 1000 records")
    };
    assert!(warned("1e-3") && !warned("9e-4"));
}

#[test]
fn account_as_json() {
    let answer = json(&format!("{RUN} --json"));
    assert_eq!(answer["adjacency"], "add_remove");
    assert_eq!(answer["delta"], 1e-5);
    let epsilon =
        |name: &str| answer["epsilon"][name].as_f64().unwrap_or_else(|| panic!("{name} in {answer}"));
    assert!((epsilon("pld") - 6.1877).abs() < 0.02 && epsilon("pld_lower") <= epsilon("pld"));
    assert!(epsilon("pld") < epsilon("rdp") && epsilon("rdp") < epsilon("rdp_classical"));
    assert!(epsilon("rdp_classical") <= epsilon("moments"));
    assert!(answer["epsilon"].get("gdp").is_none(), "sampling is not exact GDP");
    let attacks = answer["attacker"].as_array().unwrap();
    let rates: Vec<f64> = attacks.iter().map(|attack| attack["fpr"].as_f64().unwrap()).collect();
    assert_eq!(rates, [0.001, 0.01, 0.1]);
    assert!(attacks.iter().all(|attack| attack["tpr"].as_f64() > attack["fpr"].as_f64()));
}

#[test]
fn account_as_a_table() {
    let table = text(&muffle(RUN));
    assert!(table.lines().any(|line| line.contains("pld") && line.contains("quote this one")), "{table}");
    assert!(table.lines().any(|line| line.contains("gdp_clt") && line.contains("estimate")), "{table}");
    assert!(
        table.lines().any(|line| line.contains("zcdp_random_sampling") && line.contains("not a proof")),
        "{table}"
    );
    assert!(table.contains("pld assumes:") && table.contains("best possible attacker"), "{table}");
}

#[test]
fn records_batch_size_and_epochs_replace_rate_and_steps() {
    let direct = json("account --noise-multiplier 1.1 --sample-rate 0.01 --steps 200 --delta 1e-5 --json");
    let derived =
        json("account --noise-multiplier 1.1 --records 1000 --batch-size 10 --epochs 2 --delta 1e-5 --json");
    assert_eq!(direct, derived);
}

#[test]
fn shuffled_batches_are_never_priced_as_poisson() {
    let run =
        "account --noise-multiplier 6 --sample-rate 0.01 --epochs 400 --delta 1e-5 --sampling reshuffled";
    let answer = json(&format!("{run} --json"));
    assert_eq!(answer["adjacency"], "zero_out");
    assert!((answer["epsilon"]["gdp"].as_f64().unwrap() - 19.13).abs() < 0.01);
    assert!((answer["epsilon"]["zcdp_reshuffling"].as_f64().unwrap() - 21.551).abs() < 0.001);
    assert!(answer["epsilon"].as_object().unwrap().values().all(|epsilon| epsilon.as_f64().unwrap() > 19.1));
    assert!(text(&muffle(run)).contains("Shuffled batches are not Poisson samples"));
    refused(&format!("{run} --adjacency add_remove"), &["--adjacency", "add_remove", "zero_out"]);
}

#[test]
fn one_accountant_and_other_samplings() {
    let answer = json(&format!("{RUN} --accountant rdp --json"));
    assert_eq!(answer["epsilon"].as_object().unwrap().len(), 1);
    let sampled = |sampling: &str| {
        json(&format!(
            "account --noise-multiplier 4 --sample-rate 0.01 --steps 100 --delta 1e-5 --sampling {sampling} --json"
        ))
    };
    let fixed_size = sampled("fixed-size");
    assert_eq!(fixed_size["adjacency"], "replace_one");
    assert!(fixed_size["epsilon"]["pld"].as_f64() < fixed_size["epsilon"]["rdp"].as_f64());
    // Names of earlier versions.
    assert_eq!(sampled("without-replacement"), fixed_size);
    assert_eq!(sampled("reshuffle"), sampled("reshuffled"));
    let full = json("account --noise-multiplier 10 --steps 100 --delta 1e-5 --sampling full --json");
    assert!((full["epsilon"]["gdp"].as_f64().unwrap() - 4.37718).abs() < 1e-5);
    let exchanged = json(&format!("{RUN} --adjacency replace-one --json"));
    assert!(exchanged["epsilon"]["pld"].as_f64().unwrap() > 6.2);
}

#[test]
fn event_files() {
    let events = r#"{"kind":"compose","events":[{"kind":"gaussian","noise_multiplier":16},
        {"kind":"repeat","count":1000,"event":{"kind":"poisson_sampled","sample_rate":0.01,"event":{"kind":"gaussian","noise_multiplier":1.0}}}]}"#;
    let path = file("ledger.json", events);
    let answer = json(&format!("account --events {} --delta 1e-5 --json", path.display()));
    let plain = json("account --noise-multiplier 1.0 --sample-rate 0.01 --steps 1000 --delta 1e-5 --json");
    assert!(answer["epsilon"]["pld"].as_f64() > plain["epsilon"]["pld"].as_f64());

    let claim = file("claim.json", r#"{"kind":"claimed","source":"a paper","epsilon":1.0,"delta":1e-5}"#);
    let answer = json(&format!("account --events {} --delta 1e-5 --json", claim.display()));
    assert!(
        answer["epsilon"]["pld"].is_null() && answer["notes"]["pld"].as_str().unwrap().contains("a paper")
    );
    assert!(
        text(&muffle(&format!("account --events {} --delta 1e-5", claim.display()))).contains("infinite")
    );

    let unknown = file("unknown.json", r#"{"kind":"exponential","epsilon":1.0}"#);
    refused(
        &format!("account --events {} --delta 1e-5", unknown.display()),
        &["--events", "exponential", "gaussian"],
    );
    let bad = file("bad.json", r#"{"kind":"gaussian","noise_multiplier":0.0}"#);
    refused(
        &format!("account --events {} --delta 1e-5", bad.display()),
        &["noise_multiplier", "greater than 0"],
    );
    refused("account --events no-such-file.json --delta 1e-5", &["--events", "no-such-file.json"]);
}

#[test]
fn bad_input_names_the_argument_and_its_range() {
    let run = "--noise-multiplier 1 --sample-rate 0.01 --steps 10";
    refused(
        "account --noise-multiplier 1 --sample-rate 1.5 --steps 10 --delta 1e-5",
        &["--sample-rate", "(0, 1]"],
    );
    refused(
        "account --noise-multiplier 0 --sample-rate 0.1 --steps 10 --delta 1e-5",
        &["--noise-multiplier", "greater than 0"],
    );
    refused(
        "account --noise-multiplier -2 --sample-rate 0.1 --steps 10 --delta 1e-5",
        &["--noise-multiplier", "greater than 0"],
    );
    refused(&format!("account {run} --delta 0"), &["--delta", "(0, 1)"]);
    refused(&format!("account {run} --delta 1"), &["--delta", "(0, 1)"]);
    refused(&format!("account {run} --delta -1e-5"), &["--delta", "(0, 1)"]);
    refused(&format!("account {run} --epochs 3 --delta 1e-5"), &["--steps", "--epochs"]);
    refused(
        &format!("account {run} --delta 1e-5 --adjacency swap"),
        &["--adjacency", "add_remove", "zero_out"],
    );
    refused(&format!("account {run} --delta 1e-5 --accountant gdp"), &["gdp", "Poisson", "pld"]);
    refused(&format!("account {run} --delta 1e-5 --accountant sum"), &["--accountant", "pld", "rdp"]);
    refused(
        &format!("account {run} --delta 1e-5 --accountant moments --adjacency replace_one"),
        &["--adjacency", "moments"],
    );
    refused("account --noise-multiplier 1 --sample-rate 0.01 --delta 1e-5", &["--steps"]);
    refused("account --sample-rate 0.01 --steps 10 --delta 1e-5", &["--noise-multiplier"]);
    refused(
        "account --noise-multiplier 1 --records 10 --batch-size 20 --steps 1 --delta 1e-5",
        &["--batch-size"],
    );
    refused(
        "calibrate --epsilon 0 --delta 1e-5 --sample-rate 0.01 --steps 10",
        &["--epsilon", "greater than 0"],
    );
    refused(&format!("calibrate --epsilon 1 {run} --delta 1e-5"), &["leave out"]);
}

#[test]
fn calibrate_finds_what_is_missing() {
    let noise = json("calibrate --epsilon 3 --delta 1e-5 --sample-rate 0.01 --steps 10000 --json");
    let value = noise["noise_multiplier"].as_f64().unwrap();
    assert!((value - 1.565).abs() < 0.01 && noise["epsilon"].as_f64().unwrap() <= 3.0, "{noise}");
    let back = json(&format!(
        "account --noise-multiplier {value} --sample-rate 0.01 --steps 10000 --delta 1e-5 --json"
    ));
    // Parsing the printed value may move its last digit.
    assert!((back["epsilon"]["pld"].as_f64().unwrap() - noise["epsilon"].as_f64().unwrap()).abs() < 1e-9);

    let steps = json("calibrate --epsilon 3 --delta 1e-5 --sample-rate 0.01 --noise-multiplier 1 --json");
    assert!(steps["steps"].as_u64().unwrap() > 2000 && steps["epsilon"].as_f64().unwrap() <= 3.0, "{steps}");
    let rate = json("calibrate --epsilon 3 --delta 1e-5 --steps 1000 --noise-multiplier 1 --json");
    assert!(
        rate["sample_rate"].as_f64().unwrap() > 0.01 && rate["epsilon"].as_f64().unwrap() <= 3.0,
        "{rate}"
    );
    let epochs = json(
        "calibrate --epsilon 5 --delta 1e-5 --records 1000 --batch-size 100 --epochs 10 --sampling reshuffled --json",
    );
    assert!(epochs["noise_multiplier"].as_f64().unwrap() > 2.0, "{epochs}");
    assert!(
        text(&muffle("calibrate --epsilon 3 --delta 1e-5 --sample-rate 0.01 --steps 100"))
            .contains("noise multiplier")
    );

    let schedule = file(
        "schedule.json",
        r#"{"kind":"compose","events":[
        {"kind":"repeat","count":100,"event":{"kind":"poisson_sampled","sample_rate":0.05,"event":{"kind":"gaussian","noise_multiplier":2.0}}},
        {"kind":"repeat","count":100,"event":{"kind":"poisson_sampled","sample_rate":0.05,"event":{"kind":"gaussian","noise_multiplier":1.0}}}]}"#,
    );
    let scaled = json(&format!("calibrate --epsilon 2 --delta 1e-5 --events {} --json", schedule.display()));
    assert!(
        scaled["noise_scale"].as_f64().unwrap() > 0.1 && scaled["epsilon"].as_f64().unwrap() <= 2.0,
        "{scaled}"
    );
}

#[test]
fn plots_are_written_whole() {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("curve.svg");
    text(&muffle(&format!(
        "account --noise-multiplier 2 --sample-rate 0.1 --steps 100 --delta 1e-5 --plot {}",
        path.display()
    )));
    let drawing = fs::read_to_string(&path).unwrap();
    assert!(drawing.starts_with("<svg") && drawing.ends_with("</svg>\n"));
    assert_eq!(drawing.matches("<polyline").count(), 5, "two panels of axes, two lines and one");
    assert!(!drawing.contains("NaN") && !drawing.contains("inf"));
    let nowhere = muffle(
        "account --noise-multiplier 2 --sample-rate 0.1 --steps 9 --delta 1e-5 --plot /no/such/place/a.svg",
    );
    assert_eq!(nowhere.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&nowhere.stderr).contains("--plot"));
}
