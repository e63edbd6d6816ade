//! Whether files have changed since they were read.

use std::path::Path;
use std::time::SystemTime;

/// Size and time of files that grow or are replaced.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stamp(Vec<Option<(u64, SystemTime)>>);

impl Stamp {
    /// Of the files of a run that change while it goes on.
    pub fn of_run(folder: &Path) -> Stamp {
        Stamp::of(folder, &["recipe.toml", "privacy.json", "ledger.jsonl", "metrics.jsonl"])
    }

    /// Of files in a folder.
    pub fn of(folder: &Path, names: &[&str]) -> Stamp {
        let stamp = |name: &&str| {
            let found = std::fs::metadata(folder.join(name)).ok()?;
            Some((found.len(), found.modified().ok()?))
        };
        Stamp(names.iter().map(stamp).collect())
    }

    /// The newest time in it, in seconds since 1970.
    pub fn seconds(&self) -> u64 {
        let newest = self.0.iter().flatten().map(|(_, time)| *time).max();
        newest
            .and_then(|time| time.duration_since(SystemTime::UNIX_EPOCH).ok())
            .map_or(0, |age| age.as_secs())
    }
}
