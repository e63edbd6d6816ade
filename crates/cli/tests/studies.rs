//! `muffle study`, on the binary that users run.

mod common;

use common::{Project, last_json, read, result};
use std::fs;

/// Four runs of one step with noise, and one without, of the smallest network, where only the built-in data is found.
#[test]
fn a_factor_study_leaves_the_tables_of_its_paper() {
    let project = Project::new();
    let layers = r#"input = [1, 28, 28]
        layers = [{ type = "flatten" }, { type = "dense", features = 10 }]"#;
    fs::write(project.path("linear.toml"), layers).unwrap();
    let study = || {
        let arguments = [
            "study",
            "noisy-gradient",
            "--data",
            "mnist,svhn-grey",
            "--models",
            "linear.toml",
            "--optimizers",
            "adam",
            "--noise",
            "0.5",
            "--thresholds",
            "0.8,1.4",
            "--steps",
            "1",
            "--json",
            "--output",
            "study",
        ];
        let mut command = project.command(&arguments);
        command.env_remove("MUFFLE_DATA").env("XDG_DATA_HOME", "/nonexistent").output().unwrap()
    };
    let output = study();
    assert!(output.status.success(), "{output:?}");
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(message.contains("left out") && message.contains("/nonexistent/muffle/svhn"), "{message}");
    let first = last_json(&output);
    assert_eq!((&first["cells"], &first["finished"], &first["run_now"]), (&5.into(), &5.into(), &5.into()));
    for group in first["groups"].as_array().unwrap() {
        let order = group["levels"]["order"].as_str().unwrap();
        assert_eq!(group["epsilon_if_seed_is_secret"].is_number(), order == "CA", "{group}");
    }
    let distances = first["distortion"].as_array().unwrap();
    assert_eq!(distances.len(), 4);
    assert!(distances.iter().all(|row| row["mean"].as_f64().unwrap() > 0.0), "{distances:?}");

    let csv = read(&project, "study/results.csv");
    let header: Vec<&str> = csv.lines().next().unwrap().split(',').collect();
    let column = header.iter().position(|name| *name == "distortion").unwrap();
    for line in csv.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        assert_eq!(cells[column].is_empty(), line.contains(",plain,"), "{line}");
    }
    let text = read(&project, "study/results.md");
    for part in [
        "in the form of Table 3",
        "| linear.toml | adam | 1.4 | AC |",
        "| threshold | 0.8 | 1.4 |",
        "Left out: no factor has three or more levels here.",
        "Without a second level, and so in no test: data, model, optimizer, noise.",
        "| linear.toml | mnist | ",
        "left out: svhn-grey",
        "distortion, not privacy",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(read(&project, "study/steps.svg").contains("data mnist, model linear.toml, optimizer adam"));

    let again = last_json(&study());
    assert_eq!((&again["run_now"], &again["distortion"]), (&0.into(), &first["distortion"]));
    assert_eq!(read(&project, "study/results.md"), text);
}

/// Rates by network, optimizer and order, the last that fits; and noise of all records of a step at once.
#[test]
fn a_factor_study_takes_rates_and_noise_of_all_records_together() {
    let project = Project::new();
    let layers = r#"input = [1, 28, 28]
        layers = [{ type = "flatten" }, { type = "dense", features = 10 }]"#;
    fs::write(project.path("linear.toml"), layers).unwrap();
    let study = |rates: &[&str]| {
        let mut arguments = vec!["study", "noisy-gradient", "--data", "mnist", "--models", "linear.toml"];
        arguments.extend([
            "--optimizers",
            "adam",
            "--noise",
            "0.5",
            "--thresholds",
            "1.4",
            "--steps",
            "7,linear.toml=1",
            "--together",
        ]);
        rates.iter().for_each(|rate| arguments.extend(["--rate", *rate]));
        project.muffle(&[&arguments[..], &["--output", "study"]].concat())
    };
    for (rate, problem) in [
        ("linear.toml/adam", "MODEL/OPTIMIZER=RATE"),
        ("linear.toml/adam=0", "above zero"),
        (
            "linear.toml/adam/BC=1",
            "an order behind it (AC, CA, CAC, local, quantile, quantile-per-layer, quantile-sound, quantile-per-layer-sound, plain)",
        ),
        ("linear.toml/sgdm=1", "does not end in an optimizer (sgd, adam)"),
        ("lstm-rows/adam=1", "no run of this study"),
    ] {
        let refused = study(&[rate]);
        let message = String::from_utf8_lossy(&refused.stderr);
        assert!(!refused.status.success() && message.contains(problem), "{message}");
    }
    assert!(!project.path("study").exists());
    let output = study(&["linear.toml/adam=0.02", "linear.toml/adam/AC=0.5"]);
    assert!(output.status.success(), "{output:?}");
    let cells = fs::read_dir(project.path("study/cells")).unwrap();
    let recipes: Vec<String> =
        cells.map(|cell| fs::read_to_string(cell.unwrap().path().join("recipe.toml")).unwrap()).collect();
    let (before, others): (Vec<_>, Vec<_>) =
        recipes.iter().partition(|recipe| recipe.contains("noisy-gradient"));
    assert_eq!((before.len(), others.len()), (1, 2));
    assert!(
        before[0].contains("together = 1.0") && before[0].contains("learning_rate = 0.5"),
        "{}",
        before[0]
    );
    assert!(others.iter().all(|recipe| recipe.contains("learning_rate = 0.02")), "{others:?}");
    assert!(recipes.iter().all(|recipe| recipe.contains("steps = 1")), "{recipes:?}");
    let text = read(&project, "study/results.md");
    assert!(
        text.contains("one draw of noise in a step") && text.contains("linear.toml/adam/AC 0.5"),
        "{text}"
    );
    assert!(!text.contains("claimed"), "the paper claims no epsilon: {text}");
}

