//! Public weights to start from.

use crate::digest::sha256;
use crate::error::{Error, Result};
use muffle_nn::weights::{self, Mapping};
use muffle_nn::{Network, regular_file};
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

/// A file of weights that training starts from, declared public. In a recipe its path is enough.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Init {
    /// The file.
    pub weights: String,
    /// Beginnings of names in the file, and what stands in their place in the network.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub names: BTreeMap<String, String>,
    /// Tensors of the network that start at random: patterns of their names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fresh: Vec<String>,
    /// Tensors of the file that are not wanted: patterns of their names there.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ignore: Vec<String>,
    /// SHA-256 of the file; a plan fills it in, and no other file will do from then on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
}

impl Init {
    /// The digest of the file, which is the one that the recipe has if it has one.
    pub fn digest(&self) -> Result<String> {
        let path = Path::new(&self.weights);
        let bytes = regular_file::read(path).map_err(|error| {
            Error::file(path, format!("{error}; init names the weights that training starts from"))
        })?;
        let found = sha256(bytes);
        match &self.sha256 {
            Some(expected) if *expected != found => Err(Error::file(
                path,
                format!(
                    "these are not the weights that the recipe is about: its digest is {found}, not {expected}; bring the file \
                     back, or start another run"
                ),
            )),
            _ => Ok(found),
        }
    }

    /// Puts the weights in the place of those that a network starts with; `fresh` start at random beside those of the recipe.
    pub fn load(&self, network: &Network, fresh: &[String], parameters: &mut [f32]) -> Result<()> {
        let mapping = Mapping {
            names: self.names.clone(),
            fresh: [&self.fresh, fresh].concat(),
            ignore: self.ignore.clone(),
        };
        weights::load_over(Path::new(&self.weights), network, &mapping, parameters).map_err(|error| {
            Error::Plan(format!(
                "init: {error}; init.names renames what the file has, init.fresh lists what starts at random, init.ignore what \
                 is not wanted"
            ))
        })
    }
}

/// A path, or a table.
impl<'de> Deserialize<'de> for Init {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Init, D::Error> {
        deserializer.deserialize_any(PathOrTable)
    }
}

/// The table as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    weights: String,
    #[serde(default)]
    names: BTreeMap<String, String>,
    #[serde(default)]
    fresh: Vec<String>,
    #[serde(default)]
    ignore: Vec<String>,
    sha256: Option<String>,
}

struct PathOrTable;

impl<'de> Visitor<'de> for PathOrTable {
    type Value = Init;

    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("the path of a weight file, or a table with `weights`")
    }

    fn visit_str<E: de::Error>(self, weights: &str) -> std::result::Result<Init, E> {
        Ok(Init { weights: weights.to_string(), ..Init::default() })
    }

    fn visit_map<M: MapAccess<'de>>(self, map: M) -> std::result::Result<Init, M::Error> {
        let Written { weights, names, fresh, ignore, sha256 } =
            Written::deserialize(MapAccessDeserializer::new(map))?;
        Ok(Init { weights, names, fresh, ignore, sha256 })
    }
}
