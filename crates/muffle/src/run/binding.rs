//! What a certificate is about, by digests: which recipe, which ledger, which files.

use super::certificate::Certificate;
use super::checkpoint::Checkpoint;
use super::folder::{self, RunFolder, certificate_path};
use super::{metrics, seal};
use crate::digest::sha256;
use crate::error::{Error, Result};
use crate::ledger::{Head, Ledger};
use muffle_nn::regular_file;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// Name of the model in the folder of a run.
pub const MODEL_FILE: &str = "model.safetensors";

/// What a certificate is about. Together with the version of the program it is all that is needed to check a folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Binding {
    /// SHA-256 of the recipe with every question answered, from which the first line of the ledger follows.
    pub recipe: String,
    /// Where the ledger ended.
    pub ledger: Head,
    /// SHA-256 of every file that the run left, by name.
    pub files: BTreeMap<String, String>,
}

impl Binding {
    /// Of a recipe, a ledger, and the files of these names in a folder.
    pub(crate) fn new(folder: &Path, recipe: &str, ledger: Head, names: &[String]) -> Result<Binding> {
        let digest = |name: &String| {
            let path = folder.join(name);
            let bytes = regular_file::read(&path).map_err(|error| Error::file(&path, error))?;
            Ok((name.clone(), sha256(bytes)))
        };
        let files = names.iter().map(digest).collect::<Result<_>>()?;
        Ok(Binding { recipe: sha256(recipe), ledger, files })
    }
}

/// The ledger of the run in a folder, as it is.
pub fn read_ledger(folder: &Path) -> Result<Ledger> {
    Ledger::read(&folder::ledger_path(folder), &read_recipe(folder)?)
}

pub(super) fn read_recipe(folder: &Path) -> Result<String> {
    let path = folder::recipe_path(folder);
    regular_file::read_to_string(&path).map_err(|error| Error::file(&path, error))
}

/// SHA-256 of the recipe of the run in a folder, as its certificate has it.
pub fn recipe_digest(folder: &Path) -> Result<String> {
    Ok(sha256(read_recipe(folder)?))
}

/// The certificate of the run in a folder, if recipe, ledger and files are those that it is about.
///
/// # Guarantee
/// What was changed, cut or exchanged since is refused by name. Whoever can write the folder can make all of it anew, though:
/// it takes a copy of the certificate elsewhere to notice that.
pub fn verify(folder: &Path) -> Result<Certificate> {
    let path = certificate_path(folder);
    if !path.is_file() {
        let reason =
            "the run has no certificate; finish it with `muffle train --resume`, or restore the file";
        return Err(Error::file(&path, reason));
    }
    let certificate = Certificate::read(&path)?;
    check_recipe(folder, &certificate.binding)?;
    let ledger = read_ledger(folder)?;
    ledger.check_contains(&certificate.binding.ledger).map_err(|reason| Error::file(&path, reason))?;
    for (name, digest) in &certificate.binding.files {
        check_file(&folder.join(name), digest)?;
    }
    Ok(certificate)
}

/// Refuses to go on in a folder in which something rests on more than the ledger holds, or was exchanged.
pub(super) fn check_rest(folder: &RunFolder, ledger: &Ledger, checkpoint: Option<&Checkpoint>) -> Result<()> {
    let check =
        |path: &Path, head: &Head| ledger.check_contains(head).map_err(|reason| Error::file(path, reason));
    if let Some(checkpoint) = checkpoint {
        check(&folder.checkpoints(), &checkpoint.head)?;
    }
    for path in sealed_files(folder.path())? {
        let bytes = regular_file::read(&path).map_err(|error| Error::file(&path, error))?;
        check(&path, &seal::head_of(&path, &bytes)?)?;
    }
    for metric in metrics::read(&folder.metrics()) {
        check(&folder.metrics(), &metric.ledger)?;
    }
    let path = folder.certificate();
    if !path.is_file() {
        return Ok(());
    }
    let binding = Certificate::read(&path)?.binding;
    check_recipe(folder.path(), &binding)?;
    check(&path, &binding.ledger)?;
    // What is missing is made anew; what is there has to be what was left.
    let files = binding.files.iter().map(|(name, digest)| (folder.path().join(name), digest));
    files.filter(|(path, _)| path.exists()).try_for_each(|(path, digest)| check_file(&path, digest))
}

/// The files of tensors that a run left.
fn sealed_files(folder: &Path) -> Result<Vec<std::path::PathBuf>> {
    let fail = |error: std::io::Error| Error::file(folder, error);
    let entries = std::fs::read_dir(folder).map_err(fail)?;
    let paths = entries.map(|entry| Ok(entry.map_err(fail)?.path())).collect::<Result<Vec<_>>>()?;
    let is_sealed = |path: &std::path::PathBuf| path.extension().is_some_and(|it| it == "safetensors");
    Ok(paths.into_iter().filter(is_sealed).collect())
}

fn check_recipe(folder: &Path, binding: &Binding) -> Result<()> {
    match recipe_digest(folder)? == binding.recipe {
        true => Ok(()),
        false => Err(Error::file(
            &folder::recipe_path(folder),
            "this is not the recipe that the certificate is about; restore it from a copy",
        )),
    }
}

fn check_file(path: &Path, digest: &str) -> Result<()> {
    let bytes = regular_file::read(path).map_err(|error| {
        Error::file(
            path,
            format!("{error}; the certificate is about it: restore it from a copy, or resume the run"),
        )
    })?;
    match sha256(bytes) == *digest {
        true => Ok(()),
        false => Err(Error::file(
            path,
            "this is not the file that the certificate is about; restore it from a copy, or remove it and resume the run",
        )),
    }
}