/// Every order of noise and clip runs; those that are proved have an epsilon, and all are tested as often as was asked for.
#[test]
fn a_factor_study_has_sound_orders_and_tests_on_the_way() {
    let project = Project::new();
    let layers = r#"input = [1, 28, 28]
        layers = [{ type = "flatten" }, { type = "dense", features = 10 }]"#;
    fs::write(project.path("linear.toml"), layers).unwrap();
    let (proved, others) = (
        ["CA", "CAC", "local", "quantile-sound", "quantile-per-layer-sound"],
        ["AC", "quantile", "quantile-per-layer"],
    );
    let orders = [&proved[..], &others].concat().join(",");
    let output = project.muffle(&[
        "study",
        "noisy-gradient",
        "--data",
        "mnist",
        "--models",
        "linear.toml",
        "--optimizers",
        "adam",
        "--noise",
        "0.5",
        "--thresholds",
        "1.4",
        "--steps",
        "4",
        "--evaluations",
        "2",
        "--orders",
        &orders,
        "--json",
        "--output",
        "study",
    ]);
    assert!(output.status.success(), "{output:?}");
    let json = last_json(&output);
    let groups = json["groups"].as_array().unwrap();
    assert_eq!(groups.len(), 1 + proved.len() + others.len());
    for group in groups {
        let order = group["levels"]["order"].as_str().unwrap();
        assert_eq!(group["epsilon_if_seed_is_secret"].is_number(), proved.contains(&order), "{group}");
    }
    for cell in fs::read_dir(project.path("study/cells")).unwrap() {
        let metrics = fs::read_to_string(cell.unwrap().path().join("metrics.jsonl")).unwrap();
        let tested: Vec<serde_json::Value> =
            metrics.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let tested: Vec<u64> = tested
            .iter()
            .filter(|line| line["test"]["accuracy"].is_number())
            .map(|line| line["step"].as_u64().unwrap())
            .collect();
        assert_eq!(tested, [2, 4]);
    }
}

/// Norms of a published set, as a table, a plot and JSON; those of one's own records are not shown.
#[test]
fn norms_of_gradients_are_shown_of_published_records_only() {
    let project = Project::new();
    let study = ["study", "gradient-norms", "--steps", "6", "--every", "3", "--output", "norms", "--json"];
    let own = project.muffle(&[&study[..], &["--recipe", "small.toml"]].concat());
    assert!(
        !own.status.success() && String::from_utf8_lossy(&own.stderr).contains("published data set"),
        "{own:?}"
    );
    assert!(!project.path("norms").exists(), "nothing is left behind");
    let weighted = project
        .muffle(&[&study[..], &["--recipe", "mnist", "--set", "weight_standardisation=true"]].concat());
    assert!(
        String::from_utf8_lossy(&weighted.stderr).contains("remove weight_standardisation"),
        "{weighted:?}"
    );
    let few =
        ["--recipe", "mnist", "--set", "model=cnn-small", "--set", "subset=500", "--set", "batch_size=50"];
    let found = result(&project, &[&study[..], &few, &["--plot", "norms.svg"]].concat());
    let looks = found["looks"].as_array().unwrap();
    assert_eq!((looks.len(), &looks[1][0]), (2, &3.into()), "steps 0 and 3: {found}");
    let norms = looks[1][1].as_array().unwrap();
    assert_eq!(norms.len(), found["tensors"].as_array().unwrap().len());
    assert!(norms.iter().all(|norm| norm.as_f64().unwrap() > 0.0), "{found}");
    assert_eq!(
        found,
        result(&project, &[&study[..], &few, &["--plot", "norms.svg"]].concat()),
        "a seed decides"
    );
    assert!(read(&project, "norms/results.md").contains("| step 0 | step 3 |"));
    assert!(read(&project, "norms.svg").contains("mean norm of a record"));
}
