//! A data set by the name of a published set or by the path of the user's own.

use super::dataset::Dataset;
use super::error::Result;
use super::locate::{Found, Search};
use super::{own, registry};
use std::path::{Path, PathBuf};

/// What a user's word means.
pub enum Source {
    /// A published set that was found.
    Named(Found),
    /// A file or folder of the user's own.
    Own(PathBuf),
}

impl Source {
    /// A name of the registry comes first; then anything that exists or looks like a path.
    pub fn resolve(word: &str, search: &Search) -> Result<Source> {
        match registry::entry(word) {
            Ok(entry) => Ok(Source::Named(search.find(entry)?)),
            Err(_) if search.own(Path::new(word)).exists() || word.contains(['/', '\\', '.']) => {
                Ok(Source::Own(search.own(Path::new(word))))
            }
            Err(unknown) => Err(unknown),
        }
    }

    /// Loads it.
    pub fn load(&self) -> Result<Dataset> {
        match self {
            Source::Named(found) => found.load(),
            Source::Own(path) => own::load(path),
        }
    }
}

/// Loads a data set by name or path.
pub fn load(word: &str, search: &Search) -> Result<Dataset> {
    Source::resolve(word, search)?.load()
}
