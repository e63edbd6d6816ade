//! The files of a table: one, several, or all whose names fit a pattern.

use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// One path or several, relative to the description; in the name of a file `*` stands for any letters and `?` for one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged, expecting = "expected a path, or a list of paths")]
pub enum Paths {
    /// One path, or one pattern.
    One(String),
    /// Several of them.
    Several(Vec<String>),
}

impl Paths {
    /// The paths as they are written.
    pub fn written(&self) -> &[String] {
        match self {
            Paths::One(path) => std::slice::from_ref(path),
            Paths::Several(paths) => paths,
        }
    }

    /// The files, in the order of the list; those of a pattern in the order of their names. None comes twice, and none is
    /// missing.
    pub fn files(&self, folder: &Path) -> Result<Vec<PathBuf>, String> {
        let mut files = Vec::new();
        for path in self.written() {
            let found = matching(&folder.join(path))?;
            if found.is_empty() {
                return Err(format!(
                    "`path` names {}, which is not there (paths are relative to the description)",
                    folder.join(path).display()
                ));
            }
            for file in found {
                if files.contains(&file) {
                    return Err(format!("`path` names {} twice", file.display()));
                }
                files.push(file);
            }
        }
        if files.is_empty() { Err("`path` names no file".to_string()) } else { Ok(files) }
    }
}

/// The path itself if it is there, otherwise all files beside it whose names fit.
fn matching(path: &Path) -> Result<Vec<PathBuf>, String> {
    let pattern = path.file_name().and_then(|name| name.to_str()).unwrap_or("");
    if path.exists() || !pattern.contains(['*', '?']) {
        return Ok(if path.exists() { vec![path.to_path_buf()] } else { Vec::new() });
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let entries = std::fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut found = Vec::new();
    for entry in entries {
        let file = entry.map_err(|error| format!("{}: {error}", folder.display()))?.path();
        let name = file.file_name().and_then(|name| name.to_str()).unwrap_or("");
        if file.is_file() && !name.starts_with('.') && fits(pattern.as_bytes(), name.as_bytes()) {
            found.push(file);
        }
    }
    found.sort();
    Ok(found)
}

/// Whether a name fits a pattern.
fn fits(pattern: &[u8], name: &[u8]) -> bool {
    let (mut at, mut place) = (0, 0);
    // Where to go on if the last star has to take one letter more.
    let mut star = None;
    while place < name.len() {
        match pattern.get(at) {
            Some(b'*') => {
                star = Some((at, place));
                at += 1;
            }
            Some(sign) if *sign == b'?' || *sign == name[place] => (at, place) = (at + 1, place + 1),
            _ => {
                let Some((before, taken)) = star else { return false };
                star = Some((before, taken + 1));
                (at, place) = (before + 1, taken + 1);
            }
        }
    }
    pattern[at..].iter().all(|sign| *sign == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_and_question_marks_stand_for_letters() {
        let fit = |pattern: &str, name: &str| fits(pattern.as_bytes(), name.as_bytes());
        assert!(fit("a*.csv", "a.csv") && fit("a*.csv", "a-1.csv.csv") && fit("*", "x") && fit("a?c", "abc"));
        assert!(fit("*a*b", "xaaxab") && fit("", "") && fit("**", ""));
        assert!(!fit("a*.csv", "b.csv") && !fit("a?c", "ac") && !fit("*.csv", "a.csv.gz") && !fit("a", "ab"));
    }

    #[test]
    fn files_come_in_order_and_once() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["b-2.csv", "b-1.csv", "a.csv", ".b-0.csv", "star*.csv"] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        let files = |paths: Paths| {
            paths.files(folder.path()).map(|files| {
                let name = |file: &PathBuf| file.file_name().unwrap().to_str().unwrap().to_string();
                files.iter().map(name).collect::<Vec<_>>()
            })
        };
        let one = |path: &str| files(Paths::One(path.to_string()));
        let several =
            |paths: &[&str]| files(Paths::Several(paths.iter().map(|path| path.to_string()).collect()));
        assert_eq!(one("b-*.csv").unwrap(), ["b-1.csv", "b-2.csv"]);
        assert_eq!(one("star*.csv").unwrap(), ["star*.csv"]);
        assert_eq!(several(&["b-?.csv", "a.csv"]).unwrap(), ["b-1.csv", "b-2.csv", "a.csv"]);
        assert!(several(&["a.csv", "a*"]).unwrap_err().contains("twice"));
        assert!(one("c*.csv").unwrap_err().contains("not there"));
        assert!(several(&[]).unwrap_err().contains("no file"));
    }
}
