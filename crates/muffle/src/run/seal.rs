//! Files of tensors that name the ledger they rest on.

use crate::atomic_file;
use crate::error::{Error, Result};
use crate::ledger::Head;
use safetensors::tensor::SafeTensors;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Key of the ledger's head among the metadata of a file.
const KEY: &str = "muffle.ledger";

/// Lets `write` make a file of tensors, and puts it at `path` with the ledger's head in its metadata.
///
/// # Guarantee
/// At `path` there is never a file without it.
pub fn write_sealed(path: &Path, head: &Head, write: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    let open = unsealed(path);
    write(&open)?;
    let fail = |error: String| Error::file(path, error);
    let bytes = std::fs::read(&open).map_err(|error| fail(error.to_string()))?;
    let sealed = seal(&bytes, head).ok_or_else(|| fail("the file to be sealed has no header".to_string()))?;
    atomic_file::write(path, sealed)
        .and_then(|()| std::fs::remove_file(&open))
        .map_err(|error| fail(error.to_string()))
}

fn unsealed(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(".unsealed");
    path.with_file_name(name)
}

/// A file of tensors with one entry more in its header, the rest as it was.
///
/// # Source
/// The safetensors format: <https://github.com/huggingface/safetensors#format>.
fn seal(file: &[u8], head: &Head) -> Option<Vec<u8>> {
    let (length, rest) = file.split_first_chunk()?;
    let (header, tensors) = rest.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
    let mut header: Value = serde_json::from_slice(header).ok()?;
    header["__metadata__"][KEY] = json!(as_text(head));
    let mut header = header.to_string();
    // Tensors begin at multiples of eight bytes.
    header += &" ".repeat(header.len().next_multiple_of(8) - header.len());
    Some([&(header.len() as u64).to_le_bytes(), header.as_bytes(), tensors].concat())
}

/// The head as an entry of metadata.
pub(super) fn entry(head: &Head) -> (String, String) {
    (KEY.to_string(), as_text(head))
}

fn as_text(head: &Head) -> String {
    serde_json::to_string(head).expect("a head has a form in JSON")
}

/// The head of the ledger that a file of tensors rests on.
pub(super) fn head_of(path: &Path, file: &[u8]) -> Result<Head> {
    let metadata = SafeTensors::read_metadata(file).map_err(|error| Error::file(path, error))?.1;
    let entry = metadata.metadata().as_ref().and_then(|entries| entries.get(KEY));
    entry.and_then(|text| serde_json::from_str(text).ok()).ok_or_else(|| {
        Error::file(
            path,
            "it does not say on which ledger it rests, so it is of an older version or was changed: move it out of the \
             folder, and count what the ledger says",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use safetensors::tensor::{Dtype, TensorView};
    use std::collections::HashMap;

    #[test]
    fn a_sealed_file_has_its_tensors_its_metadata_and_the_head() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model.safetensors");
        let bytes: Vec<u8> = (0..12).collect();
        let view = || TensorView::new(Dtype::F32, vec![3], &bytes).unwrap();
        let head = Head { lines: 7, sha256: "ab".repeat(32) };
        for metadata in [None, Some(HashMap::from([("format".to_string(), "pt".to_string())]))] {
            let file = safetensors::serialize([("weight", view())], metadata.clone()).unwrap();
            let unsealed = head_of(&path, &file).unwrap_err().to_string();
            assert!(unsealed.contains("older version"), "{unsealed}");
            let write = |path: &Path| std::fs::write(path, &file).map_err(|error| Error::file(path, error));
            write_sealed(&path, &head, write).unwrap();
            let sealed = std::fs::read(&path).unwrap();
            assert_eq!(head_of(&path, &sealed).unwrap(), head);
            let tensors = SafeTensors::deserialize(&sealed).unwrap();
            assert_eq!(tensors.tensor("weight").unwrap().data(), &bytes[..]);
            let found = SafeTensors::read_metadata(&sealed).unwrap().1.metadata().clone().unwrap();
            assert_eq!(found.contains_key("format"), metadata.is_some());
            assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
        }
    }
}
