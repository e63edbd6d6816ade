//! The folder of what must not leave: teachers and raw votes.

use super::committee::Teacher;
use crate::atomic_file;
use crate::error::{Error, Result};
use muffle_nn::{Network, weights};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Name of the folder within that of a run.
pub const SAFE: &str = "private";

/// What the folder says of itself.
const NOTICE: &str = "\
This folder must not leave the holder of the records.

The teachers in it were trained without noise on the private records, and the votes are counted without noise: whoever has them
has the records, or much of them. No epsilon covers them. What may be published are the model and privacy.json beside this
folder. When the run is finished, this folder can be deleted.
";

/// Where teachers and raw votes of a run are kept.
#[derive(Clone, Debug)]
pub(super) struct Safe {
    path: PathBuf,
}

impl Safe {
    /// In the folder of a run.
    pub fn open(run: &Path) -> Result<Safe> {
        let path = run.join(SAFE);
        std::fs::create_dir_all(path.join("teachers")).map_err(|error| Error::file(&path, error))?;
        let safe = Safe { path };
        safe.write("DO-NOT-PUBLISH.txt", NOTICE)?;
        Ok(safe)
    }

    fn write(&self, name: &str, contents: impl AsRef<[u8]>) -> Result<()> {
        let path = self.path.join(name);
        atomic_file::write(&path, contents).map_err(|error| Error::file(&path, error))
    }

    /// The file of a teacher, or the one that says that it has no records.
    fn file(&self, number: usize, ending: &str) -> PathBuf {
        self.path.join("teachers").join(format!("{number:04}.{ending}"))
    }

    /// Keeps a teacher.
    pub fn keep(&self, number: usize, network: &Network, teacher: &Teacher) -> Result<()> {
        match teacher {
            Some(parameters) => Ok(weights::save(&self.file(number, WEIGHTS), network, None, parameters)?),
            None => {
                let path = self.file(number, EMPTY);
                atomic_file::write(&path, "no records\n").map_err(|error| Error::file(&path, error))
            }
        }
    }

    /// A teacher that was kept; `None` if it is not trained yet.
    pub fn teacher(&self, number: usize, network: &Network) -> Result<Option<Teacher>> {
        let (trained, empty) = (self.file(number, WEIGHTS), self.file(number, EMPTY));
        match (trained.exists(), empty.exists()) {
            (true, _) => Ok(Some(Some(weights::load(&trained, network)?))),
            (false, true) => Ok(Some(None)),
            (false, false) => Ok(None),
        }
    }

    /// A teacher that has to be there.
    pub fn trained(&self, number: usize, network: &Network) -> Result<Teacher> {
        let missing = || {
            let reason = "this teacher is missing, and the run has asked it already: put the folder back, or start another run";
            Error::file(&self.file(number, WEIGHTS), reason)
        };
        self.teacher(number, network)?.ok_or_else(missing)
    }

    /// Keeps what was counted without noise.
    pub fn keep_votes(&self, votes: &impl Serialize) -> Result<()> {
        let text = serde_json::to_string(votes).expect("votes have a form in JSON");
        self.write("votes.json", text + "\n")
    }
}

/// Endings of the files.
const WEIGHTS: &str = "safetensors";
const EMPTY: &str = "empty";
