//! `muffle compare`, `muffle sweep` and `muffle study`, on the binary that users run.

mod common;

use common::{Project, last_json, read, read_json, result};
use serde_json::Value;
use std::fs;
use std::process::Stdio;
use std::time::{Duration, Instant};

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

/// A comparison of a single method at one budget, to be interrupted.
const ONE_METHOD: [&str; 8] =
    ["compare", "--methods", "dp-sgd", "--recipe", "small.toml", "--epsilon", "4", "--quiet"];

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
    for (setting, problem) in
        [("icgc:steps=4", "not among"), ("auto-s", "NAME:KEY=VALUE"), ("auto-s:steps", "key=value")]
    {
        let refused = project.muffle(&[&COMPARISON[..], &["--set-for", setting]].concat());
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
        "dp-sgd,noisy-gradient",
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
    assert_eq!(forms, [("dp-sgd", "sound"), ("noisy-gradient", "sound"), ("noisy-gradient", "as-published")]);
    assert!(
        groups[2]["epsilon"].is_null() && groups[2]["claimed_epsilon"].as_f64().unwrap() > 0.0,
        "{groups}"
    );
    assert!(read(&project, "forms/results.md").contains("none (claimed: "));
}

#[test]
fn a_killed_comparison_goes_on_to_the_same_results() {
    let project = Project::new();
    let arguments = |output: &'static str| {
        let length = ["--seeds", "3", "--set", "steps=20000", "--set", "checkpoint_seconds=0.01"];
        [&ONE_METHOD[..], &length, &["--json", "--output", output]].concat()
    };
    let whole = result(&project, &arguments("whole"));
    for kill in 0..3 {
        let mut child = project.command(&arguments("killed")).stdout(Stdio::null()).spawn().unwrap();
        let begun =
            |number: u32| project.path(format!("killed/cells/dp-sgd-4-{number}/ledger.jsonl")).exists();
        let deadline = Instant::now() + Duration::from_secs(60);
        while !begun(1) && Instant::now() < deadline && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(2));
        }
        std::thread::sleep(Duration::from_millis(30 + 60 * kill));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    assert!(!project.path("killed/results.csv").exists(), "the kills came too late");
    let end = result(&project, &arguments("killed"));
    assert_eq!((&end["finished"], &end["groups"]), (&3.into(), &whole["groups"]));
    assert_eq!(read(&project, "killed/results.csv"), read(&project, "whole/results.csv"));
}

#[cfg(unix)]
#[test]
fn a_run_that_diverges_does_not_stop_the_others() {
    let project = Project::new();
    let sweep = [
        "sweep",
        "small.toml",
        "--set",
        "steps=5",
        "--set",
        "clip.threshold=1e10",
        "--grid",
        "learning_rate=1e30,1e-10",
        "--seeds",
        "2",
    ];
    let output = project.muffle(&[&sweep[..], &["--threads", "1", "--output", "rates"]].concat());
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(
        error.contains("2 of 4 runs failed, the first of them learning_rate=1e30-1: ")
            && error.contains("diverged: its weights are no finite numbers any more, or its test loss")
            && error.contains("the same command tries these again"),
        "{error}"
    );
    assert_eq!(read(&project, "rates/results.csv").lines().count(), 3);
    let page = read(&project, "rates/results.md");
    assert!(
        page.contains("2 of 4 runs are finished") && page.contains("Failed: learning_rate=1e30-2: "),
        "{page}"
    );
}

#[test]
fn an_interrupt_keeps_what_is_finished_and_says_how_to_go_on() {
    let project = Project::new();
    let length = ["--seeds", "4", "--threads", "1", "--set", "steps=60000"];
    let arguments = [&ONE_METHOD[..], &length, &["--output", "stopped"]].concat();
    let child = project.command(&arguments).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    while !project.path("stopped/cells/dp-sgd-4-1/ledger.jsonl").exists() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(2));
    }
    std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.code() == Some(130)
            && text.contains("of 4 runs are finished; the same command goes on"),
        "{text}"
    );
    assert_eq!(read_json(&project.path("stopped/cells/dp-sgd-4-1/privacy.json"))["status"], "interrupted");
}

