//! Reading weight files.

use super::layout::places;
use super::{MODEL_KEY, fail};
use crate::error::{Error, Result};
use crate::model_file::ModelDescription;
use crate::network::{Network, Parameter};
use crate::pattern::matches;
use crate::regular_file;
use half::{bf16, f16};
use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use std::collections::{BTreeMap, HashMap};
use std::io::Read;
use std::path::Path;

/// Longest header that the format allows.
const MOST_HEADER_BYTES: u64 = 100_000_000;

/// Counters that PyTorch keeps and nobody here needs.
const IGNORED: &str = ".num_batches_tracked";

/// What is said in a weight file beside its tensors, by key.
pub fn metadata(path: &Path) -> Result<HashMap<String, String>> {
    let bytes = read(path)?;
    let (_, metadata) = SafeTensors::read_metadata(&bytes).map_err(|error| foreign(path, error))?;
    Ok(metadata.metadata().clone().unwrap_or_default())
}

/// Loads the parameters of a network.
pub fn load(path: &Path, network: &Network) -> Result<Vec<f32>> {
    let bytes = read(path)?;
    parameters(path, &tensors(path, &bytes)?, network)
}

/// Loads a network and its parameters from a file that holds its description, as [`save`](super::save) writes it.
pub fn open(path: &Path) -> Result<(ModelDescription, Network, Vec<f32>)> {
    parse(path, &read(path)?)
}

/// The same from the bytes of the file.
pub fn parse(path: &Path, bytes: &[u8]) -> Result<(ModelDescription, Network, Vec<f32>)> {
    let (_, metadata) = SafeTensors::read_metadata(bytes).map_err(|error| foreign(path, error))?;
    let text = metadata
        .metadata()
        .as_ref()
        .and_then(|entries| entries.get(MODEL_KEY))
        .ok_or_else(|| fail(path, "it does not say which model it belongs to; name the model as well"))?;
    let inside = |error: Error| fail(path, format!("its model description: {error}"));
    let description = ModelDescription::from_toml(text).map_err(inside)?;
    let network = description.network().map_err(inside)?;
    let parameters = parameters(path, &tensors(path, bytes)?, &network)?;
    Ok((description, network, parameters))
}

/// The bytes of a file that looks as it should. A large file of another kind is not read as a whole to find that out.
fn read(path: &Path) -> Result<Vec<u8>> {
    let mut file = regular_file::open(path).map_err(|error| fail(path, error))?;
    let length = file.metadata().map_err(|error| fail(path, error))?.len();
    let mut start = [0; 9];
    if length < start.len() as u64 {
        return Err(foreign(path, format!("it has only {length} bytes")));
    }
    file.read_exact(&mut start).map_err(|error| fail(path, error))?;
    let header = start[..8].iter().rev().fold(0, |header, &byte| header << 8 | u64::from(byte));
    if header > MOST_HEADER_BYTES || start[8] != b'{' {
        return Err(foreign(path, "it does not start with a header"));
    }
    if header > length - 8 {
        return Err(fail(path, format!("it is truncated: a header of {header} bytes in a file of {length}")));
    }
    let mut bytes = Vec::new();
    usize::try_from(length)
        .ok()
        .and_then(|length| bytes.try_reserve_exact(length).ok())
        .ok_or_else(|| fail(path, format!("its {length} bytes do not fit into memory")))?;
    bytes.extend_from_slice(&start);
    file.read_to_end(&mut bytes).map_err(|error| fail(path, error))?;
    Ok(bytes)
}

fn foreign(path: &Path, error: impl ToString) -> Error {
    fail(path, format!("not a safetensors file, or a damaged one: {}", error.to_string()))
}

fn tensors<'a>(path: &Path, bytes: &'a [u8]) -> Result<SafeTensors<'a>> {
    SafeTensors::deserialize(bytes).map_err(|error| match error {
        safetensors::SafeTensorError::MetadataIncompleteBuffer => {
            fail(path, format!("it is truncated, or longer than its header says ({} bytes)", bytes.len()))
        }
        // In words of its own: parsers speak of fields of the program.
        safetensors::SafeTensorError::InvalidHeaderDeserialization(_) => {
            foreign(path, "its header does not list tensors with `dtype`, `shape` and `data_offsets`")
        }
        other => foreign(path, other),
    })
}

/// How the tensors of a file become those of a network.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mapping {
    /// Beginnings of names in the file, and what stands in their place in the network; of several that fit the longest holds.
    pub names: BTreeMap<String, String>,
    /// Tensors of the network that are not taken from the file: patterns of their names.
    pub fresh: Vec<String>,
    /// Tensors of the file that are not wanted: patterns of their names there.
    pub ignore: Vec<String>,
}

impl Mapping {
    /// The name in the network of a tensor in the file.
    fn name(&self, name: &str) -> String {
        let fitting = self
            .names
            .iter()
            .filter_map(|(from, to)| Some((from.len(), to, name.strip_prefix(from.as_str())?)));
        match fitting.max_by_key(|(length, ..)| *length) {
            Some((_, to, rest)) => format!("{to}{rest}"),
            None => name.to_string(),
        }
    }
}

