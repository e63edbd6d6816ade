//! The models that are attacked, with their data.

use crate::train::Outcome;
use clap::Args;
use muffle::data::{Dataset, Search};
use muffle::run::{Certificate, recipe_digest};
use muffle::train::{DataShape, Plan, Trained};
use std::path::{Path, PathBuf};

/// Which models, and how to say what came of it.
#[derive(Args)]
pub struct Models {
    /// The folder of a finished run, or its model alone (.safetensors)
    run: PathBuf,
    /// A second run beside it: the same recipe without privacy, for instance
    #[arg(long, value_name = "RUN")]
    against: Option<PathBuf>,
    /// The data it was trained on: a published name or a description (default: where its run found them)
    #[arg(long, value_name = "DATA")]
    data: Option<String>,
    /// Folder to search for data first (default: MUFFLE_DATA, then ~/.local/share/muffle)
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// Folder to leave the results in, for `muffle report` and `muffle serve`
    #[arg(long, value_name = "DIR")]
    pub results: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

impl Models {
    /// Opens one model or both.
    pub fn open(&self) -> Outcome<Vec<Target>> {
        let search = Search::new(self.data_dir.as_deref());
        let open = |path: &PathBuf| Target::open(path, self.data.as_deref(), &search);
        std::iter::once(&self.run).chain(&self.against).map(open).collect()
    }
}

/// A finished model and the data it was trained on.
pub struct Target {
    /// As it was given.
    pub name: String,
    /// The model.
    pub trained: Trained,
    /// The data.
    pub dataset: Dataset,
    path: PathBuf,
}

impl Target {
    fn open(path: &Path, data: Option<&str>, search: &Search) -> Outcome<Target> {
        let trained = Trained::open(path)?;
        let name = path.display().to_string();
        if trained.recipe.is_none() && data.is_none() {
            return Err(format!(
                "{name}: bare weights do not say what they were trained on; give the folder of the run, or the training data by --data"
            )
            .into());
        }
        let dataset = trained.dataset(data, search)?;
        if dataset.classes().is_empty() {
            return Err(format!(
                "{name}: attacks are on models of classes, and `{}` has none",
                dataset.name()
            )
            .into());
        }
        if dataset.train().split() == dataset.test().split() {
            return Err(format!(
                "{name}: an attack needs records that were trained on and others that were not, and `{}` does not say which are \
                 which; give a description with its splits (.toml)",
                dataset.name()
            )
            .into());
        }
        Ok(Target { name, trained, dataset, path: path.to_path_buf() })
    }

    /// How more models like it are trained: by its recipe, on one thread.
    pub fn plan(&self) -> Outcome<Plan> {
        let mut recipe = self.trained.gradient_recipe()?;
        recipe.run.threads = Some(1);
        Ok(Plan::new(recipe, &DataShape::of(&self.dataset))?)
    }

    /// What its results are known by: the digest of its recipe; nothing for a model without its run.
    pub fn recipe_digest(&self) -> Option<String> {
        recipe_digest(&self.path).ok()
    }

    /// The certificate of the run, if there is one.
    pub fn certificate(&self) -> Outcome<Option<Certificate>> {
        let file = self.path.join("privacy.json");
        Ok(file.exists().then(|| Certificate::read(&file)).transpose()?)
    }
}