#[test]
fn a_sweep_combines_values_and_says_that_choosing_is_not_free() {
    let project = Project::new();
    let grid = [
        "sweep",
        "small.toml",
        "--grid",
        "learning_rate=0.1,0.5",
        "--grid",
        "optimizer={kind=\"sgd\"},{kind=\"adam\"}",
        "--seeds",
        "2",
        "--set",
        "steps=5",
    ];
    let sweep = result(&project, &[&grid[..], &["--json", "--output", "sweep"]].concat());
    assert_eq!((&sweep["cells"], &sweep["run_now"], &sweep["price"]), (&8.into(), &8.into(), &Value::Null));
    let best = sweep["best"]["folder"].as_str().unwrap();
    assert!(project.path("sweep").join(best).join("model.safetensors").is_file(), "{best}");
    assert!(read(&project, "sweep/results.md").contains("is not free"));
    assert!(project.path("sweep/accuracy.svg").is_file() && project.path("sweep/steps.svg").is_file());
    assert_eq!(result(&project, &[&grid[..], &["--json", "--output", "sweep"]].concat())["run_now"], 0);

    let priced = result(&project, &[&grid[..], &["--price", "--json", "--output", "priced"]].concat());
    let (price, one) = (&priced["price"], priced["groups"][0]["epsilon"].as_f64().unwrap());
    assert_eq!(price["kind"], "composition");
    assert!(price["epsilon"].as_f64().unwrap() > 1.5 * one, "{price} for all, {one} for one");
    // Runs that are paid for together have noise of their own.
    for line in read(&project, "priced/results.csv").lines().skip(1) {
        let folder = project.path("priced").join(line.rsplit(',').next().unwrap().trim_matches('"'));
        assert_eq!(read_json(&folder.join("privacy.json"))["reproducible"], false, "{line}");
    }
}

#[test]
fn a_random_search_keeps_its_draws_and_prices_its_best() {
    let project = Project::new();
    let search = |output: &'static str, mean: &'static str| {
        let arguments = [
            "sweep",
            "small.toml",
            "--grid",
            "learning_rate=0.1,0.5,1",
            "--random",
            mean,
            "--set",
            "steps=5",
            "--json",
            "--output",
            output,
        ];
        project.muffle(&arguments)
    };
    let first = last_json(&search("search", "4"));
    let draws = read(&project, "search/draws.json");
    assert_eq!(
        first["cells"],
        read_json(&project.path("search/draws.json"))["runs"].as_array().unwrap().len()
    );
    assert_eq!(first["price"]["kind"], "random_search");
    let (price, one) =
        (first["price"]["epsilon"].as_f64().unwrap(), first["groups"][0]["epsilon"].as_f64().unwrap());
    assert!(price > one && price.is_finite(), "{price} for the best, {one} for one");
    assert_eq!(last_json(&search("search", "4"))["run_now"], 0);
    assert_eq!(read(&project, "search/draws.json"), draws);
    let other = search("search", "5");
    assert!(
        other.status.code() == Some(2) && String::from_utf8_lossy(&other.stderr).contains("--random 4"),
        "{other:?}"
    );
}

#[test]
fn bad_input_is_refused_before_anything_runs() {
    let project = Project::new();
    let compare = ["compare", "--recipe", "small.toml", "--output", "out", "--epsilon"];
    let sweep = ["sweep", "small.toml", "--output", "out", "--grid"];
    let study = ["study", "noisy-gradient", "--output", "out", "--data"];
    for (command, more, part) in [
        (&compare[..], &["1", "--methods", "dp-sdg"][..], "did you mean `dp-sgd`?"),
        (&compare, &["0", "--methods", "dp-sgd"], "epsilon = 0 is outside"),
        (&compare, &["1", "--methods", "dp-sgd", "--mode", "proved"], "as-published"),
        (&compare, &["1", "--methods", "dp-sgd", "--seeds", "0"], "--seeds"),
        (
            &compare,
            &["1", "--methods", "dp-sgd", "--against", "auto-s"],
            "not among what is compared, dp-sgd",
        ),
        (&compare, &["1", "--methods", "dp-sgd", "--against", "dp-sgd"], "nothing else to compare"),
        (&compare, &["1", "--methods", "dp-sgd,auto-s", "--against", "dp-sgd", "--seeds", "1"], "--seeds 2"),
        (&compare, &["1", "--methods", "dp-sgd", "--set", "seed=1"], "seeds are given by --seeds"),
        (
            &compare,
            &["1", "--methods", "dp-sgd", "--model", "resnet18"],
            "dp-sgd sound 1: the model takes inputs",
        ),
        (&sweep, &["learning_rate"], "key=value"),
        (&sweep, &["learning_rat=1,2"], "did you mean `learning_rate`?"),
        (&sweep, &["learning_rate=1,1"], "there twice"),
        (&sweep, &["learning_rate=1", "--grid", "learning_rate=2"], "the key is there twice"),
        (&sweep, &["delta=1e-5,1e-6", "--price"], "one delta"),
        (&sweep, &["learning_rate=1", "--random", "0"], "mean number of runs = 0"),
        (&study, &["people.toml"], "cifar10-grey"),
        (&study, &["mnist", "--orders", "CAC"], "quantile-per-layer"),
        (&study, &["mnist", "--noise=-1"], "noise_multiplier = -1"),
        (
            &study,
            &["mnist", "--models", "tempered-cifar"],
            "mnist tempered-cifar sgd - - plain: the model takes inputs",
        ),
    ] {
        let output = project.muffle(&[command, more].concat());
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{more:?}: {error}");
        assert!(error.contains(part), "{more:?}: {error}");
    }
    assert!(!project.path("out").exists(), "nothing is left of an experiment that never began");
}
