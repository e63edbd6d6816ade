//! The state of training on disk: whole and checked, or not there.

use super::seal;
use crate::digest::hexadecimal;
use crate::error::{Error, Result};
use crate::ledger::Head;
use crate::{State, atomic_file};
use muffle_nn::regular_file;
use safetensors::tensor::{Dtype, SafeTensorError, SafeTensors, TensorView};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Checkpoints that are kept: the newest, and one to fall back on.
const KEPT: usize = 2;

/// What a run can be continued from.
#[derive(Clone, Debug, PartialEq)]
pub struct Checkpoint {
    /// Steps that led to it.
    pub step: u64,
    /// The state after them.
    pub state: State,
    /// The ledger that paid for them.
    pub head: Head,
}

/// Saves a state and removes older ones.
pub fn save(folder: &Path, checkpoint: &Checkpoint) -> Result<()> {
    let path = folder.join(format!("step-{:010}.safetensors", checkpoint.step));
    let file = bytes(checkpoint).map_err(|error| Error::file(&path, error))?;
    atomic_file::write(&path, &file).map_err(|error| {
        Error::file(&path, format!("the checkpoint cannot be written: {error}; make room, then resume"))
    })?;
    for old in list(folder)?.iter().rev().skip(KEPT) {
        std::fs::remove_file(old).map_err(|error| Error::file(old, error))?;
    }
    Ok(())
}

/// A state as a file.
pub fn bytes(checkpoint: &Checkpoint) -> std::result::Result<Vec<u8>, SafeTensorError> {
    let Checkpoint { step, state, head } = checkpoint;
    let bytes: Vec<(&String, Vec<u8>)> = state
        .iter()
        .map(|(name, values)| (name, values.iter().flat_map(|value| value.to_le_bytes()).collect()))
        .collect();
    let digest = digest(*step, head, bytes.iter().map(|(name, bytes)| (name.as_str(), &bytes[..])));
    let views = bytes.iter().map(|(name, bytes)| {
        let view = TensorView::new(Dtype::F32, vec![bytes.len() / size_of::<f32>()], bytes);
        (name.as_str(), view.expect("four bytes for every value"))
    });
    let own = [("step".to_string(), step.to_string()), ("sha256".to_string(), digest)];
    let metadata = HashMap::from_iter(own.into_iter().chain([seal::ledger_entry(head)]));
    safetensors::serialize(views, Some(metadata))
}

/// The newest state; `None` before the first.
pub fn load_newest(folder: &Path) -> Result<Option<Checkpoint>> {
    let paths = list(folder)?;
    let Some(path) = paths.last() else { return Ok(None) };
    let fallback = match paths.len() {
        1 => "remove it to start again from the first step",
        _ => "remove it to continue from the checkpoint before it",
    };
    let bytes = regular_file::read(path).map_err(|error| Error::file(path, error))?;
    parse(path, &bytes, fallback).map(Some)
}

/// The state in a file of these bytes; `fallback` is what to do if it is damaged.
pub fn parse(path: &Path, bytes: &[u8], fallback: &str) -> Result<Checkpoint> {
    let damaged = |reason: String| {
        Error::file(
            path,
            format!("the checkpoint is damaged ({reason}); {fallback}; what was spent stays in the ledger"),
        )
    };
    let metadata = SafeTensors::read_metadata(bytes).map_err(|error| damaged(error.to_string()))?.1;
    let tensors = SafeTensors::deserialize(bytes).map_err(|error| damaged(error.to_string()))?;
    let entry = |key: &str| {
        let entries = metadata.metadata().as_ref();
        entries.and_then(|entries| entries.get(key)).ok_or_else(|| damaged(format!("it has no `{key}`")))
    };
    let step = entry("step")?.parse().map_err(|_| damaged("its step is no number".to_string()))?;
    let head = seal::head_of(path, bytes)?;
    let mut views = tensors.tensors();
    views.sort_by(|left, right| left.0.cmp(&right.0));
    let found = digest(step, &head, views.iter().map(|(name, view)| (name.as_str(), view.data())));
    if *entry("sha256")? != found {
        return Err(damaged("its content is not what was written".to_string()));
    }
    let values = |view: &TensorView| {
        view.data().as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
    };
    let state = views.iter().map(|(name, view)| (name.clone(), values(view))).collect();
    Ok(Checkpoint { step, state, head })
}

/// The checkpoints of a folder, oldest first.
fn list(folder: &Path) -> Result<Vec<PathBuf>> {
    let fail = |error: std::io::Error| Error::file(folder, error);
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(fail)? {
        let path = entry.map_err(fail)?.path();
        if path.extension().is_some_and(|extension| extension == "safetensors") {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

/// A checksum of everything: names, lengths, values, and the place in the ledger.
fn digest<'a>(step: u64, head: &Head, tensors: impl Iterator<Item = (&'a str, &'a [u8])>) -> String {
    let mut hash = Sha256::new();
    hash.update(step.to_le_bytes());
    hash.update(head.lines.to_le_bytes());
    hash.update(&head.sha256);
    for (name, bytes) in tensors {
        hash.update((name.len() as u64).to_le_bytes());
        hash.update(name);
        hash.update((bytes.len() as u64).to_le_bytes());
        hash.update(bytes);
    }
    hexadecimal(&hash.finalize())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checkpoint(step: u64) -> Checkpoint {
        let state = State::from([
            ("parameters".to_string(), vec![step as f32; 7]),
            ("optimizer.sum".to_string(), vec![]),
        ]);
        Checkpoint { step, state, head: Head { lines: step / 2, sha256: format!("{step:064}") } }
    }

    #[test]
    fn the_newest_comes_back_and_old_ones_go() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(load_newest(folder.path()).unwrap(), None);
        for step in [5, 10, 1000] {
            save(folder.path(), &checkpoint(step)).unwrap();
        }
        assert_eq!(load_newest(folder.path()).unwrap(), Some(checkpoint(1000)));
        assert_eq!(list(folder.path()).unwrap().len(), KEPT);
    }

    /// Any single changed byte, and any truncation, is noticed.
    #[test]
    fn damage_is_noticed_wherever_it_is() {
        let folder = tempfile::tempdir().unwrap();
        save(folder.path(), &checkpoint(5)).unwrap();
        save(folder.path(), &checkpoint(6)).unwrap();
        let newest = list(folder.path()).unwrap().pop().unwrap();
        let whole = std::fs::read(&newest).unwrap();
        for place in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[place] ^= 0x10;
            std::fs::write(&newest, &bytes).unwrap();
            if let Ok(Some(loaded)) = load_newest(folder.path()) {
                // Blanks that pad the header mean nothing.
                assert_eq!(loaded, checkpoint(6), "byte {place}");
            }
            std::fs::write(&newest, &whole[..place]).unwrap();
            let message = load_newest(folder.path()).unwrap_err().to_string();
            assert!(message.contains("continue from the checkpoint before it"), "{message}");
        }
    }
}
