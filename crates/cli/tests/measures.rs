//! Class weights, thresholds and measures by group, on the binary that users run.

mod common;

use common::{Project, last_json, read_json};
use serde_json::Value;
use std::fs;
use std::process::Output;

/// The table of the project, of which the answer `yes` is now rare, with a column that says in which of two wards somebody is.
fn project() -> Project {
    let project = Project::new();
    let table = fs::read_to_string(project.path("people.csv")).unwrap();
    let mut rows = "a,b,c,ward,answer\n".to_string();
    for row in table.lines().skip(1) {
        let values: Vec<f64> = row.split(',').take(3).map(|value| value.parse().unwrap()).collect();
        let answer = if values[0] + values[1] > 1.4 { "yes" } else { "no" };
        let ward = if values[2] < 0.9 { "east" } else { "west" };
        rows += &format!("{},{},{},{ward},{answer}\n", values[0], values[1], values[2]);
    }
    fs::write(project.path("people.csv"), rows).unwrap();
    let description = fs::read_to_string(project.path("people.toml")).unwrap();
    let ward = "{ name = \"ward\", categories = [\"east\", \"west\", \"north\"] }]";
    fs::write(
        project.path("people.toml"),
        description.replace("range = [0, 1] }]", &format!("range = [0, 1] }}, {ward}")),
    )
    .unwrap();
    project
}

