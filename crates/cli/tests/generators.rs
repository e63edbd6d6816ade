//! Generators from a table to rows that may be shared: `train`, `sample`, `evaluate`, `attack generator`.

mod common;

use common::{Project, last_json};
use std::fs;
use std::process::Output;

/// Rows with a category and two numbers, of which the answer follows.
fn project() -> Project {
    let project = Project::new();
    let table = fs::read_to_string(project.path("people.csv")).unwrap();
    let mut rows = "age,job,score,answer\n".to_string();
    for row in table.lines().skip(1) {
        let values: Vec<f64> = row.split(',').take(3).map(|value| value.parse().unwrap()).collect();
        let job = ["baker", "clerk", "smith"][(3.0 * values[1]) as usize];
        let answer = if values[0] + values[1] > 1.0 { "yes" } else { "no" };
        rows += &format!("{},{job},{},{answer}\n", 20.0 + (60.0 * values[0]).round(), values[2]);
    }
    fs::write(project.path("people.csv"), rows).unwrap();
    let description = r#"
        format = "csv"
        path = "people.csv"
        test_fraction = 0.2
        label = "answer"
        classes = ["no", "yes"]
        columns = [
            { name = "age", range = [20, 80] },
            { name = "job", categories = ["baker", "clerk", "smith"] },
            { name = "score", range = [0, 1] },
        ]
    "#;
    fs::write(project.path("people.toml"), description).unwrap();
    let recipe = r#"
        kind = "adversarial"
        method = "dpgan"
        data = "people.toml"
        records = 500
        epsilon = 8
        steps = 1
        batch_size = 500
        learning_rate = 1.0
        clip = { kind = "flat", threshold = 1.0 }
        evaluations = 1
        threads = 1
        class_shares = { epsilon = 1 }
        model = { layers = [
            { type = "marginals", widths = [1, 3, 1], parts = 6 },
            { type = "dense", features = 2, bias = false },
        ] }
        [generator]
        objective = "moments"
        steps = 300
        batch_size = 100
        latent = 8
        learning_rate = 0.01
        optimizer = { kind = "adam" }
        model = { layers = [
            { type = "dense", features = 32 },
            { type = "relu" },
            { type = "dense", features = 5 },
            { type = "blocks", widths = [1, 3, 1] },
        ] }
        [classifier]
        model = { layers = [{ type = "dense", features = 2 }] }
        steps = 200
        batch_size = 50
        learning_rate = 0.5
    "#;
    fs::write(project.path("rows.toml"), recipe).unwrap();
    project
}

fn train(project: &Project, output: &str, more: &[&str]) -> serde_json::Value {
    let fixed = ["train", "rows.toml", "--seed", "1", "--json", "--output", output];
    let done = project.muffle(&[&fixed[..], more].concat());
    assert!(done.status.success(), "{done:?}");
    last_json(&done)
}

fn said(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn rows_are_learned_drawn_measured_and_attacked() {
    let project = project();
    let end = train(&project, "run", &[]);
    assert!(end["epsilon_if_seed_is_secret"].as_f64().unwrap() <= 8.0, "{end}");
    assert_eq!((&end["delta"], &end["steps"]), (&1e-5.into(), &301.into()), "{end}");
    assert!(end["run_dir"].as_str().unwrap().ends_with("run"), "{end}");
    // Guessing is right half of the time; real rows give 0.9 and more.
    let accuracy = end["synthetic_accuracy"].as_f64().unwrap();
    assert!(accuracy > 0.75 && accuracy <= 1.0, "{end}");

    let drawn = project.muffle(&["sample", "run", "--count", "200", "--seed", "5"]);
    assert!(drawn.status.success(), "{drawn:?}");
    let text = String::from_utf8(drawn.stdout.clone()).unwrap();
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("age,job,score,answer"));
    let rows: Vec<Vec<&str>> = lines.map(|line| line.split(',').collect()).collect();
    assert_eq!(rows.len(), 200);
    for row in &rows {
        let number = |cell: &str| cell.parse::<f64>().unwrap();
        assert!((20.0..=80.0).contains(&number(row[0])) && (0.0..=1.0).contains(&number(row[2])), "{row:?}");
        assert!(["baker", "clerk", "smith"].contains(&row[1]) && ["no", "yes"].contains(&row[3]), "{row:?}");
    }
    let again = project.muffle(&["sample", "run", "--count", "200", "--seed", "5"]);
    assert_eq!(again.stdout, drawn.stdout);
    let one = project.muffle(&["sample", "run", "--count", "50", "--class", "yes", "--seed", "5"]);
    let text = String::from_utf8(one.stdout).unwrap();
    assert!(text.lines().skip(1).all(|line| line.ends_with(",yes")) && text.lines().count() == 51, "{text}");

    let quality = last_json(&project.muffle(&["evaluate", "run", "--json"]));
    for key in
        ["synthetic_accuracy", "real_accuracy", "accuracy_on_synthetic", "coverage", "frechet_distance"]
    {
        assert!(quality[key].as_f64().is_some_and(|value| value >= 0.0), "{key}: {quality}");
    }
    for column in ["age", "job", "score"] {
        assert!(quality["marginals"][column].as_f64().is_some_and(|share| share < 0.5), "{quality}");
    }

    train(&project, "plain", &["--set", "private=false", "--set", "epsilon=", "--set", "class_shares="]);
    let attack = ["attack", "generator", "run", "--against", "plain", "--records", "100", "--json"];
    let found = last_json(&project.muffle(&attack));
    let attacks = found["attacks"].as_array().unwrap();
    let names: Vec<String> = attacks.iter().map(|one| format!("{} {}", one["run"], one["attack"])).collect();
    assert_eq!(names.len(), 4, "{names:?}");
    assert!(attacks.iter().all(|one| (0.0..=1.0).contains(&one["auc"].as_f64().unwrap())), "{found}");
}

