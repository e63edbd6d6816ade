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
