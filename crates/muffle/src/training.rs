//! The front door for Rust programs: records, a network and a budget in, a model with its certificate out.

use crate::clip::ClipRule;
use crate::data::{Dataset, View};
use crate::error::{Error, Result};
use crate::run::{Certificate, Measurements, Progress, RunFolder, RunRecipe, Status, resume, start};
use crate::schedule::Scheduled;
use crate::train::{DataShape, Evaluator, GradientRecipe, ModelChoice, Plan, Recipe, Trained};
use muffle_nn::{ModelDescription, Network};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Private training, to be described and then started.
///
/// Whatever is not said is as usual: DP-SGD, ten passes over the data in batches of 256, gradients clipped at norm one, a
/// learning rate of 0.5, and the noise that the budget asks for.
///
/// ```
/// use muffle::Training;
/// use muffle::data::{Search, load};
/// use muffle_nn::models;
///
/// let digits = load("mnist", &Search::new(None))?;
/// # let digits = { let few: Vec<usize> = (0..600).collect(); digits.with_splits(digits.train().split().select(&few), digits.test().split().select(&few))? };
/// let folder = tempfile::tempdir().unwrap();
/// let model = Training::new(&digits, &models::model("cnn-small")?)
///     .epsilon(3.0)
///     .epochs(1.0)
///     .train(&folder.path().join("run"))?;
/// assert!(model.certificate.proved.epsilon.unwrap() <= 3.0);
/// # Ok::<(), muffle::Error>(())
/// ```
pub struct Training<'a> {
    dataset: &'a Dataset,
    recipe: Recipe,
    stop: Option<&'a AtomicBool>,
    observe: Box<dyn FnMut(&Progress) + 'a>,
}

/// A model with what was spent on it.
pub struct Model {
    /// The network.
    pub network: Arc<Network>,
    /// Its parameters.
    pub parameters: Vec<f32>,
    /// What was spent, by which argument, and what the figure leaves out.
    pub certificate: Certificate,
    /// How good it is on the test split.
    pub measured: Measurements,
}

impl<'a> Training<'a> {
    /// Of a network on a data set.
    pub fn new(dataset: &'a Dataset, model: &ModelDescription) -> Training<'a> {
        let batch_size = 256.min(dataset.train().split().len() as u64);
        let mut training = GradientRecipe::new(ModelChoice::from(model), batch_size, 1.0, 0.5);
        training.epochs = Some(10.0);
        let recipe = Recipe { run: RunRecipe::new(dataset.name()), training };
        Training { dataset, recipe, stop: None, observe: Box::new(|_| {}) }
    }

    /// The privacy to reach and not to exceed; the noise follows.
    pub fn epsilon(self, epsilon: f64) -> Training<'a> {
        self.with(|recipe| recipe.run.epsilon = Some(epsilon))
    }

    /// The probability with which the guarantee may fail; 10⁻⁵ if nobody says otherwise.
    pub fn delta(self, delta: f64) -> Training<'a> {
        self.with(|recipe| recipe.run.delta = delta)
    }

    /// Passes over the data.
    pub fn epochs(self, epochs: f64) -> Training<'a> {
        self.with(|recipe| (recipe.training.epochs, recipe.training.steps) = (Some(epochs), None))
    }

    /// Records expected in a step.
    pub fn batch_size(self, batch_size: u64) -> Training<'a> {
        self.with(|recipe| recipe.training.batch_size = batch_size)
    }

    /// The length of a step.
    pub fn learning_rate(self, learning_rate: f64) -> Training<'a> {
        self.with(|recipe| recipe.training.learning_rate = Scheduled::Number(learning_rate))
    }

    /// The largest norm of a record's gradient.
    pub fn threshold(self, threshold: f64) -> Training<'a> {
        self.with(|recipe| recipe.training.clip = ClipRule::Flat { threshold })
    }

    /// The public number of records: where their number is itself private, it takes its place.
    pub fn records(self, records: u64) -> Training<'a> {
        self.with(|recipe| recipe.run.records = Some(records))
    }

    /// Makes the run reproducible, and its noise known to whoever knows the seed.
    pub fn seed(self, seed: u64) -> Training<'a> {
        self.with(|recipe| recipe.run.seed = Some(seed))
    }

    /// Anything else that a recipe can say.
    pub fn with(mut self, change: impl FnOnce(&mut Recipe)) -> Training<'a> {
        change(&mut self.recipe);
        self
    }

    /// Is told how far the training is, several times a second.
    pub fn on_progress(self, observe: impl FnMut(&Progress) + 'a) -> Training<'a> {
        Training { observe: Box::new(observe), ..self }
    }

    /// Ends in good order when the flag is set; training again in the same folder then goes on.
    pub fn stop_on(self, stop: &'a AtomicBool) -> Training<'a> {
        Training { stop: Some(stop), ..self }
    }

    /// Trains in a folder, which holds the ledger, the model and the certificate; an interrupted run in it is continued.
    ///
    /// # Guarantee
    /// That of [`run::complete`](crate::run::complete): what is spent is in the folder before it is spent.
    pub fn train(mut self, folder: &Path) -> Result<Model> {
        let recipe = Recipe::new(self.recipe.run, self.recipe.training)?;
        let plan = Plan::new(recipe, &DataShape::of(self.dataset))?;
        let (never, observe) = (AtomicBool::new(false), &mut *self.observe);
        let stop = self.stop.unwrap_or(&never);
        let summary = match folder.join("recipe.toml").exists() {
            true => {
                let opened = RunFolder::open(folder)?;
                if Recipe::read(folder, &[])? != plan.recipe {
                    return Err(Error::file(
                        folder,
                        "there is a run already, by another recipe; choose another folder",
                    ));
                }
                resume(&opened, &plan, self.dataset, stop, observe)?
            }
            false => start(folder, &plan, self.dataset, stop, observe)?,
        };
        match summary.certificate.status {
            Status::Finished => {}
            Status::Interrupted => return Err(Error::Interrupted { folder: folder.to_path_buf() }),
            Status::Diverged => return Err(Error::Diverged { folder: folder.to_path_buf() }),
        }
        let Trained { network, parameters, .. } = Trained::open(folder)?;
        Ok(Model { network, parameters, certificate: summary.certificate, measured: summary.measured })
    }
}

impl Model {
    /// The outputs for every record of a view, in order.
    pub fn outputs(&self, view: &View) -> Result<Vec<Vec<f32>>> {
        let mut outputs = Vec::new();
        let mut evaluator = Evaluator::new(self.network.clone(), None)?;
        evaluator.for_each(&self.parameters, view, |_, output| outputs.push(output.to_vec()))?;
        Ok(outputs)
    }
}
