//! The folder of a run: its files, and who may write them.

use crate::atomic_file;
use crate::error::{Error, Result};
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

/// What is wrong with a folder that has no recipe.
pub(crate) const NO_RUN: &str = "there is no run in this folder (no recipe.toml)";

/// A folder that one process trains in.
#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
    /// Held as long as the value lives; the system lets go of it when the process dies.
    _lock: File,
}

impl RunFolder {
    /// A new folder for a recipe whose questions are answered.
    pub fn create(path: &Path, recipe: &str) -> Result<RunFolder> {
        fs::create_dir_all(path.join(CHECKPOINTS)).map_err(|error| Error::file(path, error))?;
        let folder = RunFolder { path: path.to_path_buf(), _lock: lock(path)? };
        if folder.recipe_path().exists() || folder.ledger().exists() {
            return Err(Error::file(
                path,
                format!(
                    "there is a run already; continue it with `muffle train --resume {}`, or choose another folder",
                    path.display()
                ),
            ));
        }
        folder.write("recipe.toml", recipe)?;
        Ok(folder)
    }

    /// The folder of a run that was interrupted.
    pub fn open(path: &Path) -> Result<RunFolder> {
        if !recipe_path(path).is_file() {
            return Err(Error::file(path, NO_RUN));
        }
        Ok(RunFolder { path: path.to_path_buf(), _lock: lock(path)? })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The recipe with every question answered.
    pub fn recipe_path(&self) -> PathBuf {
        recipe_path(&self.path)
    }

    /// What was spent.
    pub fn ledger(&self) -> PathBuf {
        ledger_path(&self.path)
    }

    /// Measurements on the way.
    pub fn metrics(&self) -> PathBuf {
        self.path.join("metrics.jsonl")
    }

    /// States to continue from.
    pub fn checkpoints(&self) -> PathBuf {
        self.path.join(CHECKPOINTS)
    }

    /// The certificate.
    pub fn certificate(&self) -> PathBuf {
        certificate_path(&self.path)
    }

    /// Writes a file of the run, whole or not at all.
    pub(super) fn write(&self, name: &str, contents: impl AsRef<[u8]>) -> Result<()> {
        let path = self.path.join(name);
        atomic_file::write(&path, contents).map_err(|error| Error::file(&path, error))
    }
}

const CHECKPOINTS: &str = "checkpoints";

/// The recipe of the run in a folder.
pub(super) fn recipe_path(folder: &Path) -> PathBuf {
    folder.join("recipe.toml")
}

/// What was spent by the run in a folder.
pub(super) fn ledger_path(folder: &Path) -> PathBuf {
    folder.join("ledger.jsonl")
}

/// The certificate of the run in a folder.
pub(super) fn certificate_path(folder: &Path) -> PathBuf {
    folder.join("privacy.json")
}

/// Name of the file that whoever is at work holds a lock on.
const LOCK: &str = "lock";
/// Whoever only looks whether somebody is at work holds it for a moment.
const MOMENT: Duration = Duration::from_millis(20);
const MOMENTS: u32 = 10;

/// Two processes in one folder would spend without knowing of each other. Held as long as the file lives.
pub(crate) fn lock(path: &Path) -> Result<File> {
    let file = path.join(LOCK);
    let lock = File::create(&file).map_err(|error| Error::file(&file, error))?;
    for _ in 0..MOMENTS {
        match lock.try_lock() {
            Ok(()) => return Ok(lock),
            Err(TryLockError::WouldBlock) => thread::sleep(MOMENT),
            Err(TryLockError::Error(error)) => return Err(Error::file(&file, error)),
        }
    }
    Err(Error::file(path, "another process is at work in this folder; wait for it, or stop it"))
}

/// Whether somebody is at work in a folder, by a look that keeps nobody from it.
pub fn is_at_work(path: &Path) -> bool {
    let lock = File::open(path.join(LOCK));
    lock.is_ok_and(|lock| matches!(lock.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_process_at_a_time_and_one_run_in_a_folder() {
        let recipe = "data = \"mnist\"";
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("run");
        let message = RunFolder::open(&path).unwrap_err().to_string();
        assert!(message.contains("no run in this folder"), "{message}");
        let folder = RunFolder::create(&path, recipe).unwrap();
        let message = RunFolder::open(&path).unwrap_err().to_string();
        assert!(message.contains("another process") && is_at_work(&path), "{message}");
        drop(folder);
        assert!(!is_at_work(&path) && !is_at_work(parent.path()));
        let message = RunFolder::create(&path, recipe).unwrap_err().to_string();
        assert!(message.contains("muffle train --resume"), "{message}");
        let folder = RunFolder::open(&path).unwrap();
        assert_eq!(fs::read_to_string(folder.recipe_path()).unwrap(), recipe);
    }
}
