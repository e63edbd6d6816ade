//! A folder with a small table of records and a recipe for it.

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

pub struct Project {
    folder: tempfile::TempDir,
}

/// Two classes that a small network tells apart, with the number of records declared.
const RECIPE: &str = r#"
    data = "people.toml"
    model = { layers = [{ type = "dense", features = 16 }, { type = "tanh" }, { type = "dense", features = 2 }] }
    epsilon = 4
    steps = 300
    batch_size = 50
    records = 500
    learning_rate = 0.5
    clip = { kind = "flat", threshold = 1.0 }
    threads = 1
"#;

/// The same classes by a committee of teachers.
const COMMITTEE: &str = r#"
    kind = "pate"
    data = "people.toml"
    public_from_test = 80
    epsilon = 8
    records = 500
    teachers = 20
    queries = 40
    votes = { kind = "gaussian" }
    evaluations = 1
    threads = 1
    [teacher]
    model = { layers = [{ type = "dense", features = 2 }] }
    steps = 40
    batch_size = 16
    learning_rate = 1.0
    [student]
    model = { layers = [{ type = "dense", features = 2 }] }
    steps = 60
    batch_size = 16
    learning_rate = 1.0
"#;

const DESCRIPTION: &str = r#"
    format = "csv"
    path = "people.csv"
    test_fraction = 0.2
    label = "answer"
    classes = ["no", "yes"]
    columns = [{ name = "a", range = [0, 1] }, { name = "b", range = [0, 1] }, { name = "c", range = [0, 1] }]
"#;

impl Project {
    pub fn new() -> Project {
        let folder = tempfile::tempdir().unwrap();
        let mut table = "a,b,c,answer\n".to_string();
        let mut state = 1u32;
        let mut uniform = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            f64::from(state >> 8) / f64::from(1u32 << 24)
        };
        for _ in 0..640 {
            let values = [uniform(), uniform(), uniform()];
            let answer = if values[0] + values[1] > 1.0 { "yes" } else { "no" };
            table += &format!("{:.4},{:.4},{:.4},{answer}\n", values[0], values[1], values[2]);
        }
        for (name, text) in [
            ("people.csv", &table[..]),
            ("people.toml", DESCRIPTION),
            ("small.toml", RECIPE),
            ("committee.toml", COMMITTEE),
        ] {
            fs::write(folder.path().join(name), text).unwrap();
        }
        Project { folder }
    }

    pub fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The binary, in the project's folder.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_muffle"));
        command.args(arguments).current_dir(self.folder.path());
        command
    }

    #[allow(dead_code, reason = "not every test waits for a command")]
    pub fn muffle(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }
}

/// The last line of standard output.
pub fn last_json(output: &Output) -> Value {
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.lines().last().unwrap_or_else(|| panic!("no output: {output:?}"));
    serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))
}

/// Runs a command and returns its result.
#[allow(dead_code, reason = "not every test asks for JSON")]
pub fn result(project: &Project, arguments: &[&str]) -> Value {
    let output = project.muffle(arguments);
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    last_json(&output)
}

#[allow(dead_code, reason = "not every test reads files of a run")]
pub fn read(project: &Project, name: &str) -> String {
    fs::read_to_string(project.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[allow(dead_code, reason = "not every test reads files of a run")]
pub fn read_json(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// The tensors of a weight file, without the header that says where they come from.
#[allow(dead_code, reason = "not every test looks at weights")]
pub fn weights(path: &Path) -> Vec<u8> {
    let file = fs::read(path).unwrap();
    let header = u64::from_le_bytes(*file.first_chunk().unwrap()) as usize;
    file[8 + header..].to_vec()
}

/// A weight file with another header.
#[allow(dead_code, reason = "not every test looks at weights")]
pub fn with_header(file: &[u8], edit: impl FnOnce(&mut Value)) -> Vec<u8> {
    let length = u64::from_le_bytes(*file.first_chunk().unwrap()) as usize;
    let mut header: Value = serde_json::from_slice(&file[8..8 + length]).unwrap();
    edit(&mut header);
    let header = header.to_string();
    [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &file[8 + length..]].concat()
}
