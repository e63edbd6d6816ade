//! Writing weight files.

use super::layout::places;
use super::{MODEL_KEY, fail};
use crate::atomic_file;
use crate::error::Result;
use crate::model_file::ModelDescription;
use crate::network::Network;
use serde_json::{Map, Value, json};
use std::io::Write;
use std::path::Path;

/// Saves the parameters of a network; with its description the file can be opened without any other.
///
/// A file of this name is replaced as a whole or not at all.
///
/// # Panics
/// If the parameters are not as many as the network has.
pub fn save(
    path: &Path,
    network: &Network,
    description: Option<&ModelDescription>,
    parameters: &[f32],
) -> Result<()> {
    save_with(path, network, description, parameters, &[])
}

/// The same with more entries among the metadata, for whoever writes the file.
///
/// # Panics
/// As [`save`].
pub fn save_with(
    path: &Path,
    network: &Network,
    description: Option<&ModelDescription>,
    parameters: &[f32],
    metadata: &[(String, String)],
) -> Result<()> {
    assert_eq!(parameters.len(), network.parameter_len(), "parameters of this network");
    if let Some(index) = parameters.iter().position(|value| !value.is_finite()) {
        let tensors = network.parameters().iter();
        let name = tensors.filter(|tensor| tensor.range.contains(&index)).map(|tensor| tensor.name.as_str());
        return Err(fail(
            path,
            format!("not saved: tensor `{}` has a value that is not finite", name.collect::<String>()),
        ));
    }
    let header = header(network, description, metadata);
    let written = atomic_file::write_with(path, |file| {
        file.write_all(&(header.len() as u64).to_le_bytes())?;
        file.write_all(header.as_bytes())?;
        for parameter in network.parameters() {
            let values = &parameters[parameter.range.clone()];
            for place in places(&parameter.tensor) {
                file.write_all(&values[place].to_le_bytes())?;
            }
        }
        Ok(())
    });
    written.map_err(|error| fail(path, error))
}

/// The header of the file; the same network gives the same bytes.
///
/// # Source
/// The safetensors format: <https://github.com/huggingface/safetensors#format>.
fn header(network: &Network, description: Option<&ModelDescription>, more: &[(String, String)]) -> String {
    let mut metadata = Map::from_iter([("format".to_string(), json!("pt"))]);
    metadata.extend(more.iter().map(|(key, value)| (key.clone(), json!(value))));
    if let Some(description) = description {
        metadata.insert(MODEL_KEY.to_string(), json!(description.to_toml()));
    }
    let mut header = Map::from_iter([("__metadata__".to_string(), Value::Object(metadata))]);
    for parameter in network.parameters() {
        let offsets = [parameter.range.start * size_of::<f32>(), parameter.range.end * size_of::<f32>()];
        let entry = json!({ "dtype": "F32", "shape": parameter.tensor.sizes, "data_offsets": offsets });
        header.insert(parameter.name.clone(), entry);
    }
    let mut text = Value::Object(header).to_string();
    // The values behind it are aligned to eight bytes.
    text.extend(std::iter::repeat_n(' ', text.len().next_multiple_of(8) - text.len()));
    text
}
