//! Writing weight files.

use super::layout::places;
use super::{MODEL_KEY, fail};
use crate::error::Result;
use crate::model_file::ModelDescription;
use crate::network::Network;
use serde_json::{Map, Value, json};
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

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
    assert_eq!(parameters.len(), network.parameter_len(), "parameters of this network");
    if let Some(index) = parameters.iter().position(|value| !value.is_finite()) {
        let tensors = network.parameters().iter();
        let name = tensors.filter(|tensor| tensor.range.contains(&index)).map(|tensor| tensor.name.as_str());
        return Err(fail(
            path,
            format!("not saved: tensor `{}` has a value that is not finite", name.collect::<String>()),
        ));
    }
    let temporary = temporary_path(path);
    let written = write(&temporary, network, description, parameters)
        .and_then(|()| std::fs::rename(&temporary, path))
        .and_then(|()| sync_directory(path));
    written.map_err(|error| {
        // Nothing is lost if this fails as well: the file is not the one asked for.
        let _ = std::fs::remove_file(&temporary);
        fail(path, error)
    })
}

/// A name nobody else uses, in the same directory, so that renaming is one step.
fn temporary_path(path: &Path) -> PathBuf {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let count = COUNTER.fetch_add(1, Ordering::Relaxed);
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".{}-{count}.partial", std::process::id()));
    path.with_file_name(name)
}

fn write(
    path: &Path,
    network: &Network,
    description: Option<&ModelDescription>,
    parameters: &[f32],
) -> io::Result<()> {
    let file = OpenOptions::new().write(true).create_new(true).open(path)?;
    let mut writer = BufWriter::with_capacity(1 << 20, file);
    let header = header(network, description);
    writer.write_all(&(header.len() as u64).to_le_bytes())?;
    writer.write_all(header.as_bytes())?;
    for parameter in network.parameters() {
        let values = &parameters[parameter.range.clone()];
        for place in places(&parameter.tensor) {
            writer.write_all(&values[place].to_le_bytes())?;
        }
    }
    writer.into_inner().map_err(|error| error.into_error())?.sync_all()
}

/// The header of the file; the same network gives the same bytes.
///
/// # Source
/// The safetensors format: <https://github.com/huggingface/safetensors#format>.
fn header(network: &Network, description: Option<&ModelDescription>) -> String {
    let mut metadata = Map::from_iter([("format".to_string(), json!("pt"))]);
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

/// Makes the new name last through a power failure.
fn sync_directory(path: &Path) -> io::Result<()> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    if cfg!(unix) {
        File::open(parent.unwrap_or(Path::new(".")))?.sync_all()?;
    }
    Ok(())
}
