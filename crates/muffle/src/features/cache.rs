//! Features on disk, block by block: what was made once is not made again, by the next run or by one that goes on after an
//! interruption.

use super::Features;
use crate::data::{Dataset, Records, Visibility};
use crate::digest::hexadecimal;
use half::f16;
use muffle_nn::{atomic_file, regular_file};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;

/// The variable that names the folder of cached features.
const FOLDER: &str = "MUFFLE_CACHE";

/// Counts changes of what the features of a record are.
const EDITION: u32 = 4;

/// What features of a data set go by: the records, how they are scaled, the settings and the version of the program.
pub(super) fn digest(dataset: &Dataset, features: &Features) -> String {
    let mut hash = Sha256::new();
    hash.update(env!("CARGO_PKG_VERSION"));
    hash.update(format!("{EDITION} {features:?} {:?} {:?}", dataset.input(), dataset.scaling()));
    for view in [dataset.train(), dataset.test()] {
        hash.update(view.split().len().to_le_bytes());
        match &view.split().records {
            Records::Bytes(bytes) => hash.update(bytes),
            Records::Floats(values) => values.iter().for_each(|value| hash.update(value.to_le_bytes())),
            Records::Halves(values) => values.iter().for_each(|value| hash.update(value.to_le_bytes())),
        }
    }
    hexadecimal(&hash.finalize())
}

/// Where features of a data set are kept.
pub(super) struct Cache {
    pub folder: PathBuf,
    pub digest: String,
}

impl Cache {
    /// The cache for a data set; `None` if nothing is to be kept. Features say nearly as much as the records, so those of private
    /// records are kept only where the user has named a folder for it.
    pub fn usual(dataset: &Dataset, digest: &str) -> Option<Cache> {
        let named = std::env::var_os(FOLDER).map(PathBuf::from);
        let usual = || {
            let home = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
            let home = home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache")));
            home.filter(|_| dataset.visibility() == Visibility::Public).map(|home| home.join("muffle"))
        };
        Some(Cache { folder: named.or_else(usual)?, digest: digest.to_string() })
    }

    /// The file of a block of records of a split.
    fn file(&self, split: &str, block: usize) -> PathBuf {
        self.folder.join(format!("features-{}-{split}-{block:04}", self.digest))
    }

    /// What was kept of a block, if it has so many values.
    pub fn load(&self, split: &str, block: usize, len: usize) -> Option<Vec<f16>> {
        let bytes = regular_file::read(&self.file(split, block)).ok()?;
        let (halves, rest) = bytes.as_chunks::<2>();
        let whole = rest.is_empty() && halves.len() == len;
        whole.then(|| halves.iter().map(|bytes| f16::from_le_bytes(*bytes)).collect())
    }

    /// Keeps the features of a block. A cache that cannot be written is no reason to stop.
    pub fn store(&self, split: &str, block: usize, values: &[f16]) {
        let fill = |file: &mut BufWriter<File>| {
            values.iter().try_for_each(|value| file.write_all(&value.to_le_bytes()))
        };
        let made = std::fs::create_dir_all(&self.folder);
        let _ = made.and_then(|()| atomic_file::write_with(&self.file(split, block), fill));
    }
}
