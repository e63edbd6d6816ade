//! `muffle compare`, on the binary that users run.

mod common;

use common::{Project, read, read_json, result};
use serde_json::Value;
use std::fs;

/// Two methods at two budgets with two seeds, a few steps each.
const COMPARISON: [&str; 12] = [
    "compare",
    "--methods",
    "dp-sgd,auto-s",
    "--recipe",
    "small.toml",
    "--epsilon",
    "2,4",
    "--set",
    "steps=5",
    "--json",
    "--output",
    "comparison",
];

/// Everything that is compared has the best of three rates, found on records set aside, of which one leads to nothing; what cannot be tuned is
/// refused before anything runs.
#[test]
fn a_comparison_tunes_everything_alike() {
    let project = Project::new();
    let model = "model={layers=[{type=\"flatten\"},{type=\"dense\",features=10},{type=\"relu\"},{type=\"dense\",features=10}]}";
    let (subset, steps) = (["--set", "subset=300", "--set", "test_subset=100"], ["--set", "steps=20"]);
    let arguments = [
        &["compare", "--methods", "dp-sgd,auto-s", "--epsilon", "8", "--seeds", "1", "--set", model][..],
        &["--set", "batch_size=50", "--json", "--output", "tuned"],
        &subset,
        &steps,
    ]
    .concat();
    let tune = ["--tune", "learning_rate=1e29,1e-9,2", "--tune-records", "200"];
    let refused = |more: &[&str], part: &str| {
        let output = project.muffle(&[&arguments[..], more].concat());
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && message.contains(part), "{part}: {message}");
    };
    for (more, part) in [
        (&["--set", "learning_rate=1"][..], "--tune chooses learning_rate"),
        (&["--set-for", "auto-s:learning_rate=1"], "--tune chooses learning_rate"),
        (&["--set", "learning_rate.initial=1"], "--tune chooses learning_rate"),
        (&["--set", "test_from_training=100"], "test_from_training: choosing on the records"),
        (&["--without-privacy", "--set-without-privacy", "learning_rate=-1"], "learning_rate"),
        (&["--against", "icgc"], "--against icgc"),
    ] {
        refused(&[&tune, more].concat(), part);
    }
    refused(&["--tune", "learning_rate=2"], "nothing to choose from");
    refused(&["--tune", "learning_rate"], "--tune learning_rate: give key=value");
    refused(&["--tune", "epsilon=1,2"], "--tune epsilon: it says what is run");
    refused(&["--tune", "method=dp-sgd,icgc"], "--tune method: it says what is run");
    assert!(!project.path("tuned").exists(), "a refusal comes before any run");

    let first = result(&project, &[&arguments[..], &tune].concat());
    let tuning = &first["tuning"];
    assert_eq!((&tuning["key"], &tuning["records"]), (&"learning_rate".into(), &100.into()));
    for (choice, method) in tuning["choices"].as_array().unwrap().iter().zip(["dp-sgd", "auto-s"]) {
        let tried = |rate: &str| choice["tried"][rate].as_f64().unwrap();
        assert_eq!((&choice["levels"]["method"], &choice["chosen"]), (&method.into(), &"2".into()));
        assert!(tried("2") > tried("1e-9") + 0.2 && choice["tried"]["1e29"].is_null(), "{choice}");
        let recipe = read(&project, &format!("tuned/cells/{method}-8-1/recipe.toml"));
        assert!(recipe.contains("learning_rate = 2.0") && !recipe.contains("test_from_training"), "{recipe}");
        let tried = read(&project, &format!("tuned/tuning/cells/{method}-8+learning_rate=2-1/recipe.toml"));
        assert!(tried.contains("test_from_training = 200"), "{tried}");
    }
    assert_eq!((&first["cells"], &first["run_now"]), (&2.into(), &2.into()));
    let page = read(&project, "tuned/results.md");
    assert!(page.contains("best of 3 values of learning_rate") && page.contains("| 8 | failed | "), "{page}");
    let again = result(&project, &[&arguments[..], &tune].concat());
    assert_eq!((&again["run_now"], &again["tuning"]), (&0.into(), tuning));
}