#[test]
fn files_have_the_form_that_their_name_says() {
    let project = project();
    train(&project, "run", &["--set", "generator.steps=3"]);
    for (name, start) in [("rows.parquet", &b"PAR1"[..]), ("rows.csv", b"age,job")] {
        let done = project.muffle(&["sample", "run", "--count", "20", "--output", name, "--json"]);
        assert!(done.status.success(), "{done:?}");
        assert_eq!(last_json(&done)["records"], 20);
        assert!(fs::read(project.path(name)).unwrap().starts_with(start));
    }
    let picture = said(&project.muffle(&["sample", "run", "--output", "rows.png"]));
    assert!(picture.contains("no pictures"), "{picture}");
    let class = said(&project.muffle(&["sample", "run", "--class", "maybe"]));
    assert!(class.contains("maybe") && class.contains("yes"), "{class}");
    let folder = said(&project.muffle(&["sample", "nowhere"]));
    assert!(folder.contains("nowhere"), "{folder}");
}

/// The curve rises, has every run and real records on it, and a plain run of a published form is a run like others.
#[test]
fn generated_records_are_worth_more_the_more_there_are() {
    let project = project();
    train(&project, "run", &["--set", "generator.steps=150"]);
    let published = ["--mode", "as-published", "--set", "generator.steps=150", "--set", "private=false"];
    train(&project, "plain", &[&published[..], &["--set", "epsilon=", "--set", "class_shares="]].concat());
    let asked = [
        "evaluate",
        "run",
        "--against",
        "plain",
        "--counts",
        "300,2,501",
        "--repeats",
        "4",
        "--set",
        "classifier.steps=60",
        "--threads",
        "1",
    ];
    let drawn = project.muffle(&[&asked[..], &["--json", "--plot", "curves.svg"]].concat());
    assert!(drawn.status.success(), "{drawn:?}");
    let found = last_json(&drawn);
    assert_eq!((&found["classifier_steps"], &found["repeats"]), (&60.into(), &4.into()), "{found}");
    let curves = found["curves"].as_array().unwrap();
    for (curve, name) in curves.iter().zip(["run", "plain", "real records"]) {
        assert_eq!(curve["name"], name);
        let points = curve["points"].as_array().unwrap();
        let counts: Vec<u64> = points.iter().map(|point| point["count"].as_u64().unwrap()).collect();
        assert_eq!(counts, [2, 300, 501], "{curve}");
        let mean = |place: usize| points[place]["mean"].as_f64().unwrap();
        assert!(mean(0) < mean(1) && mean(1) > 0.7 && mean(1) <= 1.0, "{curve}");
        assert_eq!(points[1]["accuracies"].as_array().unwrap().len(), 4);
        assert!(points[0]["standard_error"].as_f64() < points[0]["standard_deviation"].as_f64(), "{curve}");
    }
    assert_eq!(curves.len(), 3);
    let picture = fs::read_to_string(project.path("curves.svg")).unwrap();
    assert!(picture.contains("plain: records to learn from 300"), "{picture}");
    let printed = String::from_utf8(project.muffle(&asked).stdout).unwrap();
    let mean = format!("{:.2} ±", 100.0 * curves[2]["points"][1]["mean"].as_f64().unwrap());
    assert!(
        printed.lines().any(|line| line.trim_start().starts_with("300") && line.contains(&mean)),
        "{printed}"
    );
}

#[test]
fn what_has_no_curve_is_refused_with_the_remedy() {
    let project = project();
    train(&project, "run", &["--set", "generator.steps=3"]);
    let classless =
        "model={layers=[{type=\"marginals\",widths=[1,3,1],parts=6},{type=\"dense\",features=1,bias=false}]}";
    let unconditional =
        ["--set", "generator.steps=3", "--set", "generator.conditional=false", "--set", "class_shares="];
    train(
        &project,
        "classless",
        &[&unconditional[..], &["--set", classless, "--set", "classifier="]].concat(),
    );
    train(&project, "bare", &["--set", "generator.steps=3", "--set", "classifier="]);
    for (arguments, part) in [
        (&["run", "--counts", "0"][..], "--counts"),
        (&["run", "--repeats", "3"], "--counts"),
        (&["run", "--counts", "9", "--set", "epsilon=3"], "classifier.steps=500"),
        (&["run", "--counts", "9", "--set", "classifier.steps=0"], "classifier.steps = 0"),
        (&["run", "--counts", "9", "--against", "nowhere"], "nowhere"),
        (&["run", "--counts", "9", "--against", "classless"], "generator.conditional = true"),
        (&["bare", "--counts", "9"], "no [classifier]"),
        (&["people.toml", "--counts", "9"], "kind \"adversarial\""),
    ] {
        let message = said(&project.muffle(&[&["evaluate"], arguments].concat()));
        assert!(message.contains(part), "{arguments:?}: {message}");
    }
}
