//! A finished model, to be used.

use super::components;
use super::recipe::Recipe;
use crate::data::{Dataset, Search, load};
use crate::error::{Error, Result};
use crate::principal_components::Projection;
use crate::run::{MODEL_FILE, verify};
use muffle_nn::{ModelDescription, Network, weights};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A network with its parameters, and what is known of where it comes from.
pub struct Trained {
    /// The weight file.
    pub path: PathBuf,
    /// The network as it is described.
    pub description: ModelDescription,
    /// The network.
    pub network: Arc<Network>,
    /// Its parameters.
    pub parameters: Vec<f32>,
    /// The recipe of its run, if the model was given as the folder of a run.
    pub recipe: Option<Recipe>,
    /// The principal components it was trained on.
    components: Option<Projection>,
}

impl Trained {
    /// Opens the folder of a finished run, or a weight file that holds its own description.
    ///
    /// # Guarantee
    /// A folder is [verified](verify): model, ledger and recipe are those that its certificate is about.
    pub fn open(path: &Path) -> Result<Trained> {
        if path.is_dir() && path.join(MODEL_FILE).exists() {
            let certificate = verify(path)?;
            if !certificate.binding.files.contains_key(MODEL_FILE) {
                return Err(unfinished(path));
            }
        }
        Trained::open_unverified(path)
    }

    /// The same, whatever became of the folder since: nothing is known of the model's privacy.
    pub fn open_unverified(path: &Path) -> Result<Trained> {
        let (file, recipe) = match path.is_dir() {
            true => (path.join(MODEL_FILE), Some(Recipe::read(path, &[])?)),
            false => (path.to_path_buf(), None),
        };
        if path.is_dir() && !file.exists() {
            return Err(unfinished(path));
        }
        let (description, network, parameters) = weights::open(&file)?;
        let components = path.join(components::FILE);
        let components = components.exists().then(|| components::load(&components)).transpose()?;
        Ok(Trained { path: file, description, network: Arc::new(network), parameters, recipe, components })
    }

    /// The data to use the model on: what is asked for, or what it was trained on.
    pub fn dataset(&self, word: Option<&str>, search: &Search) -> Result<Dataset> {
        let mut dataset = match (word, &self.recipe) {
            (Some(word), _) => load(word, search)?,
            (None, Some(recipe)) => recipe.run.dataset(search)?,
            (None, None) => {
                let reason = "a weight file does not say which data it is for: name a data set";
                return Err(Error::Plan(reason.to_string()));
            }
        };
        if let Some(components) = &self.components {
            dataset = components.apply(&dataset)?;
        }
        let fits = self.network.input().reads(dataset.input());
        if !fits || dataset.task().outputs() != self.network.output().len() {
            return Err(Error::Plan(format!(
                "the model takes inputs of shape {} and has {} outputs, `{}` has inputs of shape {} and needs {}",
                self.network.input(),
                self.network.output().len(),
                dataset.name(),
                dataset.input(),
                dataset.task().outputs()
            )));
        }
        Ok(dataset)
    }
}

/// A run that was stopped, maybe after its model was written and before the certificate of that was.
fn unfinished(path: &Path) -> Error {
    let reason =
        format!("the run is not finished; continue it with `muffle train --resume {}`", path.display());
    Error::file(path, reason)
}
