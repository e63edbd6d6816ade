//! `muffle data`, as a user calls it.

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

/// Runs with an empty home, so that only what a test names is found.
fn muffle(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_muffle"))
        .args(arguments)
        .env_remove("MUFFLE_DATA")
        .env_remove("MUFFLE_MIRROR")
        .env("XDG_DATA_HOME", "/nonexistent")
        .output()
        .expect("the binary runs")
}

fn text(arguments: &[&str]) -> String {
    let output = muffle(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn object(arguments: &[&str]) -> Value {
    serde_json::from_str(&text(&[arguments, &["--json"]].concat())).unwrap()
}

fn refused(arguments: &[&str], expected: &[&str]) {
    let output = muffle(arguments);
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {message}");
    for expected in expected {
        assert!(message.contains(expected), "{arguments:?}: {message}");
    }
    assert!(!message.contains("panicked"), "{message}");
}

/// A small table with its description.
fn table(folder: &Path) -> String {
    let rows: String = (0..50).map(|row| format!("{},{}\n", row, ["no", "yes"][row % 2])).collect();
    std::fs::write(folder.join("t.csv"), format!("age,class\n{rows}")).unwrap();
    let description = "format = \"csv\"\npath = \"t.csv\"\nlabel = \"class\"\nclasses = [\"no\", \"yes\"]\n\
                       test_fraction = 0.3\n[[columns]]\nname = \"age\"\nrange = [0, 100]\n";
    std::fs::write(folder.join("t.toml"), description).unwrap();
    folder.join("t.toml").display().to_string()
}

#[test]
fn the_list_names_every_set_and_how_to_get_it() {
    let list = object(&["data", "list"]);
    let names: Vec<&str> = list.as_array().unwrap().iter().map(|set| set["name"].as_str().unwrap()).collect();
    let expected = [
        "mnist",
        "fashion-mnist",
        "cifar10",
        "cifar10-grey",
        "cifar100",
        "svhn",
        "svhn-grey",
        "optdigits",
        "adult",
        "breast-cancer",
        "leaves",
        "leaves-grey",
    ];
    assert_eq!(names, expected);
    assert_eq!(list[0]["found"], "built in");
    assert_eq!(list[2]["found"], Value::Null);
    assert_eq!((&list[2]["train"], &list[2]["test"]), (&50_000.into(), &10_000.into()));
    let text = text(&["data", "list"]);
    assert!(text.contains("muffle data fetch cifar10-grey") && text.contains("built in"), "{text}");
}

#[test]
fn mnist_is_described_and_checked() {
    let info = object(&["data", "info", "mnist"]);
    assert_eq!((&info["train"], &info["test"]), (&60_000.into(), &10_000.into()));
    assert_eq!(info["shape"], serde_json::json!([1, 28, 28]));
    assert_eq!(info["class_counts"]["test"][0], 980);
    assert!(info["scaling"].as_str().unwrap().contains("0.1307"));
    let check = object(&["data", "check", "mnist"]);
    assert_eq!(check["ok"], true);
    let files = check["files"].as_array().unwrap();
    assert!(files.len() == 4 && files.iter().all(|file| file["checksum_verified"] == true));
    let text = text(&["data", "info", "mnist"]);
    assert!(text.contains("CC BY-SA") && text.contains("none is computed from the records"), "{text}");
    assert!(muffle(&["data", "fetch", "mnist"]).status.success());
}

#[test]
fn counts_of_private_records_are_shown_only_on_demand() {
    let folder = tempfile::tempdir().unwrap();
    let path = table(folder.path());
    assert_eq!(object(&["data", "info", &path])["class_counts"], Value::Null);
    let plain = text(&["data", "info", &path]);
    assert!(plain.contains("--reveal") && plain.contains("no, yes"), "{plain}");
    let revealed = object(&["data", "info", &path, "--reveal"]);
    let counts = &revealed["class_counts"]["train"];
    assert_eq!(
        counts[0].as_u64().unwrap() + counts[1].as_u64().unwrap(),
        revealed["train"].as_u64().unwrap()
    );
    let check = object(&["data", "check", &path]);
    assert_eq!(check["train"].as_u64().unwrap() + check["test"].as_u64().unwrap(), 50);
    assert_eq!(check.get("class_counts"), None);
}

#[test]
fn bad_input_is_refused_with_the_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().display().to_string();
    refused(&["data", "info", "mnsit"], &["mnsit", "did you mean `mnist`", "cifar10"]);
    refused(&["data", "check", "cifar10", "--data-dir", &root], &[&root, "muffle data fetch cifar10"]);
    refused(&["data", "check", "./nowhere.toml"], &["./nowhere.toml", "no such file"]);
    refused(&["data", "fetch", "people"], &["people", "known"]);
    refused(
        &["data", "fetch", "adult", "--data-dir", &root, "--mirror", "http://127.0.0.1:1"],
        &["127.0.0.1:1", "try again"],
    );
    let path = table(folder.path());
    refused(&["data", "list", "--data-dir", &path], &["is a file"]);
    std::fs::write(folder.path().join("t.csv"), "age,class\n3,no\nold,yes\n").unwrap();
    refused(&["data", "check", &path], &["t.csv, line 3, column `age`", "not a number"]);
    std::fs::create_dir(folder.path().join("optdigits")).unwrap();
    for name in ["optdigits.tra", "optdigits.tes"] {
        std::fs::write(folder.path().join("optdigits").join(name), "0,1,2\n").unwrap();
    }
    refused(&["data", "check", "optdigits", "--data-dir", &root], &["optdigits.t", "byte 6", "published"]);
    refused(&["data"], &["Usage"]);
}

/// A table of 4,000 people, without a description.
fn people(folder: &Path) -> [String; 3] {
    let line = |row: usize| {
        format!("{};{};{}\n", 18 + row % 60, ["nurse", "teacher"][row % 2], ["no", "yes"][row % 3 / 2])
    };
    let rows: String = (0..4000).map(line).collect();
    std::fs::write(folder.join("people.csv"), format!("age;job;ill\n{rows}")).unwrap();
    ["people.csv", "people.toml", "people.ledger.jsonl"].map(|name| folder.join(name).display().to_string())
}

#[test]
fn a_table_is_described_and_its_ranges_are_paid_for() {
    let folder = tempfile::tempdir().unwrap();
    let [table, description, ledger] = people(folder.path());
    let names = ["--label", "ill", "--number", "age", "--category", "job"];
    let describe = [&["data", "describe", &table, "--output", &description], &names[..]].concat();
    assert_eq!(object(&describe)["open"], 3);
    refused(&describe, &["there already"]);
    let draft = std::fs::read_to_string(&description).unwrap();
    assert!(!draft.contains("nurse") && draft.contains("path = \"people.csv\""), "{draft}");
    refused(&["data", "check", &description], &["people.toml", "still to be filled in"]);

    let pay = ["data", "ranges", &table, "--description", &description, "--epsilon", "0.5"];
    let paid = object(&pay);
    assert_eq!(paid["event"], serde_json::json!({ "kind": "laplace", "noise_multiplier": 2.0 }));
    assert_eq!((&paid["delta"], &paid["adjacency"]), (&0.0.into(), &"add_remove".into()));
    // 4,000 records at scale 2: chance has no part in it.
    assert_eq!(paid["ranges"]["age"], serde_json::json!([16.0, 80.0]));
    assert_eq!(std::fs::read_to_string(&ledger).unwrap().lines().count(), 1);
    refused(&pay, &["leaves no range open"]);
    refused(&["data", "ranges", &table, "--epsilon", "0.5"], &["no description", "--description"]);
    refused(&["data", "ranges", &description, "--epsilon", "0"], &["--epsilon 0 must lie between"]);

    let text = std::fs::read_to_string(&description).unwrap();
    assert!(
        text.contains("range = [16.0, 80.0]  # released at epsilon 0.5, see people.ledger.jsonl"),
        "{text}"
    );
    let text = text.replace("classes = [\"?\"]", "classes = [\"no\", \"yes\"]");
    let text = text.replace("categories = [\"?\"]", "categories = [\"nurse\", \"teacher\"]");
    std::fs::write(&description, text).unwrap();
    let check = object(&["data", "check", &description]);
    assert_eq!(check["train"].as_u64().unwrap() + check["test"].as_u64().unwrap(), 4000);
}

#[test]
fn a_public_sample_fills_a_description() {
    let folder = tempfile::tempdir().unwrap();
    let [table, description, _] = people(folder.path());
    let describe =
        ["data", "describe", &table, "--label", "ill", "--public-sample", &table, "--output", &description];
    assert_eq!(object(&describe)["open"], 0);
    assert_eq!(object(&["data", "check", &description])["shape"], serde_json::json!([4]));
}