fn train(project: &Project, output: &str, settings: &[&str]) -> Output {
    let settings = settings.iter().flat_map(|setting| ["--set", setting]);
    let fixed = ["train", "small.toml", "--seed", "1", "--json", "--output", output];
    let output = project.muffle(&fixed.into_iter().chain(settings).collect::<Vec<&str>>());
    assert!(output.status.success(), "{output:?}");
    output
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_model_knows_its_threshold_and_is_measured_by_group() {
    let project = project();
    let threshold = "threshold={goal={recall=0.9},records={kind=\"held-out\",share=0.2,epsilon=1}}";
    let weights = ["class_weights=balanced", "class_shares={epsilon=0.5}"];
    let end = last_json(&train(&project, "run", &[&weights[..], &[threshold]].concat()));
    let evaluated = last_json(&project.muffle(&["evaluate", "run", "--groups", "ward", "--json"]));
    for key in ["balanced_accuracy", "area_under_curve", "area_under_precision_recall", "f1", "loss"] {
        assert!(evaluated[key].is_number() && evaluated[key] == end["test"][key], "{key}: {evaluated} {end}");
    }
    let certificate = read_json(&project.path("run/privacy.json"));
    assert_eq!(certificate["preparations"][0]["purpose"], "class_shares");
    let chosen = evaluated["threshold"].as_f64().unwrap();
    // The threshold decides what is predicted: the probability of `yes` on its either side.
    let predicted = text(&project.muffle(&["predict", "run"]).stdout);
    let said = predicted.lines().skip(1).filter(|line| {
        let cells: Vec<&str> = line.split(',').collect();
        let (class, probability): (&str, f64) = (cells[1], cells[3].parse().unwrap());
        assert!((class == "yes") == (probability >= chosen) || (probability - chosen).abs() < 1e-5, "{line}");
        class == "yes"
    });
    let yes = &evaluated["classes"][1];
    assert_eq!((yes["name"].as_str(), yes["predicted"].as_u64()), (Some("yes"), Some(said.count() as u64)));
    let recall = &yes["recall"];
    let within = |low: &Value, value: &Value, high: &Value| {
        low.as_f64() <= value.as_f64() && value.as_f64() <= high.as_f64()
    };
    assert!(within(&recall["interval"][0], &recall["share"], &recall["interval"][1]), "{recall}");
    let groups = evaluated["groups"]["groups"].as_array().unwrap();
    let records: Vec<u64> = groups.iter().map(|group| group["records"].as_u64().unwrap()).collect();
    assert_eq!((records[0] + records[1], records[2]), (evaluated["records"].as_u64().unwrap(), 0));
    assert!(groups[1]["small"] == true && groups[2]["accuracy"].is_null(), "{evaluated}");
    let printed = text(&project.muffle(&["evaluate", "run", "--groups", "ward"]).stdout);
    for part in
        ["balanced accuracy", "yes by ward", "west *", "records of each class", "no epsilon covers them"]
    {
        assert!(printed.contains(part), "{part}: {printed}");
    }
    let refused = project.muffle(&["evaluate", "run", "--groups", "a"]);
    let message = text(&refused.stderr);
    assert!(refused.status.code() == Some(2) && message.contains("there are ward"), "{message}");
    assert!(message.contains("--edges"), "{message}");
    // The ward is east where `c` is below 0.9.
    let ranges = ["evaluate", "run", "--groups", "c", "--edges", "0.9", "--json"];
    let by_number = last_json(&project.muffle(&ranges))["groups"]["groups"].clone();
    assert_eq!(
        (&by_number[0]["name"], &by_number[1]["name"]),
        (&"below 0.9".into(), &"0.9 and above".into())
    );
    for key in ["records", "accuracy", "rates"] {
        assert_eq!((&by_number[0][key], &by_number[1][key]), (&groups[0][key], &groups[1][key]), "{key}");
    }
    for (edges, part) in [("2", "outside of the range of `c`"), ("0.5,0.2", "have to go up")] {
        let refused = project.muffle(&["evaluate", "run", "--groups", "c", "--edges", edges]);
        assert!(text(&refused.stderr).contains(part), "{refused:?}");
    }
}

#[test]
fn a_class_that_is_never_predicted_is_warned_of_everywhere() {
    let project = project();
    let never = "threshold=0.999999";
    let said = |output: Output| text(&output.stderr) + &text(&output.stdout);
    let trained = project.muffle(&[
        "train",
        "small.toml",
        "--quiet",
        "--output",
        "run",
        "--set",
        never,
        "--set",
        "steps=3",
    ]);
    assert!(said(trained).contains("warning: never predicted: yes"));
    assert!(said(project.muffle(&["evaluate", "run"])).contains("warning: never predicted: yes"));
    let compare =
        ["compare", "--methods", "dp-sgd", "--recipe", "small.toml", "--epsilon", "4", "--seeds", "1"];
    let more = ["--quiet", "--output", "c", "--set", never, "--set", "steps=3"];
    let compared = said(project.muffle(&[&compare[..], &more].concat()));
    assert!(compared.contains("never predict a class") && compared.contains("(yes)"), "{compared}");
}

/// Of two thresholds one finds more, and the other is right more often.
#[test]
fn a_sweep_ranks_by_any_measure() {
    let project = project();
    let sweep =
        ["sweep", "small.toml", "--seeds", "1", "--json", "--output", "s", "--grid", "threshold=0.1,0.6"];
    let best = |measure: &str| {
        let swept = last_json(&project.muffle(&[&sweep[..], &["--rank-by", measure]].concat()));
        assert_eq!(swept["measure"], measure);
        swept["best"]["folder"].as_str().unwrap().to_string()
    };
    assert_eq!(best("recall:yes"), "cells/threshold=0.1-1");
    assert_eq!(best("precision:yes"), "cells/threshold=0.6-1");
    assert_eq!(best("auroc"), "cells/threshold=0.1-1", "a threshold moves no ranking: the first of equals");
    let table = fs::read_to_string(project.path("s/results.csv")).unwrap();
    assert!(table.starts_with("threshold,seed,auroc,loss,"), "{table}");
    let refused = project.muffle(&[&sweep[..], &["--rank-by", "recall:maybe"]].concat());
    let message = text(&refused.stderr);
    assert!(refused.status.code() == Some(2) && message.contains("there are no, yes"), "{message}");
}
