//! Runs of training by gradients.

use super::plan::Plan;
use super::self_check::self_check;
use super::trainer::GradientTrainer;
use crate::bundle;
use crate::data::{Dataset, Schema};
use crate::error::Result;
use crate::ledger::Ledger;
use crate::noise::Key;
use crate::run::{Progress, Purse, RunFolder, Summary, Trainer, complete};
use muffle_nn::initialise::initial_parameters;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// Checks the network, makes the folder of a run and takes its steps: see [`complete`].
pub fn start(
    path: &Path,
    plan: &Plan,
    dataset: &Dataset,
    stop: &AtomicBool,
    observe: &mut dyn FnMut(&Progress),
) -> Result<Summary> {
    self_check(&plan.network, &initial_parameters(&plan.network, 0), plan.loss)?;
    let folder = RunFolder::create(path, &plan.recipe.to_toml())?;
    resume(&folder, plan, dataset, stop, observe)
}

/// Takes the steps of a plan that are not taken yet, on data that mean what they meant at the start: see [`complete`] and
/// [`bundle::hold`].
pub fn resume(
    folder: &RunFolder,
    plan: &Plan,
    dataset: &Dataset,
    stop: &AtomicBool,
    observe: &mut dyn FnMut(&Progress),
) -> Result<Summary> {
    bundle::hold(folder.path(), &Schema::of(dataset))?;
    let mut trainer = GradientTrainer::new(plan, dataset, plan.recipe.run.key()?)?;
    complete(folder, &plan.terms(), &mut trainer, stop, observe)
}

/// The parameters after all steps of a plan; `None` if `stop` was set before. `after_step` is called once for every step.
///
/// # Guarantee
/// The same key gives the model of a run with that key. **Nothing is paid for**: the ledger is kept nowhere, so what comes of it
/// stays with the holder of the records. It is for shadow models, surrogates, trials.
pub fn train_in_memory(
    plan: &Plan,
    dataset: &Dataset,
    key: Key,
    stop: &AtomicBool,
    after_step: &dyn Fn(),
) -> Result<Option<Vec<f32>>> {
    let mut trainer = GradientTrainer::new(plan, dataset, key)?;
    let mut purse = Purse::new(Ledger::in_memory(), plan.terms().filter()?)?;
    while trainer.step() < plan.steps {
        if stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let before = trainer.step();
        let paid = purse.pay_and_do(&mut trainer, 1)?;
        if trainer.step() > before {
            after_step();
        }
        if paid.ended {
            break;
        }
    }
    Ok(Some(trainer.result().to_vec()))
}
