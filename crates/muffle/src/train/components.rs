//! Private principal components before the first step: paid for, released once, kept with the run.

use super::error::{Result, TrainError};
use super::ledger::Ledger;
use super::plan::Plan;
use super::run_folder::RunFolder;
use crate::atomic_file;
use crate::data::Dataset;
use crate::noise::Key;
use crate::principal_components::{Projection, release};
use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use std::path::Path;

/// Name of the file in the folder of a run.
pub const FILE: &str = "components.safetensors";

/// Name of the tensor in the file: one row for each component.
const TENSOR: &str = "components";

/// The data by its private principal components, if the recipe asks for them.
///
/// # Guarantee
/// The release is in the ledger before the records are read. Components that are on disk are used again for nothing (R9).
pub fn prepare(
    folder: &RunFolder,
    plan: &Plan,
    dataset: &Dataset,
    key: &Key,
    ledger: &mut Ledger,
) -> Result<Option<Dataset>> {
    let recipe = &plan.recipe;
    let (Some(choice), Some(preparation)) = (recipe.principal_components, plan.principal_components()) else {
        return Ok(None);
    };
    let path = folder.components();
    if path.exists() {
        return Ok(Some(load(&path)?.apply(dataset)?));
    }
    ledger.prepare(&preparation, recipe.seed.is_some())?;
    let noise_multiplier = if recipe.private { choice.noise_multiplier } else { 0.0 };
    let (projection, event) = release(&dataset.train(), choice.dimensions, noise_multiplier, key)?;
    assert_eq!(event, preparation.event, "the components cost something else than was paid");
    save(&path, &projection)?;
    Ok(Some(projection.apply(dataset)?))
}

fn save(path: &Path, projection: &Projection) -> Result<()> {
    let fail = |reason: String| TrainError::file(path, reason);
    let bytes: Vec<u8> = projection.components().iter().flat_map(|value| value.to_le_bytes()).collect();
    let sizes = vec![projection.dimensions(), projection.inputs()];
    let view = TensorView::new(Dtype::F32, sizes, &bytes).map_err(|error| fail(error.to_string()))?;
    let file = safetensors::serialize([(TENSOR, view)], None).map_err(|error| fail(error.to_string()))?;
    atomic_file::write(path, file).map_err(|error| fail(error.to_string()))
}

/// Reads the components of a run.
pub fn load(path: &Path) -> Result<Projection> {
    let damaged = |reason: String| {
        TrainError::file(
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
