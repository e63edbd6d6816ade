//! A network that learned to see on images that are public, or that the program made.

use crate::digest::sha256;
use crate::error::{Error, Result};
use muffle_nn::config::Entry;
use muffle_nn::{ModelDescription, Shape, regular_file, weights};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The first layers of a model file, which stay as they are.
///
/// # Source
/// Tang et al. 2023, "Differentially private image classification by learning priors from random processes".
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prior {
    /// A model file of `muffle train`, declared public.
    pub weights: String,
    /// How many of its layers, from the first on.
    pub layers: usize,
    /// SHA-256 of the file; a plan fills it in, and no other file will do from then on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
}

impl Prior {
    /// Fills in which file it is.
    pub(super) fn settle(&mut self) -> Result<()> {
        self.bytes().map(|bytes| self.sha256 = Some(sha256(bytes)))
    }

    fn bytes(&self) -> Result<Vec<u8>> {
        let path = Path::new(&self.weights);
        let bytes = regular_file::read(path).map_err(|error| {
            Error::file(path, format!("{error}; features.prior names a model file that is public"))
        })?;
        match &self.sha256 {
            Some(expected) if *expected != sha256(&bytes) => Err(Error::file(
                path,
                "this is not the file that the recipe is about; bring that one back, or start another run"
                    .to_string(),
            )),
            _ => Ok(bytes),
        }
    }

    fn open(&self) -> Result<(ModelDescription, Vec<f32>)> {
        let (description, _, parameters) = weights::parse(Path::new(&self.weights), &self.bytes()?)?;
        match (1..description.layers.len()).contains(&self.layers) {
            true => Ok((description, parameters)),
            false => Err(Error::Plan(format!(
                "features.prior.layers = {} is outside 1 to {}: the last of the layers of {} is about its own classes",
                self.layers,
                description.layers.len() - 1,
                self.weights
            ))),
        }
    }

    /// Its layers.
    pub(super) fn layers(&self) -> Result<Vec<Entry>> {
        let (mut description, _) = self.open()?;
        description.layers.truncate(self.layers);
        Ok(description.layers)
    }

    /// Their parameters.
    pub(super) fn parameters(&self, input: Shape) -> Result<Vec<f32>> {
        let (description, mut parameters) = self.open()?;
        let first = ModelDescription { input, layers: self.layers()? }.network()?;
        if first.input().channels() != description.input.channels() {
            return Err(Error::Plan(format!(
                "features.prior: {} is about images of {} channels, the data has {}",
                self.weights,
                description.input.channels(),
                input.channels()
            )));
        }
        parameters.truncate(first.parameter_len());
        Ok(parameters)
    }
}
