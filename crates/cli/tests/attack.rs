//! `muffle attack`, on the binary that users run.

mod common;

use common::{Project, last_json, read_json, with_header};
use serde_json::Value;
use std::fs;

/// A private and a plain run of a few steps.
fn runs(project: &Project) {
    for (run, setting) in [("private", "private=true"), ("plain", "private=false")] {
        let arguments =
            ["train", "small.toml", "--quiet", "--output", run, "--set", "steps=60", "--set", setting];
        let output = project.muffle(&arguments);
        assert!(output.status.success(), "{output:?}");
    }
}

fn refused(project: &Project, arguments: &[&str], part: &str) {
    let output = project.muffle(arguments);
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(message.contains(part), "{message}");
}

#[test]
fn membership_of_two_runs_side_by_side() {
    let project = Project::new();
    runs(&project);
    let arguments =
        ["attack", "membership", "private", "--against", "plain", "--shadows", "4", "--plot", "roc.svg"];
    let output = project.muffle(&[&arguments[..], &["--results", "attacks", "--json"]].concat());
    assert!(output.status.success(), "{output:?}");
    let result = last_json(&output);
    let runs = result["runs"].as_array().unwrap();
    assert_eq!((&runs[0]["run"], &runs[1]["run"]), (&"private".into(), &"plain".into()));
    for run in runs {
        let names: Vec<&str> = run["attacks"]
            .as_array()
            .unwrap()
            .iter()
            .map(|attack| attack["attack"].as_str().unwrap())
            .collect();
        assert_eq!(names, ["loss", "gradient norm", "hidden layers", "likelihood ratio"]);
        for attack in run["attacks"].as_array().unwrap() {
            let area = attack["auc"].as_f64().unwrap();
            // About 120 of each: four standard deviations of a useless score are 0.15, and there is little to overfit.
            assert!(area > 0.3 && area < 0.75, "{attack}");
            assert_eq!(attack["rates"].as_array().unwrap().len(), 3);
            let ten = &attack["rates"][2];
            assert!(ten["interval"][0].as_f64() <= ten["tpr"].as_f64(), "{ten}");
            assert!(ten["tpr"].as_f64() <= ten["interval"][1].as_f64(), "{ten}");
        }
        assert_eq!(run["proved_bound"].as_array().unwrap().len(), 3);
    }
    assert_eq!(runs[0]["proved_bound"], read_json(&project.path("private/privacy.json"))["attacker"]);
    assert!(runs[0]["proved_bound"][0]["tpr"].as_f64().unwrap() < 0.5, "{result}");
    assert_eq!(runs[1]["proved_bound"][0]["tpr"], 1.0);
    assert!(fs::read_to_string(project.path("roc.svg")).unwrap().contains("plain, likelihood ratio"));
    // What it reached stands on the curve of the run that it attacked.
    let report = project.muffle(&["report", "private", "attacks", "--output", "-"]);
    let page = String::from_utf8_lossy(&report.stdout);
    let article = page.split("</article>").next().unwrap();
    assert!(
        article.contains("<title>membership by likelihood ratio: false positives 0.1, true"),
        "{report:?}"
    );
    assert!(page.contains("An attack reads the training records"), "{report:?}");

    let output = project.muffle(&["attack", "membership", "private"]);
    let text = String::from_utf8_lossy(&output.stdout);
    for part in ["Threat model:", "any (proved)", "gradient norm", "A failed attack proves nothing"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn a_model_alone_is_enough_and_without_its_bundle_needs_a_name_for_its_data() {
    let project = Project::new();
    runs(&project);
    let whole = ["attack", "membership", "plain/model.safetensors", "--shadows", "4"];
    assert!(project.muffle(&whole).status.success());
    let file = fs::read(project.path("plain/model.safetensors")).unwrap();
    let remove =
        |header: &mut Value| drop(header["__metadata__"].as_object_mut().unwrap().remove("muffle.bundle"));
    fs::write(project.path("bare.safetensors"), with_header(&file, remove)).unwrap();
    refused(&project, &["attack", "membership", "bare.safetensors"], "--data");
    let named = ["attack", "membership", "bare.safetensors", "--data", "people.toml"];
    assert!(project.muffle(&named).status.success());
    refused(&project, &[&named[..], &["--shadows", "4"]].concat(), "how they were trained");
    let poisoned = ["attack", "poisoning", "bare.safetensors", "--data", "people.toml"];
    refused(&project, &poisoned, "how they were trained");
    refused(&project, &["attack", "membership", "plain", "--shadows", "3"], "even and at least 4");
    fs::remove_file(project.path("people.csv")).unwrap();
    refused(&project, &["attack", "membership", "plain"], "people.csv");
}

#[test]
fn a_copy_of_a_run_and_no_picture_of_a_table() {
    let project = Project::new();
    runs(&project);
    let output = project.muffle(&[
        "attack",
        "extraction",
        "plain",
        "--queries",
        "2,50",
        "--plot",
        "copy.svg",
        "--json",
    ]);
    assert!(output.status.success(), "{output:?}");
    let result = last_json(&output);
    let agreement = |place: usize| result["runs"][0]["surrogates"][place]["agreement"].as_f64().unwrap();
    assert!(agreement(1) > agreement(0), "{result}");
    assert!(project.path("copy.svg").is_file());
    refused(&project, &["attack", "extraction", "plain", "--queries", "1000"], "half of the test split");
    let picture = ["attack", "inversion", "plain", "--output", "yes.png", "--class"];
    refused(&project, &[&picture[..], &["yes"]].concat(), "no images");
    refused(&project, &[&picture[..], &["perhaps"]].concat(), "the classes are no, yes");
    assert!(!project.path("yes.png").exists());
}

#[test]
fn poisoning_of_two_runs_side_by_side() {
    let project = Project::new();
    runs(&project);
    let arguments = ["attack", "poisoning", "private", "--against", "plain", "--fractions", "0,1"];
    let output = project.muffle(&[&arguments[..], &["--plot", "poison.svg", "--json"]].concat());
    assert!(output.status.success(), "{output:?}");
    let result = last_json(&output);
    for run in result["runs"].as_array().unwrap() {
        let accuracy = |place: usize| run["models"][place]["test_accuracy"].as_f64().unwrap();
        // With all labels wrong a model of two classes learns the opposite.
        assert!(accuracy(0) > 0.5 && accuracy(1) < 0.5, "{run}");
    }
    assert!(project.path("poison.svg").is_file());
    refused(&project, &["attack", "poisoning", "plain", "--fractions", "2"], "between 0 and 1");
    let one_class = |poison: &str| {
        let arguments = [
            "attack",
            "poisoning",
            "plain",
            "--fractions",
            "0,1",
            "--class",
            "yes",
            "--json",
            "--poison",
            poison,
        ];
        let output = project.muffle(&arguments);
        assert!(output.status.success(), "{output:?}");
        let models = last_json(&output)["runs"][0]["models"].clone();
        [0, 1].map(|place| models[place]["class_accuracy"].as_f64().unwrap())
    };
    // A class whose records are gone, or stand beside as many under the other label, is not found any more.
    let (inserted, deleted) = (one_class("inserted"), one_class("deleted"));
    assert!(inserted[0] == deleted[0] && inserted[1] < inserted[0], "{inserted:?}");
    assert_eq!(deleted[1], 0.0);
    refused(&project, &["attack", "poisoning", "plain", "--class", "yes"], "--poison inserted");
    refused(
        &project,
        &["attack", "poisoning", "plain", "--poison", "deleted", "--class", "x"],
        "the classes are no, yes",
    );
}

#[test]
fn a_column_with_categories_is_inferred() {
    let project = Project::new();
    runs(&project);
    refused(&project, &["attack", "attribute", "plain", "--column", "a"], "no columns with categories");
    // Whoever says yes is a nurse.
    let rows: String = (0..200)
        .map(|row| {
            let job = ["nurse", "teacher"][row % 2];
            format!("{},{job},{}\n", row as f64 / 20.0, if row % 4 == 0 { "yes" } else { "no" })
        })
        .collect();
    fs::write(project.path("jobs.csv"), format!("age,job,answer\n{rows}")).unwrap();
    let description = r#"
        format = "csv"
        path = "jobs.csv"
        test_fraction = 0.5
        label = "answer"
        classes = ["no", "yes"]
        columns = [{ name = "age", range = [0, 10] }, { name = "job", categories = ["teacher", "nurse"] }]
    "#;
    fs::write(project.path("jobs.toml"), description).unwrap();
    let settings = ["--set", "data=jobs.toml", "--set", "private=false", "--set", "records=100"];
    let train = ["train", "small.toml", "--quiet", "--output", "jobs", "--set", "steps=200"];
    let output = project.muffle(&[&train[..], &settings].concat());
    assert!(output.status.success(), "{output:?}");
    let attack = ["attack", "attribute", "jobs", "--column", "job"];
    let result = last_json(&project.muffle(&[&attack[..], &["--json"]].concat()));
    let found = &result["runs"][0];
    for whose in ["members", "others"] {
        // Half are nurses; teachers are known by saying no with a higher probability.
        assert!(found[whose]["rate"].as_f64().unwrap() > 0.6, "{found}");
    }
    let text = project.muffle(&attack);
    assert!(String::from_utf8_lossy(&text.stdout).contains("by the most frequent value"), "{text:?}");
    refused(&project, &["attack", "attribute", "jobs", "--column", "age"], "there are job");
}

/// Every row of the table can be asked for, and the help of its command says what the attacker needs.
#[test]
fn every_attack_of_the_table_is_a_command() {
    let project = Project::new();
    let list = String::from_utf8(project.muffle(&["attack", "list", "--json"]).stdout).unwrap();
    let rows: Vec<serde_json::Value> = list.lines().map(|row| serde_json::from_str(row).unwrap()).collect();
    assert!(rows.len() > 6, "{list}");
    for row in rows {
        let help = project.muffle(&["attack", row["command"].as_str().unwrap(), "--help"]).stdout;
        let help = String::from_utf8(help).unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(help.contains(row["needs"].as_str().unwrap()), "{row}: {help}");
    }
}

/// A linear model is told by one answer more than it has inputs, and a gradient tells its record: what is released does not.
#[test]
fn weights_by_equations_and_records_from_gradients() {
    let project = Project::new();
    let linear = "model={layers=[{type=\"dense\",features=2}]}";
    for (run, setting) in [("private", "private=true"), ("plain", "private=false")] {
        let fixed = ["train", "small.toml", "--quiet", "--output", run, "--set", "steps=20"];
        let output = project.muffle(&[&fixed[..], &["--set", setting, "--set", linear]].concat());
        assert!(output.status.success(), "{output:?}");
    }
    let found =
        last_json(&project.muffle(&["attack", "equations", "private", "--against", "plain", "--json"]));
    for run in found["runs"].as_array().unwrap() {
        assert_eq!(run["queries"], 4, "{run}");
        assert!(run["relative_error"].as_f64().unwrap() < 1e-4, "{run}");
        assert!(run["agreement"].as_f64().unwrap() > 0.98, "{run}");
    }
    let hidden = ["train", "small.toml", "--quiet", "--output", "hidden", "--set", "steps=2"];
    assert!(project.muffle(&hidden).status.success());
    refused(&project, &["attack", "equations", "hidden"], "not linear");
    let attack = [
        "attack",
        "reconstruction",
        "private",
        "--against",
        "plain",
        "--records",
        "5",
        "--steps",
        "300",
        "--json",
    ];
    let found = last_json(&project.muffle(&attack));
    let likeness = |run: usize| found["runs"][run]["mean_likeness"].as_f64().unwrap();
    assert!(likeness(1) > 0.9 && likeness(0) < likeness(1), "{found}");
    refused(&project, &[&attack[..], &["--output", "found.png"]].concat(), "no pictures");
}
