//! The tutorial does what it says: its commands run, in order, in an empty folder.

use std::path::Path;
use std::process::Command;

const TUTORIAL: &str = include_str!("../../../docs/tutorial.md");

/// The commands of one chapter: its `sh` blocks, as they stand.
fn script(chapter: &str) -> String {
    let start = TUTORIAL.find(&format!("\n## {chapter}\n")).expect("the chapter is there") + 1;
    let text = &TUTORIAL[start..];
    let text = &text[..text[3..].find("\n## ").map_or(text.len(), |end| end + 3)];
    let mut script = String::from("set -euo pipefail\n");
    for part in text.split("\n```").skip(1).step_by(2) {
        let (language, body) = part.split_once('\n').expect("a block has a first line");
        if language == "sh" {
            script += body;
            script += "\n";
        }
    }
    assert!(script.lines().count() > 3, "chapter {chapter} has commands");
    script
}

fn follow(chapter: &str) {
    if Command::new("bash").arg("--version").output().is_err() {
        eprintln!("skipped: there is no bash here to follow the tutorial with");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let binaries = Path::new(env!("CARGO_BIN_EXE_muffle")).parent().unwrap();
    let path = format!("{}:{}", binaries.display(), std::env::var("PATH").unwrap_or_default());
    let output = Command::new("bash")
        .args(["-c", &script(chapter)])
        .current_dir(folder.path())
        .env("PATH", path)
        .env("HOME", folder.path())
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{chapter}\n{}\n{}", text(&output.stdout), text(&output.stderr));
}

#[test]
fn a_table_from_a_messy_file_to_scored_rows() {
    follow("A table");
}

#[test]
fn a_folder_of_images() {
    follow("Images");
}

#[test]
fn short_texts() {
    follow("Texts");
}
