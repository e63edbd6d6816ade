//! All that lies in a folder: which runs, which results. Looked at again and again, it reads only what has changed.

use super::analysis::Analysis;
use super::run::Run;
use super::stamp::Stamp;
use super::state::State;
use super::summary::Summary;
use crate::results::{PLOTS, TEXT};
use muffle::experiment::{failures, planned};
use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Folders within folders that are looked through, and how many entries in all.
const DEEPEST: usize = 5;
const MOST_ENTRIES: usize = 50_000;
/// Runs whose analysis is kept.
const MOST_ANALYSES: usize = 64;
/// New folders are looked for this often.
const WALK: Duration = Duration::from_secs(2);
/// Folders in which no runs lie. What is inside the folder of a run is not looked through at all.
const OTHERS: [&str; 2] = ["target", "node_modules"];

/// A folder of runs and results.
pub struct Shelf {
    root: PathBuf,
    known: Mutex<Known>,
    analyses: Mutex<HashMap<String, (Stamp, Arc<Analysis>)>>,
}

/// What lies in a folder at one time.
#[derive(Default)]
pub struct Contents {
    /// Grows with every change.
    pub version: u64,
    /// Runs, by name.
    pub runs: BTreeMap<String, Summary>,
    /// Results of comparisons, sweeps, studies, audits and attacks, by name.
    pub results: BTreeMap<String, ResultFolder>,
    /// Whether there is more than is looked through.
    pub more: bool,
}

/// A folder with results.
#[derive(Clone, Debug, PartialEq)]
pub struct ResultFolder {
    /// Seen from the folder of all runs.
    pub name: String,
    /// Where it is.
    pub path: PathBuf,
    stamp: Stamp,
}

#[derive(Default)]
struct Known {
    walked: Option<Instant>,
    runs: BTreeMap<String, (PathBuf, Stamp, Summary)>,
    contents: Arc<Contents>,
}

impl Shelf {
    /// A folder to look at, or why not.
    pub fn open(root: &Path) -> Result<Shelf, String> {
        let wrong = |reason: String| {
            format!(
                "{}: {reason}; give a folder with runs, such as the one that `muffle train` wrote to",
                root.display()
            )
        };
        let root = root.canonicalize().map_err(|error| wrong(error.to_string()))?;
        if !root.is_dir() {
            return Err(wrong("this is no folder".to_string()));
        }
        Ok(Shelf { root, known: Mutex::default(), analyses: Mutex::default() })
    }

    /// What it is called.
    pub fn name(&self) -> String {
        self.root.file_name().unwrap_or(self.root.as_os_str()).to_string_lossy().into_owned()
    }

    /// What lies there by now.
    pub fn contents(&self) -> Arc<Contents> {
        let mut known = locked(&self.known);
        let due = known.walked.is_none_or(|walked| walked.elapsed() >= WALK);
        let walk = due.then(|| Walk::through(&self.root));
        let unfinished = |summary: &Summary| summary.state != State::Finished;
        let paths: Vec<(String, PathBuf)> = match &walk {
            Some(walk) => walk.runs.clone(),
            None => known.runs.iter().map(|(name, (path, ..))| (name.clone(), path.clone())).collect(),
        };
        let mut runs = BTreeMap::new();
        for (name, path) in paths {
            let before = known.runs.remove(&name);
            let entry = match before {
                // One that is finished changes only when it is taken up again, which can wait for the next walk.
                Some(before) if !due && !unfinished(&before.2) => before,
                before => read(&name, &path, before),
            };
            runs.insert(name, entry);
        }
        known.runs = runs;
        let mut contents = Contents {
            version: known.contents.version,
            runs: known.runs.iter().map(|(name, (.., summary))| (name.clone(), summary.clone())).collect(),
            results: known.contents.results.clone(),
            more: known.contents.more,
        };
        if let Some(walk) = walk {
            known.walked = Some(Instant::now());
            (contents.results, contents.more) = (walk.results, walk.more);
            contents.runs.extend(without_folder(&contents));
        } else {
            let waiting = known.contents.runs.iter().filter(|(name, _)| !known.runs.contains_key(*name));
            contents.runs.extend(waiting.map(|(name, summary)| (name.clone(), summary.clone())));
        }
        if contents.runs != known.contents.runs || contents.results != known.contents.results {
            contents.version += 1;
            known.contents = Arc::new(contents);
        }
        known.contents.clone()
    }

