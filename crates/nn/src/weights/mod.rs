//! Weights in files: safetensors, with PyTorch's names and layouts.
//!
//! ```python
//! from safetensors.torch import load_file
//! model.load_state_dict(load_file("weights.safetensors"))
//! ```

mod layout;
mod load;
mod save;

pub use load::{Mapping, load, load_over, metadata, open, parse};
pub use save::{save, save_with};

use crate::error::Error;
use std::path::Path;

/// Key of the model description among the metadata of a weight file.
pub const MODEL_KEY: &str = "muffle.model";

/// The error for a file that cannot be used.
fn fail(path: &Path, reason: impl ToString) -> Error {
    Error::Weights { path: path.display().to_string(), reason: reason.to_string() }
}