#[test]
fn a_comparison_leaves_tables_and_plots_and_runs_nothing_twice() {
    let project = Project::new();
    let arguments = [&COMPARISON[..], &["--against", "dp-sgd", "--seeds", "2"]].concat();
    let first = result(&project, &arguments);
    let tests = first["against"].as_array().unwrap();
    assert_eq!(tests.len(), 2, "{tests:?}");
    for (test, baseline) in tests.iter().zip([0, 1]) {
        let mean = |group: usize| first["groups"][group]["test_accuracy"].as_f64().unwrap();
        let group = test["group"].as_u64().unwrap() as usize;
        assert_eq!((group, &test["pairs"]), (baseline + 2, &2.into()), "the same epsilon: {test}");
        assert!(
            (test["difference"].as_f64().unwrap() - mean(group) + mean(baseline)).abs() < 1e-12,
            "{test}"
        );
        assert!((0.0..=1.0).contains(&test["p"].as_f64().unwrap()), "{test}");
    }
    assert!(read(&project, "comparison/results.md").contains("| accuracy % less that of dp-sgd |"));
    assert_eq!((&first["cells"], &first["finished"], &first["run_now"]), (&8.into(), &8.into(), &8.into()));
    assert_eq!(first["groups"].as_array().unwrap().len(), 4);
    for group in first["groups"].as_array().unwrap() {
        let (mean, interval) = (group["test_accuracy"].as_f64().unwrap(), &group["interval"]);
        assert!(interval[0].as_f64().unwrap() <= mean && mean <= interval[1].as_f64().unwrap(), "{group}");
        let limit: f64 = group["levels"]["epsilon"].as_str().unwrap().parse().unwrap();
        assert!(
            group["epsilon"].is_null() && group["epsilon_if_seed_is_secret"].as_f64().unwrap() <= limit,
            "{group}"
        );
    }
    let table = read(&project, "comparison/results.csv");
    assert!(table.starts_with("method,form,epsilon,seed,accuracy,"), "{table}");
    assert_eq!(table.lines().count(), 9);
    assert!(read(&project, "comparison/results.md").contains("| auto-s | sound | 4 |"));
    for plot in ["accuracy.svg", "steps.svg"] {
        let text = read(&project, &format!("comparison/{plot}"));
        assert!(text.starts_with("<svg") && text.contains("<polyline"), "{text}");
        assert!(text.contains(">method auto-s"), "a legend names its key: {text}");
    }
    assert_eq!(read_json(&project.path("comparison/cells.json")).as_array().unwrap().len(), 8);
    let report = project.muffle(&["report", "comparison", "--output", "-"]);
    let page = String::from_utf8_lossy(&report.stdout);
    for part in [
        "<svg class=\"drawing\"",
        ", interval ",
        "<td>auto-s</td>",
        "cells/dp-sgd-2-1",
        "no epsilon covers them",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let model = project.path("comparison/cells/dp-sgd-2-1/model.safetensors");
    let written = fs::metadata(&model).unwrap().modified().unwrap();

    let again = result(&project, &arguments);
    assert_eq!((&again["finished"], &again["run_now"]), (&8.into(), &0.into()));
    assert_eq!(again["groups"], first["groups"]);
    assert_eq!(fs::metadata(&model).unwrap().modified().unwrap(), written);
    assert_eq!(read(&project, "comparison/results.csv"), table);

    let more = result(&project, &[&COMPARISON[..], &["--seeds", "3"]].concat());
    assert_eq!((&more["finished"], &more["run_now"]), (&12.into(), &4.into()));

    let other = project.muffle(&[&arguments[..], &["--set", "learning_rate=1"]].concat());
    let error = String::from_utf8_lossy(&other.stderr);
    assert_eq!(other.status.code(), Some(2));
    assert!(
        error.contains("another `learning_rate`") && error.contains("choose another --output"),
        "{error}"
    );
}

#[test]
fn recipes_of_different_kinds_stand_beside_each_other() {
    let project = Project::new();
    let found = result(
        &project,
        &[
            "compare",
            "--recipes",
            "small.toml,committee.toml",
            "--epsilon",
            "4,8",
            "--seeds",
            "1",
            "--json",
            "--output",
            "kinds",
        ],
    );
    assert_eq!(
        (&found["finished"], &found["groups"][2]["levels"]["recipe"]),
        (&4.into(), &"committee".into())
    );
    assert!(read(&project, "kinds/results.csv").starts_with("recipe,epsilon,seed,accuracy,"));
    let plot = read(&project, "kinds/accuracy.svg");
    assert!(plot.contains(">recipe small") && plot.contains(">recipe committee"), "{plot}");
}

/// What privacy costs is seen beside the same training without it.
#[test]
fn runs_without_privacy_stand_beside_the_others() {
    let project = Project::new();
    let plain = ["--without-privacy", "--set-without-privacy", "learning_rate=0.05", "--seeds", "1"];
    let found = result(&project, &[&COMPARISON[..], &plain].concat());
    let group = &found["groups"][4];
    assert_eq!((&found["finished"], &group["levels"]["epsilon"]), (&5.into(), &"none".into()), "{found}");
    assert_eq!((&group["levels"]["form"], &group["epsilon"]), (&"without privacy".into(), &Value::Null));
    let recipe = |name: &str| read(&project, &format!("comparison/cells/{name}/recipe.toml"));
    let of_plain = recipe("small-without-privacy-1");
    assert!(of_plain.contains("private = false") && of_plain.contains("learning_rate = 0.05"), "{of_plain}");
    assert!(
        !recipe("dp-sgd-2-1").contains("learning_rate = 0.05"),
        "settings of the plain runs are theirs alone"
    );
    assert!(read(&project, "comparison/steps.svg").contains("without privacy"));
    let alone = project.muffle(&[&COMPARISON[..], &plain[1..]].concat());
    assert!(String::from_utf8_lossy(&alone.stderr).contains("--without-privacy"), "{alone:?}");
    assert!(read(&project, "comparison/results.md").contains("nothing in them protects anybody"));
}

/// A plain run has no epsilon: it is no baseline at one.
#[test]
fn a_run_without_privacy_is_no_baseline() {
    let project = Project::new();
    let compare =
        ["compare", "--recipe", "small.toml", "--epsilon", "2", "--without-privacy", "--output", "out"];
    for (more, problem) in [
        (["--methods", "auto-s", "--against", "dp-sgd"], "not among what is compared, auto-s"),
        (["--methods", "dp-sgd", "--against", "dp-sgd"], "nothing else to compare"),
    ] {
        let refused = project.muffle(&[&compare[..], &more].concat());
        let message = String::from_utf8_lossy(&refused.stderr);
        assert!(!refused.status.success() && message.contains(problem), "{message}");
    }
    assert!(!project.path("out").exists());
}

/// What is said of one recipe holds for its run without privacy too, and replaces what is said of all.
#[test]
fn settings_for_one_recipe_hold_with_privacy_and_without() {
    let project = Project::new();
    let arguments = [
        "compare",
        "--recipes",
        "small.toml",
        "--epsilon",
        "4",
        "--seeds",
        "1",
        "--without-privacy",
        "--json",
        "--set",
        "steps=3",
        "--set",
        "clip.threshold=0.5",
        "--output",
        "own",
        "--set-for",
        "small:clip={ kind = \"flat\", threshold = 2.0 }",
        "--set-for",
        "small:steps=4",
    ];
    let found = result(&project, &arguments);
    assert_eq!(found["finished"], 2, "{found}");
    for name in ["small-4-1", "small-without-privacy-1"] {
        let recipe = read(&project, &format!("own/cells/{name}/recipe.toml"));
        assert!(recipe.contains("steps = 4") && recipe.contains("threshold = 2.0"), "{name}: {recipe}");
    }
}

/// Every method may have settings of its own, and every form of it.
#[test]
fn settings_for_one_method_are_its_own() {
    let project = Project::new();
    let alone =
        ["--set-for", "auto-s:learning_rate=0.05", "--set-for", "dp-sgd/sound:steps=4", "--seeds", "1"];
    result(&project, &[&COMPARISON[..], &alone].concat());
    let recipe = |name: &str| read(&project, &format!("comparison/cells/{name}/recipe.toml"));
    let (one, other) = (recipe("auto-s-2-1"), recipe("dp-sgd-2-1"));
    assert!(one.contains("learning_rate = 0.05") && !one.contains("steps = 4"), "{one}");
    assert!(!other.contains("learning_rate = 0.05") && other.contains("steps = 4"), "{other}");
    for (setting, problem) in [
        ("icgc:steps=4", "not among"),
        // A method of one form runs in that form, whatever is asked for.
        ("dp-sgd/as-published:steps=4", "auto-s, auto-s/sound, dp-sgd, dp-sgd/sound"),
        ("auto-s", "NAME:KEY=VALUE"),
        ("auto-s:steps", "key=value"),
    ] {
        let refused =
            project.muffle(&[&COMPARISON[..], &["--mode", "as-published", "--set-for", setting]].concat());
        let message = String::from_utf8_lossy(&refused.stderr);
        assert!(!refused.status.success() && message.contains(problem), "{message}");
    }
}

/// Accuracies on different records share no axis; budgets that differ by decades are spread evenly.
#[test]
fn every_data_set_has_axes_of_its_own() {
    let project = Project::new();
    fs::copy(project.path("people.toml"), project.path("others.toml")).unwrap();
    fs::write(
        project.path("beside.toml"),
        read(&project, "small.toml").replace("people.toml", "others.toml"),
    )
    .unwrap();
    let compare = |recipes: &str, budgets: &str, output: &str| {
        let arguments = ["compare", "--recipes", recipes, "--epsilon", budgets, "--seeds", "1"];
        result(&project, &[&arguments[..], &["--set", "steps=5", "--json", "--output", output]].concat());
        let plots: Value = read_json(&project.path(format!("{output}/plots.json")));
        let against_epsilon = |panel: &&Value| panel["x_label"] == "epsilon";
        plots["panels"].as_array().unwrap().iter().filter(against_epsilon).cloned().collect::<Vec<_>>()
    };
    let both = compare("small.toml,beside.toml", "1,30", "both");
    assert_eq!(both.len(), 2, "{both:?}");
    for (panel, (data, recipe)) in both.iter().zip([("people.toml", "small"), ("others.toml", "beside")]) {
        let (title, lines) = (panel["title"].as_str().unwrap(), panel["lines"].as_array().unwrap());
        assert!(title.contains(data) && lines.len() == 1, "{panel}");
        assert!(lines[0]["name"].as_str().unwrap().contains(recipe), "{panel}");
        assert_eq!(
            (&panel["x_logarithmic"], lines[0]["points"].as_array().unwrap().len()),
            (&true.into(), 2)
        );
    }
    let title = read(&project, "both/results.md");
    assert!(title.contains("people.toml, ") && title.contains("others.toml\n"), "{title}");
    let against_steps = read(&project, "both/steps.svg");
    assert!(
        against_steps.contains("test accuracy on the way") && against_steps.contains("test loss on the way")
    );
    let one = compare("small.toml", "1,4", "one");
    assert_eq!((one.len(), &one[0]["x_logarithmic"]), (1, &false.into()), "{one:?}");
    assert!(one[0]["title"].as_str().unwrap().starts_with("test accuracy"), "{one:?}");
}

/// A recipe with noise and without a length gets its length from epsilon, as a run of it does.
#[test]
fn a_recipe_whose_length_follows_from_the_budget_is_compared_at_its_own_noise() {
    let project = Project::new();
    let arguments =
        ["compare", "--methods", "dp-sgd", "--recipe", "small.toml", "--epsilon", "2", "--seeds", "1"];
    let length = ["--set", "steps=", "--set", "noise_multiplier=3", "--json", "--output", "length"];
    result(&project, &[&arguments[..], &length].concat());
    let table = read(&project, "length/results.csv");
    let header: Vec<&str> = table.lines().next().unwrap().split(',').collect();
    let row: Vec<&str> = table.lines().nth(1).unwrap().split(',').collect();
    let field = |name: &str| row[header.iter().position(|own| *own == name).unwrap()];
    assert_eq!(field("noise_multiplier").parse(), Ok(3.0));
    assert!(field("steps").parse::<u64>().unwrap() > 1, "{table}");
}

#[test]
fn forms_as_published_stand_beside_sound_ones_with_their_claim() {
    let project = Project::new();
    let arguments = [
        "compare",
        "--methods",
        "dp-sgd,icgc",
        "--mode",
        "sound,as-published",
        "--recipe",
        "small.toml",
        "--epsilon",
        "2",
        "--seeds",
        "1",
        "--set",
        "steps=5",
        "--json",
        "--output",
        "forms",
    ];
    let groups = result(&project, &arguments)["groups"].clone();
    let forms: Vec<(&str, &str)> = groups
        .as_array()
        .unwrap()
        .iter()
        .map(|group| (group["levels"]["method"].as_str().unwrap(), group["levels"]["form"].as_str().unwrap()))
        .collect();
    assert_eq!(forms, [("dp-sgd", "sound"), ("icgc", "sound"), ("icgc", "as-published")]);
    assert!(
        groups[2]["epsilon"].is_null() && groups[2]["claimed_epsilon"].as_f64().unwrap() > 0.0,
        "{groups}"
    );
    assert!(read(&project, "forms/results.md").contains("none (claimed: "));
}
