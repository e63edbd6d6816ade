//! Features on disk, so that the next run does not compute them again.

use super::Features;
use crate::data::{Dataset, Records, View, Visibility};
use half::f16;
use muffle_nn::{Examples, atomic_file, regular_file};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;

/// The variable that names the folder of cached features.
const FOLDER: &str = "MUFFLE_CACHE";

/// Where features of a data set are kept.
pub(super) struct Cache {
    folder: PathBuf,
    /// Of the records, how they are scaled, the settings and the version of the program.
    digest: String,
}

impl Cache {
    /// The cache for a data set; `None` if nothing is to be kept. Features say nearly as much as the records, so those of private
    /// records are kept only where the user has named a folder for it.
    pub fn new(dataset: &Dataset, features: &Features) -> Option<Cache> {
        let named = std::env::var_os(FOLDER).map(PathBuf::from);
        let usual = || {
            let home = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
            let home = home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache")));
            home.filter(|_| dataset.visibility() == Visibility::Public).map(|home| home.join("muffle"))
        };
        let folder = named.or_else(usual)?;
        let mut hash = Sha256::new();
        hash.update(env!("CARGO_PKG_VERSION"));
        hash.update(format!("{features:?} {:?} {:?}", dataset.input(), dataset.scaling()));
        for view in [dataset.train(), dataset.test()] {
            hash.update(view.split().len().to_le_bytes());
            match &view.split().records {
                Records::Bytes(bytes) => hash.update(bytes),
                Records::Floats(values) => values.iter().for_each(|value| hash.update(value.to_le_bytes())),
                Records::Halves(values) => values.iter().for_each(|value| hash.update(value.to_le_bytes())),
            }
        }
        let digest = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        Some(Cache { folder, digest })
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.join(format!("features-{}-{name}", self.digest))
    }

    /// What was kept of a split, if it is whole.
    pub fn load(&self, name: &str, view: &View, width: usize) -> Option<Vec<f16>> {
        let file = self.file(name);
        let bytes = regular_file::read(&file).ok()?;
        let (halves, rest) = bytes.as_chunks::<2>();
        let whole = rest.is_empty() && halves.len() == width * view.len();
        whole.then(|| halves.iter().map(|bytes| f16::from_le_bytes(*bytes)).collect())
    }

    /// Keeps the features of a split. A cache that cannot be written is no reason to stop.
    pub fn store(&self, name: &str, values: &[f16]) {
        let fill = |file: &mut BufWriter<File>| {
            values.iter().try_for_each(|value| file.write_all(&value.to_le_bytes()))
        };
        let made = std::fs::create_dir_all(&self.folder);
        let _ = made.and_then(|()| atomic_file::write_with(&self.file(name), fill));
    }
}
