//! The table of what is fuzzed, a file for each family.

mod arrays;
mod events;
mod models;
mod pages;
mod pictures;
mod runs;
mod tables;

use crate::target::Target;
use std::path::Path;

/// Everything a stranger could hand over.
pub static TARGETS: [&Target; 23] = [
    &runs::RECIPE,
    &models::MODEL,
    &models::WEIGHTS,
    &runs::CHECKPOINT,
    &runs::BUNDLE,
    &arrays::NPZ,
    &tables::NPZ_TABLE,
    &tables::CSV,
    &tables::PARQUET,
    &tables::PARQUET_ZSTD,
    &pictures::PNG,
    &pictures::JPEG,
    &pictures::TIFF,
    &arrays::IDX,
    &arrays::CIFAR,
    &arrays::MAT,
    &tables::DESCRIPTION,
    &runs::LEDGER,
    &runs::CERTIFICATE,
    &events::EVENTS,
    &pages::PLOTS,
    &pages::RESULTS,
    &pages::REQUEST,
];

/// The target of a name.
pub fn target(name: &str) -> Option<&'static Target> {
    TARGETS.iter().copied().find(|target| target.name == name)
}

/// A file's name, for messages.
fn path() -> &'static Path {
    Path::new("file")
}

/// An error as a user sees it.
fn said(error: impl ToString) -> String {
    error.to_string()
}

/// A text file as the system reads it.
fn text(input: &[u8]) -> Result<&str, String> {
    std::str::from_utf8(input).map_err(said)
}

fn seeds(texts: &[&str]) -> Vec<Vec<u8>> {
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}
