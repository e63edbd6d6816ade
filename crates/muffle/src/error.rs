//! What can go wrong with a run: each message names the place and the remedy.

use crate::StateError;
use crate::data::DataError;
use crate::noise::EntropyError;
use muffle_accounting::AccountingError;
use std::path::{Path, PathBuf};

/// An error about a run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A recipe that cannot be read.
    #[error("{origin}: {reason}")]
    Recipe {
        /// The file or the name of the recipe.
        origin: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A setting that cannot be applied.
    #[error("--set {setting}: {reason}")]
    Setting {
        /// As it was given.
        setting: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Choices that do not fit together.
    #[error("{0}")]
    Plan(String),
    /// The network failed its test before the first step.
    #[error("self-check: {0}")]
    SelfCheck(String),
    /// A file of a run that cannot be read or written.
    #[error("{path}: {reason}", path = path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// What is wrong and what to do.
        reason: String,
    },
    /// A run that was asked to stop.
    #[error("the run in {folder} was stopped; train in the same folder again to continue it", folder = folder.display())]
    Interrupted {
        /// Where it is.
        folder: PathBuf,
    },
    /// A run whose model is lost.
    #[error(
        "the run in {folder} diverged: its weights are no finite numbers any more, or its test loss is beyond a million. Start another one with a \
         lower learning_rate, or a lower clip threshold; what this one was to spend is in its certificate, and is spent",
        folder = folder.display()
    )]
    Diverged {
        /// Where it is.
        folder: PathBuf,
    },
    /// The data.
    #[error(transparent)]
    Data(#[from] DataError),
    /// The network.
    #[error(transparent)]
    Network(#[from] muffle_nn::Error),
    /// The price.
    #[error(transparent)]
    Accounting(#[from] AccountingError),
    /// The state of an optimizer.
    #[error(transparent)]
    State(#[from] StateError),
    /// The key.
    #[error(transparent)]
    Entropy(#[from] EntropyError),
}

/// The crate's result.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// A file of a run.
    pub(crate) fn file(path: &Path, reason: impl ToString) -> Error {
        Error::File { path: path.to_path_buf(), reason: reason.to_string() }
    }
}
