//! One run, read whole.

use super::stamp::Stamp;
use super::state::State;
use super::summary::Summary;
use muffle::ledger::Entry;
use muffle::run::metrics::{self, Metric};
use muffle::run::{Certificate, Parts};
use muffle_nn::regular_file;
use serde::Deserialize;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// The file of its measurements.
const METRICS: &str = "metrics.jsonl";
/// The folder in which a run keeps what must not leave.
const PRIVATE: &str = "private";
/// The folder in which an experiment keeps its runs, which have pictures of their own.
const CELLS: &str = "cells";
/// So much of all pictures is shown, and the others are counted.
const MOST_BYTES: u64 = 200_000;

/// A run of any kind.
pub struct Run {
    /// Where it is, seen from the folder of all runs.
    pub name: String,
    /// Where it is.
    pub path: PathBuf,
    /// How far it is.
    pub state: State,
    /// Why it is refused.
    pub reason: Option<String>,
    /// Its recipe, if that can be read.
    pub recipe: Option<Parts>,
    /// Its certificate.
    pub certificate: Option<Certificate>,
    /// What was measured on the way.
    pub metrics: Vec<Metric>,
    /// Steps that are paid for, or other accesses where a kind of training has no steps.
    pub paid: u64,
    /// Whether it has a folder with what must not leave.
    pub keeps_private: bool,
    /// When something last changed, in seconds since 1970.
    pub changed: u64,
}

/// A picture in the folder of a run, or of results.
#[derive(Clone, Debug)]
pub struct Picture {
    /// The name of the file, seen from the folder.
    pub name: String,
    /// Its bytes; nothing if there are too many in all.
    pub bytes: Option<Vec<u8>>,
    /// Whether it is a drawing (SVG), and not pixels (PNG).
    pub drawing: bool,
}

impl Run {
    /// Reads the run in a folder.
    pub fn read(name: &str, path: &Path) -> Run {
        Run { metrics: metrics::read(&path.join(METRICS)), ..Run::glance(name, path) }
    }

    /// The same with the last measurement only, which is all that a list shows.
    pub fn glance(name: &str, path: &Path) -> Run {
        let file = path.join("privacy.json");
        let certificate = file.exists().then(|| Certificate::read(&file).map_err(|error| error.to_string()));
        let recipe = Parts::read(path, &[]).map_err(|error| error.to_string());
        // A range can be empty where there is one access of a kind.
        let paid = last(&path.join("ledger.jsonl")).map_or(0, |entry: Entry| entry.to.max(entry.from + 1));
        let (mut state, mut reason) = State::of(path, certificate.as_ref(), paid > 0);
        if let (Err(error), true) = (&recipe, state != State::Running) {
            (state, reason) = (State::Refused, Some(error.clone()));
        }
        Run {
            name: name.to_string(),
            path: path.to_path_buf(),
            state,
            reason,
            recipe: recipe.ok(),
            certificate: certificate.and_then(Result::ok),
            metrics: last(&path.join(METRICS)).into_iter().collect(),
            paid,
            keeps_private: path.join(PRIVATE).is_dir(),
            changed: Stamp::of_run(path).seconds(),
        }
    }

    /// What a list shows of it.
    pub fn summary(&self) -> Summary {
        Summary::of(self)
    }

    /// Steps in all, where the recipe says how many.
    pub fn steps(&self) -> Option<u64> {
        let steps = self.recipe.as_ref()?.training.get("steps")?.as_integer()?;
        u64::try_from(steps).ok().filter(|steps| *steps > 0)
    }

    /// Steps taken, as far as anybody has written down.
    pub fn step(&self) -> u64 {
        let measured = self.metrics.last().map_or(0, |metric| metric.step);
        let certified = self.certificate.as_ref().map_or(0, |certificate| certificate.steps);
        // What is paid for is about to happen, or has.
        let paid = if self.steps().is_some() { self.paid } else { 0 };
        measured.max(certified).max(paid)
    }

    /// What was spent by now, and whether that holds only if a seed is secret.
    pub fn spent(&self) -> Option<(f64, bool)> {
        if let Some(certificate) = self.certificate.as_ref().filter(|_| self.state != State::Running) {
            let proved = certificate.proved.epsilon.map(|epsilon| (epsilon, false));
            return proved.or(certificate.epsilon_if_seed_is_secret().map(|epsilon| (epsilon, true)));
        }
        let metric = self.metrics.last()?;
        let secret = metric.epsilon_if_seed_is_secret.map(|epsilon| (epsilon, true));
        metric.epsilon.map(|epsilon| (epsilon, false)).or(secret)
    }
}

/// The last whole line of a file of JSON, without reading all of it.
fn last<T: for<'de> Deserialize<'de>>(path: &Path) -> Option<T> {
    const TAIL: u64 = 1 << 16;
    let tail = || -> std::io::Result<Vec<u8>> {
        let mut file = regular_file::open(path)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(TAIL)))?;
        let mut bytes = Vec::new();
        file.take(TAIL).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let bytes = tail().ok()?;
    let text = String::from_utf8_lossy(&bytes);
    text.lines().rev().find_map(|line| serde_json::from_str(line).ok())
}

impl Picture {
    /// Those that lie in a folder or in a folder within it, in the order of their names. Of many, the last are read.
    pub fn all(folder: &Path) -> Vec<Picture> {
        let mut paths = files(folder, true);
        paths.sort();
        let mut room = MOST_BYTES;
        let mut read = |path: &PathBuf| {
            let drawing = path.extension().is_some_and(|ending| ending == "svg");
            let name = path.strip_prefix(folder).unwrap_or(path).display().to_string();
            let size = std::fs::metadata(path).map_or(u64::MAX, |found| found.len());
            let bytes = (size <= room).then(|| regular_file::read(path).ok()).flatten();
            room -= bytes.as_ref().map_or(0, |_| size);
            Picture { name, bytes, drawing }
        };
        let mut pictures: Vec<Picture> = paths.iter().rev().map(&mut read).collect();
        pictures.reverse();
        pictures
    }
}

/// The pictures in a folder, and in folders within it. Links are not followed.
fn files(folder: &Path, deeper: bool) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut paths = Vec::new();
    for entry in entries.flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        let is_picture = path.extension().is_some_and(|ending| ending == "png" || ending == "svg");
        match entry.file_type() {
            Ok(kind) if kind.is_file() && is_picture => paths.push(path),
            Ok(kind) if kind.is_dir() && deeper && name != PRIVATE && name != CELLS => {
                paths.extend(files(&path, false))
            }
            _ => {}
        }
    }
    paths
}
