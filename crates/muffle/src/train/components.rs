//! The file of private principal components, which a model needs to read its inputs.

use crate::atomic_file;
use crate::error::{Error, Result};
use crate::ledger::Head;
use crate::principal_components::Projection;
use crate::run::ledger_entry;
use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use std::collections::HashMap;
use std::path::Path;

/// Name of the file in the folder of a run.
pub const FILE: &str = "components.safetensors";

/// Name in a saved state.
pub(super) const STATE: &str = "components";

/// Name of the tensor in the file: one row for each component.
const TENSOR: &str = "components";

/// Writes the components to a file that names the ledger they rest on.
pub(super) fn save(path: &Path, projection: &Projection, head: &Head) -> Result<()> {
    let fail = |reason: String| Error::file(path, reason);
    let bytes: Vec<u8> = projection.components().iter().flat_map(|value| value.to_le_bytes()).collect();
    let sizes = vec![projection.dimensions(), projection.inputs()];
    let view = TensorView::new(Dtype::F32, sizes, &bytes).map_err(|error| fail(error.to_string()))?;
    let metadata = HashMap::from([ledger_entry(head)]);
    let file =
        safetensors::serialize([(TENSOR, view)], Some(metadata)).map_err(|error| fail(error.to_string()))?;
    atomic_file::write(path, file).map_err(|error| fail(error.to_string()))
}

/// Reads the components of a run.
pub fn load(path: &Path) -> Result<Projection> {
    let damaged = |reason: String| {
        Error::file(
            path,
            format!("the principal components cannot be read ({reason}); restore the file from a copy"),
        )
    };
    let bytes = std::fs::read(path).map_err(|error| damaged(error.to_string()))?;
    let tensors = SafeTensors::deserialize(&bytes).map_err(|error| damaged(error.to_string()))?;
    let view = tensors.tensor(TENSOR).map_err(|error| damaged(error.to_string()))?;
    let (Dtype::F32, &[dimensions, _]) = (view.dtype(), view.shape()) else {
        return Err(damaged("they are not a matrix of single precision".to_string()));
    };
    let values = view.data().as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
    Ok(Projection::from_components(dimensions, values)?)
}
