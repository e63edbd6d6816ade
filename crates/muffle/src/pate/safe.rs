//! The folder of what must not leave: teachers and raw votes.

use super::committee::Teacher;
use super::origin::Origin;
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
    /// In the folder of a run. Teachers of the same origin that a run beside it has trained are taken over.
    ///
    /// # Errors
    /// If there are teachers of another origin.
    pub fn open(run: &Path, origin: &Origin) -> Result<Safe> {
        let path = run.join(SAFE);
        std::fs::create_dir_all(path.join(TEACHERS)).map_err(|error| Error::file(&path, error))?;
        let safe = Safe { path };
        let (trained, known) = (!safe.files()?.is_empty(), safe.origin());
        if trained && known.as_ref() != Some(&origin.digest) {
            let reason = "these teachers follow from other records, another seed or other settings of teachers than this run has: move \
                          the folder away, or choose another folder for the run";
            return Err(Error::file(&safe.path, reason));
        }
        safe.write("DO-NOT-PUBLISH.txt", NOTICE)?;
        safe.write(ORIGIN, format!("{}\n", origin.digest))?;
        if origin.whole {
            safe.take_over(run, origin)?;
        }
        Ok(safe)
    }

    /// What its teachers follow from, if it says so.
    fn origin(&self) -> Option<String> {
        Some(std::fs::read_to_string(self.path.join(ORIGIN)).ok()?.trim().to_string())
    }

    /// The files of its teachers.
    fn files(&self) -> Result<Vec<PathBuf>> {
        let path = self.path.join(TEACHERS);
        let read = || std::fs::read_dir(&path)?.map(|file| Ok(file?.path())).collect::<std::io::Result<_>>();
        let files: Vec<PathBuf> = read().map_err(|error| Error::file(&path, error))?;
        let whole =
            |file: &PathBuf| file.extension().is_some_and(|ending| ending == WEIGHTS || ending == EMPTY);
        Ok(files.into_iter().filter(whole).collect())
    }

    /// Copies teachers from runs in the same folder that have trained the same ones.
    fn take_over(&self, run: &Path, origin: &Origin) -> Result<()> {
        let around = run.parent().and_then(|around| std::fs::read_dir(around).ok());
        let runs = around.into_iter().flatten().flatten().map(|entry| Safe { path: entry.path().join(SAFE) });
        for other in runs.filter(|other| other.origin().as_ref() == Some(&origin.digest)) {
            for from in other.files()? {
                let to = self.path.join(TEACHERS).join(from.file_name().expect("the file of a teacher"));
                if !to.exists() {
                    let contents = std::fs::read(&from).map_err(|error| Error::file(&from, error))?;
                    atomic_file::write(&to, contents).map_err(|error| Error::file(&to, error))?;
                }
            }
        }
        Ok(())
    }

    fn write(&self, name: &str, contents: impl AsRef<[u8]>) -> Result<()> {
        let path = self.path.join(name);
        atomic_file::write(&path, contents).map_err(|error| Error::file(&path, error))
    }

    /// The file of a teacher, or the one that says that it has no records.
    fn file(&self, number: usize, ending: &str) -> PathBuf {
        self.path.join(TEACHERS).join(format!("{number:04}.{ending}"))
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

/// The folder of teachers, and the file that says what they follow from.
const TEACHERS: &str = "teachers";
const ORIGIN: &str = "origin.sha256";

/// Endings of the files.
const WEIGHTS: &str = "safetensors";
const EMPTY: &str = "empty";
