//! Networks in TOML: a shape and a list of layers.
//!
//! ```
//! use muffle_nn::ModelDescription;
//!
//! let description = ModelDescription::from_toml(
//!     r#"
//!     input = [1, 28, 28]
//!     layers = [
//!         { type = "conv2d", channels = 16, kernel = 8, stride = 2, padding = 3 },
//!         { type = "relu" },
//!         { type = "flatten" },
//!         { type = "dense", features = 10 },
//!     ]
//!     "#,
//! )?;
//! assert_eq!(description.network()?.output().len(), 10);
//! # Ok::<(), muffle_nn::Error>(())
//! ```

mod composite;
pub mod explain;
pub mod nearest;
mod parse;
mod print;
mod value;

use crate::config::Entry;
use crate::error::{Error, Result};
use crate::network::Network;
use crate::regular_file;
use crate::shape::Shape;
use std::path::Path;

/// A network before it is built: what goes in, and what happens to it.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelDescription {
    /// Shape of an input example.
    pub input: Shape,
    /// The layers, one after the other.
    pub layers: Vec<Entry>,
}

/// Longest model file that is read; the largest known network takes a hundredth of it.
const MOST_BYTES: u64 = 4 << 20;

impl ModelDescription {
    /// Builds the network.
    pub fn network(&self) -> Result<Network> {
        Network::new(self.input, &self.layers)
    }

    /// Reads a description in TOML.
    pub fn from_toml(text: &str) -> Result<ModelDescription> {
        parse::model(text)
    }

    /// Writes the description in TOML, without what is default anyway.
    pub fn to_toml(&self) -> String {
        print::model(self)
    }

    /// Reads a model file.
    pub fn read(path: &Path) -> Result<ModelDescription> {
        let fail = |reason: String| Error::Description(format!("{}: {reason}", path.display()));
        let length = std::fs::metadata(path).map_err(|error| fail(error.to_string()))?.len();
        if length > MOST_BYTES {
            return Err(fail(format!("{length} bytes are too many for a model file (at most {MOST_BYTES})")));
        }
        let text = regular_file::read_to_string(path).map_err(|error| fail(error.to_string()))?;
        ModelDescription::from_toml(&text).map_err(|error| fail(error.to_string()))
    }
}
