//! Files of tensors that name the ledger they rest on.

use crate::error::{Error, Result};
use crate::ledger::Head;
use safetensors::tensor::SafeTensors;
use std::path::Path;

/// Key of the ledger's head among the metadata of a file.
const KEY: &str = "muffle.ledger";

/// The head of a ledger as an entry among the metadata of a file of tensors that rests on it.
pub fn ledger_entry(head: &Head) -> (String, String) {
    (KEY.to_string(), serde_json::to_string(head).expect("a head has a form in JSON"))
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
    fn a_file_names_the_head_it_was_written_with_or_is_refused() {
        let (path, bytes) = (Path::new("model.safetensors"), [0; 12]);
        let file = |metadata| {
            let view = TensorView::new(Dtype::F32, vec![3], &bytes).unwrap();
            safetensors::serialize([("weight", view)], metadata).unwrap()
        };
        let head = Head { lines: 7, sha256: "ab".repeat(32) };
        assert_eq!(head_of(path, &file(Some(HashMap::from([ledger_entry(&head)])))).unwrap(), head);
        let unsealed = head_of(path, &file(None)).unwrap_err().to_string();
        assert!(unsealed.contains("older version"), "{unsealed}");
    }
}
