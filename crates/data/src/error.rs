//! What can go wrong with data: each message names the place and the remedy.

use std::path::{Path, PathBuf};

/// An error about data, with the file, the position in it and what to do next.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DataError {
    /// A file that is not what it should be.
    #[error("{file}, {position}: {reason}; {remedy}")]
    Malformed {
        /// The file.
        file: String,
        /// Where in the file: a byte, a line, a column.
        position: String,
        /// What is wrong.
        reason: String,
        /// What to do about it.
        remedy: String,
    },
    /// A file whose content is not the published one.
    #[error(
        "{file}: the content has md5 {found}, the published file has {expected}; \
         it is damaged or another file under this name: remove it, then `muffle data fetch {name}`"
    )]
    Checksum {
        /// The data set.
        name: String,
        /// The file.
        file: String,
        /// What the publisher says.
        expected: String,
        /// What the file has.
        found: String,
    },
    /// A data set that is nowhere.
    #[error("data set `{name}` was not found; looked in:\n{}\n{remedy}", list(looked))]
    Missing {
        /// The data set.
        name: String,
        /// The folders that were searched.
        looked: Vec<PathBuf>,
        /// How to get it.
        remedy: String,
    },
    /// A name that means no data set.
    #[error(
        "unknown data set `{name}`{}; the known ones are {known}; for data of your own give a path",
        meant(nearest)
    )]
    Unknown {
        /// What was asked for.
        name: String,
        /// The known name nearest to it.
        nearest: Option<String>,
        /// All names.
        known: String,
    },
    /// A description of a data set that cannot be used.
    #[error("{file}: {reason}")]
    Description {
        /// The description.
        file: String,
        /// What is wrong with it and what would be right.
        reason: String,
    },
    /// A download that failed.
    #[error("{url}: {reason}")]
    Download {
        /// Where from.
        url: String,
        /// What went wrong and what to do.
        reason: String,
    },
    /// Something that this build was made without.
    #[error(
        "{what}: this build was made without the feature `{feature}`; build it again with `--features {feature}`"
    )]
    Feature {
        /// What was asked for.
        what: String,
        /// The feature of the crate that does it.
        feature: &'static str,
    },
    /// The system refused to read or write.
    #[error("{path}: {error}", path = path.display())]
    System {
        /// The file or folder.
        path: PathBuf,
        /// What the system says.
        error: std::io::Error,
    },
}

/// The module's result.
pub type Result<T> = std::result::Result<T, DataError>;

/// What to do about a file that cannot be read, unless something better is known.
const REMEDY: &str = "the file is damaged or not what its name says: get it again";

impl DataError {
    /// A file that is not what it should be.
    pub fn malformed(file: &str, position: impl ToString, reason: impl ToString) -> DataError {
        DataError::Malformed {
            file: file.to_string(),
            position: position.to_string(),
            reason: reason.to_string(),
            remedy: REMEDY.to_string(),
        }
    }

    /// The same error with a better remedy.
    pub fn remedy(self, better: impl ToString) -> DataError {
        match self {
            DataError::Malformed { file, position, reason, .. } => {
                DataError::Malformed { file, position, reason, remedy: better.to_string() }
            }
            other => other,
        }
    }

    /// A refusal of the system.
    pub fn system(path: &Path, error: std::io::Error) -> DataError {
        DataError::System { path: path.to_path_buf(), error }
    }
}

fn list(folders: &[PathBuf]) -> String {
    folders.iter().map(|folder| format!("  {}", folder.display())).collect::<Vec<_>>().join("\n")
}

fn meant(nearest: &Option<String>) -> String {
    nearest.as_ref().map_or(String::new(), |nearest| format!(" (did you mean `{nearest}`?)"))
}