/// Loads those parameters of a network that a file has, under the names that the mapping gives them, and leaves the others as
/// they are.
///
/// # Panics
/// If the parameters are not as many as the network has.
pub fn load_over(path: &Path, network: &Network, mapping: &Mapping, parameters: &mut [f32]) -> Result<()> {
    assert_eq!(parameters.len(), network.parameter_len(), "parameters of this network");
    let bytes = read(path)?;
    fill_all(path, &placed(path, &tensors(path, &bytes)?, network, mapping)?, parameters)
}

fn parameters(path: &Path, tensors: &SafeTensors, network: &Network) -> Result<Vec<f32>> {
    let placed = placed(path, tensors, network, &Mapping::default())?;
    // Only now is it sure that the file holds as many values as the network wants.
    let mut values = vec![0.0; network.parameter_len()];
    fill_all(path, &placed, &mut values)?;
    Ok(values)
}

/// The tensors of a file, each with the parameter that it is.
fn placed<'a>(
    path: &Path,
    tensors: &SafeTensors<'a>,
    network: &'a Network,
    mapping: &Mapping,
) -> Result<Vec<(TensorView<'a>, &'a Parameter)>> {
    let is_one_of = |patterns: &[String], name: &str| patterns.iter().any(|pattern| matches(pattern, name));
    let mut views: BTreeMap<String, TensorView> = BTreeMap::new();
    for (name, view) in tensors.iter() {
        if name.ends_with(IGNORED) || is_one_of(&mapping.ignore, name) {
            continue;
        }
        let target = mapping.name(name);
        if views.insert(target.clone(), view).is_some() {
            return Err(fail(path, format!("two of its tensors are to become `{target}`")));
        }
    }
    let (mut placed, mut missing) = (Vec::new(), Vec::new());
    for parameter in network.parameters() {
        match views.remove(&parameter.name) {
            _ if is_one_of(&mapping.fresh, &parameter.name) => {}
            Some(view) => placed.push((view, parameter)),
            None => missing.push(parameter.name.as_str()),
        }
    }
    let extra: Vec<&str> = views.keys().map(String::as_str).collect();
    let reasons: Vec<String> = [("the file lacks", missing), ("the network has no", extra)]
        .into_iter()
        .filter(|(_, names)| !names.is_empty())
        .map(|(verb, names)| format!("{verb} {}", some(&names)))
        .collect();
    if !reasons.is_empty() {
        return Err(fail(path, reasons.join("; ")));
    }
    let fits = |(view, parameter): &(TensorView, &Parameter)| check_shape(view, parameter);
    placed.iter().try_for_each(fits).map_err(|reason| fail(path, reason))?;
    Ok(placed)
}

fn fill_all(path: &Path, placed: &[(TensorView, &Parameter)], values: &mut [f32]) -> Result<()> {
    for (view, parameter) in placed {
        fill(view, parameter, &mut values[parameter.range.clone()]).map_err(|reason| fail(path, reason))?;
    }
    Ok(())
}

/// The first of many names.
fn some(names: &[&str]) -> String {
    const SHOWN: usize = 4;
    let shown: Vec<String> = names.iter().take(SHOWN).map(|name| format!("`{name}`")).collect();
    let list = format!("tensor {}", shown.join(", "));
    match names.len().saturating_sub(SHOWN) {
        0 => list,
        more => format!("{list} and {more} more"),
    }
}

/// Whether a tensor has the sizes that the network needs.
fn check_shape(view: &TensorView, parameter: &Parameter) -> std::result::Result<(), String> {
    if view.shape() == parameter.tensor.sizes {
        return Ok(());
    }
    Err(format!(
        "tensor `{}` has shape {:?}, the network needs {:?}",
        parameter.name,
        view.shape(),
        parameter.tensor.sizes
    ))
}

/// Writes one tensor in muffle's order.
fn fill(view: &TensorView, parameter: &Parameter, values: &mut [f32]) -> std::result::Result<(), String> {
    let name = &parameter.name;
    let bytes = view.data();
    match view.dtype() {
        Dtype::F32 => convert(bytes, parameter, values, f32::from_le_bytes),
        Dtype::F64 => convert(bytes, parameter, values, |bytes| f64::from_le_bytes(bytes) as f32),
        Dtype::F16 => convert(bytes, parameter, values, |bytes| f16::from_le_bytes(bytes).to_f32()),
        Dtype::BF16 => convert(bytes, parameter, values, |bytes| bf16::from_le_bytes(bytes).to_f32()),
        other => {
            return Err(format!("tensor `{name}` has type {other}; use F32, F64, F16 or BF16"));
        }
    }
    match values.iter().all(|value| value.is_finite()) {
        true => Ok(()),
        false => Err(format!("tensor `{name}` has a value that is not finite")),
    }
}

fn convert<const N: usize>(
    bytes: &[u8],
    parameter: &Parameter,
    values: &mut [f32],
    number: impl Fn([u8; N]) -> f32,
) {
    let (numbers, _) = bytes.as_chunks::<N>();
    for (place, &bytes) in places(&parameter.tensor).zip(numbers) {
        values[place] = number(bytes);
    }
}
