//! A published data set: one line of the registry.

use super::dataset::Dataset;
use super::error::Result;

/// A file of a published set, known by its content.
#[derive(Clone, Copy, Debug)]
pub struct Official {
    /// Its name, without the ending of a compression.
    pub name: &'static str,
    /// Length of its content.
    pub bytes: u64,
    /// The md5 of its content, where a publisher gives one.
    pub md5: Option<&'static str>,
}

/// The official archive that holds all files of a set.
#[derive(Clone, Copy, Debug)]
pub struct Archive {
    /// Its name.
    pub name: &'static str,
    /// The md5 of the archive.
    pub md5: &'static str,
    /// Most bytes it may have.
    pub bytes: u64,
}

/// The content of one official file.
#[derive(Debug)]
pub struct Content {
    /// Where it was found.
    pub file: String,
    /// Its decompressed bytes.
    pub bytes: Vec<u8>,
}

/// A published data set.
pub struct Entry {
    /// The name it is asked for by.
    pub name: &'static str,
    /// What it is, in one line.
    pub title: &'static str,
    /// Sizes of one record in PyTorch's order.
    pub input: &'static [usize],
    /// Records in the training and the test split.
    pub records: (usize, usize),
    /// Number of classes.
    pub classes: usize,
    /// Under what conditions it may be used.
    pub licence: &'static str,
    /// Whom to cite.
    pub citation: &'static str,
    /// The names its folder may have within a data folder.
    pub folders: &'static [&'static str],
    /// Folders where a system package puts it.
    pub system: &'static [&'static str],
    /// Files, in the order the loader wants them.
    pub files: &'static [Official],
    /// The archive that holds them all.
    pub archive: Option<Archive>,
    /// Where the official files are, each ending in the name it is stored under; empty if built in.
    pub downloads: &'static [&'static str],
    /// Another way to get it.
    pub package: Option<&'static str>,
    /// Compressed files inside this binary, in the order of `files`.
    pub built_in: Option<&'static [&'static [u8]]>,
    /// Makes a data set of the files' contents.
    pub load: fn(&Entry, Vec<Content>) -> Result<Dataset>,
}

impl Entry {
    /// The folder that its files are downloaded to, here and on a mirror; forms of one set share it.
    pub fn folder(&self) -> &'static str {
        self.folders.first().copied().unwrap_or(self.name)
    }

    /// How a user gets the set.
    pub fn how_to_get(&self) -> String {
        if self.built_in.is_some() {
            return "built in".to_string();
        }
        let package = self.package.map_or(String::new(), |package| format!(", or `{package}`"));
        format!("`muffle data fetch {}`{package}", self.name)
    }
}