    /// Where a run is. No other file can be reached: names are looked up among those that were found.
    pub fn run_path(&self, name: &str) -> Option<PathBuf> {
        let known = || locked(&self.known).runs.get(name).map(|run| run.0.clone());
        let path = known().or_else(|| {
            self.contents();
            known()
        });
        path.filter(|path| path.is_dir())
    }

    /// A run by its name, read whole.
    pub fn run(&self, name: &str) -> Option<Run> {
        Some(Run::read(name, &self.run_path(name)?))
    }

    /// Something to compare: another text when files of these runs have changed, or somebody has begun or ended to work on them.
    pub fn mark(&self, names: &[String]) -> String {
        let paths: Vec<PathBuf> = names
            .iter()
            .filter_map(|name| locked(&self.known).runs.get(name).map(|run| run.0.clone()))
            .collect();
        let marks =
            paths.iter().map(|path| format!("{:?}{}", Stamp::of_run(path), muffle::run::is_at_work(path)));
        let mut hasher = DefaultHasher::new();
        marks.for_each(|mark| mark.hash(&mut hasher));
        format!("{:016x}", hasher.finish())
    }

    /// What takes a while to compute of a run, computed once.
    pub fn analysis(&self, run: &Run) -> Arc<Analysis> {
        let stamp = Stamp::of_run(&run.path);
        if let Some((known, analysis)) = locked(&self.analyses).get(&run.name)
            && *known == stamp
        {
            return analysis.clone();
        }
        let analysis = Arc::new(Analysis::of(run));
        let mut analyses = locked(&self.analyses);
        if analyses.len() >= MOST_ANALYSES {
            analyses.clear();
        }
        analyses.insert(run.name.clone(), (stamp, analysis.clone()));
        analysis
    }
}

/// A thread that failed has changed nothing that others could not look at again.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reads a run again if it has changed.
fn read(name: &str, path: &Path, before: Option<(PathBuf, Stamp, Summary)>) -> (PathBuf, Stamp, Summary) {
    let stamp = Stamp::of_run(path);
    match before {
        Some(before) if before.1 == stamp && is_settled(&before.2, path) => before,
        _ => (path.to_path_buf(), stamp, Run::glance(name, path).summary()),
    }
}

/// Whether the state of a run follows from its files: that of one without a certificate also from who is at work.
fn is_settled(summary: &Summary, path: &Path) -> bool {
    summary.state == State::Finished || (summary.state == State::Running) == muffle::run::is_at_work(path)
}

/// Runs that experiments have in mind, or that failed before they had a folder.
fn without_folder(contents: &Contents) -> Vec<(String, Summary)> {
    let mut found = Vec::new();
    for result in contents.results.values() {
        let failed = failures(&result.path);
        for cell in planned(&result.path) {
            let name = joined(&result.name, &format!("cells/{cell}"));
            if !contents.runs.contains_key(&name) {
                found.push((name.clone(), Summary::without_folder(name, failed.get(&cell).cloned())));
            }
        }
    }
    found
}

fn joined(folder: &str, name: &str) -> String {
    if ["", "."].contains(&folder) { name.to_string() } else { format!("{folder}/{name}") }
}

#[derive(Default)]
struct Walk {
    runs: Vec<(String, PathBuf)>,
    results: BTreeMap<String, ResultFolder>,
    entries: usize,
    more: bool,
}

impl Walk {
    fn through(root: &Path) -> Walk {
        let mut walk = Walk::default();
        walk.enter(root, "", 0);
        walk
    }

