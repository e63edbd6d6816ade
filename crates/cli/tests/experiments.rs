//! Experiments that are killed, interrupted, wrong or large: `muffle compare`, `muffle sweep` and `muffle study`, on the binary that users run.

mod common;

use common::{Project, last_json, read, read_json, result};
use serde_json::Value;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// A comparison of a single method at one budget, to be interrupted.
const ONE_METHOD: [&str; 8] =
    ["compare", "--methods", "dp-sgd", "--recipe", "small.toml", "--epsilon", "4", "--quiet"];

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
fn a_sweep_takes_a_method_with_its_usual_settings_and_in_its_form() {
    let project = Project::new();
    let sweep = ["sweep", "small.toml", "--grid", "learning_rate=0.1", "--seeds", "1", "--set", "steps=2"];
    let recipe = |form: &[&str]| {
        result(&project, &[&sweep[..], &["--json", "--output", form[1]], form].concat());
        read(&project, &format!("{}/cells/learning_rate=0.1-1/recipe.toml", form[1]))
    };
    let improved = recipe(&["--method", "improved-dp-sgd"]);
    assert!(improved.contains("[clip_schedule]") && improved.contains("momentum = 0.89999"), "{improved}");
    let published = recipe(&["--method", "icgc", "--mode", "as-published"]);
    assert!(published.contains("method = \"icgc\"\nmode = \"as-published\""), "{published}");
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
        (&compare, &["1", "--methods", "dp-sgd", "--set", "epsilon=2"], "use --epsilon"),
        (&compare, &["1", "--methods", "dp-sgd", "--set-for", "dp-sgd:mode=as-published"], "use --mode"),
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
        (&study, &["mnist", "--orders", "BAC"], "quantile-per-layer"),
        (&study, &["mnist", "--noise=-1"], "noise_multiplier = -1"),
        (&study, &["mnist", "--steps", "gru-rows=5"], "--steps gru-rows: no run of this study"),
        (&study, &["mnist", "--orders", "CA", "--together"], "--together: no run of this study"),
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
