//! What a model file carries beside its weights, so that it can be used without anything else.

mod difference;
mod held;

pub use difference::differences;
pub use held::hold;

use crate::data::Schema;
use crate::error::{Error, Result};
use crate::principal_components::Projection;
use muffle_nn::model_file::explain::json_error;
use muffle_nn::{Network, weights};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Key of the bundle among the metadata of a model file.
const KEY: &str = "muffle.bundle";

/// What a model needs to be used anywhere: how records become its inputs, what its outputs mean, and where it comes from.
///
/// # Guarantee
/// Nothing in it was computed from records except what the ledger holds: declared constants, released components, the recipe.
/// Seeds are left out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bundle {
    /// The version of the program that wrote it.
    pub version: String,
    /// How records become inputs, and what outputs are about.
    pub schema: Schema,
    /// The principal components that stand between records and inputs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    components: Option<Components>,
    /// For two classes: the probability from which on a record is of the second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threshold: Option<f64>,
    /// The recipe with every question answered, without its seeds.
    pub recipe: String,
    /// SHA-256 of the run's recipe, as in its certificate.
    pub recipe_sha256: String,
}

/// Principal components as they are written down.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Components {
    dimensions: usize,
    values: Vec<f32>,
}

impl Bundle {
    /// Of a recipe without its seeds, whose run has one with this digest.
    pub fn new(
        schema: Schema,
        components: Option<&Projection>,
        recipe: String,
        recipe_sha256: String,
    ) -> Bundle {
        let components = components.map(|projection| Components {
            dimensions: projection.dimensions(),
            values: projection.components().to_vec(),
        });
        let version = env!("CARGO_PKG_VERSION").to_string();
        Bundle { version, schema, components, threshold: None, recipe, recipe_sha256 }
    }

    /// As an entry among the metadata of a model file.
    pub fn entry(&self) -> (String, String) {
        (KEY.to_string(), serde_json::to_string(self).expect("a bundle has a form in JSON"))
    }

    /// That of a model file; `None` for bare weights.
    pub fn read(path: &Path) -> Result<Option<Bundle>> {
        let entries = weights::metadata(path)?;
        entries.get(KEY).map(|text| Bundle::parse(path, text)).transpose()
    }

    /// That of a model file whose entry has this text.
    pub fn parse(path: &Path, text: &str) -> Result<Bundle> {
        serde_json::from_str(text).map_err(|error| unusable(path, &json_error(&error)))
    }

    /// The same for a network: what the file says of its data is checked, and fits.
    pub fn read_for(path: &Path, network: &Network) -> Result<Option<Bundle>> {
        let bundle = Bundle::read(path)?;
        if let Some(bundle) = &bundle {
            bundle.check(network).map_err(|reason| unusable(path, &reason))?;
        }
        Ok(bundle)
    }

    fn check(&self, network: &Network) -> std::result::Result<(), String> {
        self.schema.check()?;
        let record = self.schema.shape();
        let fits = match self.projection() {
            Some(projection) => {
                let projection = projection.map_err(|error| error.to_string())?;
                projection.inputs() == record.len() && projection.dimensions() == network.input().len()
            }
            None => network.input().reads(record),
        };
        let outputs = self.schema.task.outputs();
        if !fits || outputs != network.output().len() {
            return Err(format!(
                "records of shape {record} and {outputs} outputs, for a network of inputs {} and {} outputs",
                network.input(),
                network.output().len()
            ));
        }
        match self.threshold.filter(|threshold| !(0.0..=1.0).contains(threshold)) {
            Some(threshold) => Err(format!("a threshold of {threshold}")),
            None => Ok(()),
        }
    }

    /// The principal components that records are projected on, if there are any.
    pub fn projection(&self) -> Option<Result<Projection>> {
        let components = self.components.as_ref()?;
        Some(
            Projection::from_components(components.dimensions, components.values.clone())
                .map_err(Error::from),
        )
    }
}

fn unusable(path: &Path, reason: &str) -> Error {
    let remedy = "get the file again, or use the version of muffle that wrote it";
    Error::file(path, format!("what it says of its data cannot be used ({reason}); {remedy}"))
}