    /// Looks into one folder. Links are not followed: what they lead to may lie elsewhere.
    fn enter(&mut self, path: &Path, name: &str, depth: usize) {
        if path.join("recipe.toml").is_file() {
            self.runs.push((shown(name), path.to_path_buf()));
            return;
        }
        let Ok(entries) = std::fs::read_dir(path) else { return };
        let (mut folders, mut has_results) = (Vec::new(), false);
        for entry in entries.flatten() {
            self.entries += 1;
            if self.entries > MOST_ENTRIES {
                self.more = true;
                break;
            }
            let (file, kind) = (entry.file_name().to_string_lossy().into_owned(), entry.file_type());
            match kind {
                Ok(kind) if kind.is_dir() && !file.starts_with('.') && !OTHERS.contains(&&*file) => {
                    folders.push(file)
                }
                Ok(kind) if kind.is_file() => {
                    has_results |= [TEXT, PLOTS, muffle::experiment::CELLS].contains(&&*file)
                }
                _ => {}
            }
        }
        if has_results {
            let stamp = Stamp::of(path, &[TEXT, PLOTS]);
            let result = ResultFolder { name: shown(name), path: path.to_path_buf(), stamp };
            self.results.insert(shown(name), result);
        }
        if depth == DEEPEST {
            self.more |= !folders.is_empty();
            return;
        }
        for folder in folders {
            self.enter(&path.join(&folder), &joined(name, &folder), depth + 1);
        }
    }
}

/// The folder itself has a name as well.
fn shown(name: &str) -> String {
    if name.is_empty() { ".".to_string() } else { name.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use muffle::run::RunFolder;
    use std::fs;

    const RECIPE: &str = "data = \"mnist\"\nepsilon = 2\nsteps = 10\nmethod = \"dp-sgd\"\n";
    const PAID: &str = "{\"purpose\":\"steps\",\"from\":0,\"to\":5,\"event\":{\"kind\":\"non_private\"},\"previous\":\"\"}\n";

    fn write(root: &Path, name: &str, contents: &str) {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, contents).unwrap();
    }

    #[test]
    fn states_follow_from_what_lies_in_a_folder() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        write(root, "new/recipe.toml", RECIPE);
        write(root, "deep/er/stopped/recipe.toml", RECIPE);
        write(root, "deep/er/stopped/ledger.jsonl", &format!("{PAID}{{\"purpose\":"));
        write(root, "broken/recipe.toml", RECIPE);
        write(root, "broken/privacy.json", "{");
        write(root, "new/private/hidden/recipe.toml", RECIPE);
        write(root, ".hidden/recipe.toml", RECIPE);
        write(root, "grid/cells.json", "[\"one\", \"two\"]");
        write(root, "grid/failures.json", "{\"two\": \"diverged\"}");
        let running = RunFolder::create(&root.join("now"), RECIPE).unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink(root.join("new"), root.join("link")).unwrap();
        let shelf = Shelf::open(root).unwrap();
        let contents = shelf.contents();
        let states: Vec<(&str, State)> =
            contents.runs.iter().map(|(name, run)| (&**name, run.state)).collect();
        let expected = [
            ("broken", State::Refused),
            ("deep/er/stopped", State::Interrupted),
            ("grid/cells/one", State::Planned),
            ("grid/cells/two", State::Refused),
            ("new", State::Planned),
            ("now", State::Running),
        ];
        assert_eq!(states, expected);
        assert_eq!(contents.runs["grid/cells/two"].reason.as_deref(), Some("diverged"));
        let stopped = &contents.runs["deep/er/stopped"];
        assert_eq!((stopped.step, stopped.steps, stopped.budget), (5, Some(10), Some(2.0)));
        assert_eq!(contents.results.keys().collect::<Vec<_>>(), ["grid"]);

        let before = shelf.mark(&["now".to_string()]);
        drop(running);
        assert_ne!(shelf.mark(&["now".to_string()]), before, "that a process has ended is a change");
        assert_eq!(shelf.contents().runs["now"].state, State::Planned);
        assert!(shelf.contents().version > contents.version);
        assert!(
            shelf.run("../secret").is_none() && shelf.run("link").is_none() && shelf.run("new").is_some()
        );
    }
}
