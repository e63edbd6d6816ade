//! A finished model, to be used.

use super::evaluation::Decision;
use super::network::{check_shapes, describe};
use super::plan::TargetShape;
use super::recipe::{ModelChoice, Recipe};
use crate::bundle::{Bundle, differences};
use crate::data::own::{self, Origin};
use crate::data::{Dataset, Schema, Search, Source};
use crate::error::{Error, Result};
use crate::principal_components::Projection;
use crate::run::{Certificate, MODEL_FILE, Parts, Status, verify};
use muffle_nn::{ModelDescription, Network, Shape, weights};
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
    /// How it chooses a class.
    pub decision: Decision,
    /// The recipe of its run; bare weights have none.
    pub recipe: Option<Parts>,
    /// What its inputs and outputs mean; bare weights do not say.
    pub bundle: Option<Bundle>,
    /// The principal components it was trained on.
    pub components: Option<Projection>,
}

impl Trained {
    /// Opens the folder of a finished run, or its model file alone.
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
        let file = if path.is_dir() { path.join(MODEL_FILE) } else { path.to_path_buf() };
        // A folder without a recipe is no run at all.
        let recipe = path.is_dir().then(|| Parts::read(path, &[])).transpose()?;
        if path.is_dir() && !file.exists() {
            return Err(unfinished(path));
        }
        let (description, network, parameters) = weights::open(&file)?;
        Trained::of(file, description, network, parameters, recipe)
    }

    /// Bare weights for a network of this name, or of this model file.
    pub fn of_model(path: &Path, model: &str) -> Result<Trained> {
        let description = describe(&ModelChoice::Named(model.to_string()), Shape::Vector(0))?;
        let network = description.network()?;
        let parameters = weights::load(path, &network)?;
        Trained::of(path.to_path_buf(), description, network, parameters, None)
    }

    fn of(
        path: PathBuf,
        description: ModelDescription,
        network: Network,
        parameters: Vec<f32>,
        recipe: Option<Parts>,
    ) -> Result<Trained> {
        let bundle = Bundle::read_for(&path, &network)?;
        let recipe = match (recipe, &bundle) {
            (None, Some(bundle)) => Some(Parts::parse(&path.display().to_string(), &bundle.recipe, &[])?),
            (recipe, _) => recipe,
        };
        let components = bundle.as_ref().and_then(Bundle::projection).transpose()?;
        let decision = Decision::new(bundle.as_ref().and_then(|bundle| bundle.threshold));
        let network = Arc::new(network);
        Ok(Trained { path, description, network, parameters, decision, recipe, bundle, components })
    }

    /// The recipe of training by gradients, from which more models like it can be trained.
    pub fn gradient_recipe(&self) -> Result<Recipe> {
        let reason = "bare weights do not say how they were trained; give the folder of the run";
        Recipe::of(self.recipe.as_ref().ok_or_else(|| Error::file(&self.path, reason))?)
    }

    /// The share of the training records that was not trained on.
    pub fn held_out(&self) -> f64 {
        self.gradient_recipe().map_or(0.0, |recipe| recipe.training.held_out())
    }

    /// The data to use the model on: what is asked for, or what it was trained on.
    ///
    /// A table, arrays or a folder of images without a description are read by what the model knows of its data, all records of them.
    ///
    /// # Guarantee
    /// Data that would mean something else to the model are refused, with the difference.
    pub fn dataset(&self, word: Option<&str>, search: &Search) -> Result<Dataset> {
        let dataset = match (word, &self.recipe) {
            (Some(word), _) => self.asked_for(word, search)?,
            (None, Some(recipe)) => {
                let search = search.near(&self.path);
                if let Source::Own(path) = Source::resolve(&recipe.run.data, &search)?
                    && !path.exists()
                {
                    let data = path.display();
                    let reason = format!(
                        "the model was trained on `{data}`, which is not here: say where it is (--data)"
                    );
                    return Err(Error::Plan(reason));
                }
                recipe.run.dataset(&search)?
            }
            (None, None) => {
                let reason = "bare weights do not say which data they are for: name a data set";
                return Err(Error::Plan(reason.to_string()));
            }
        };
        if let Some(bundle) = &self.bundle
            && let Some(difference) = differences(&bundle.schema, &Schema::of(&dataset))
        {
            return Err(Error::Plan(format!(
                "`{}` is not what {} was trained for: {difference}; correct the description of the data",
                dataset.name(),
                self.path.display()
            )));
        }
        let dataset = match &self.components {
            Some(components) => components.apply(&dataset)?,
            None => dataset,
        };
        check_shapes(&self.network, dataset.input(), TargetShape::of(dataset.task()))?;
        Ok(dataset)
    }

    fn asked_for(&self, word: &str, search: &Search) -> Result<Dataset> {
        let source = Source::resolve(word, search)?;
        match (&source, &self.bundle) {
            (Source::Own(path), Some(bundle)) if Origin::of(path) != Origin::Described => {
                Ok(own::load_for(path, &bundle.schema)?)
            }
            _ => Ok(source.load()?),
        }
    }
}

/// A run that was stopped, maybe after its model was written and before the certificate of that was, or that went nowhere.
fn unfinished(path: &Path) -> Error {
    let certificate = path.join("privacy.json");
    if Certificate::read(&certificate).is_ok_and(|certificate| certificate.status == Status::Diverged) {
        return Error::Diverged { folder: path.to_path_buf() };
    }
    let reason =
        format!("the run is not finished; continue it with `muffle train --resume {}`", path.display());
    Error::file(path, reason)
}
