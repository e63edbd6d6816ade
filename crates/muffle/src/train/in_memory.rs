//! Training without a folder.

use super::plan::Plan;
use super::trainer::GradientTrainer;
use crate::data::Dataset;
use crate::error::Result;
use crate::ledger::Ledger;
use crate::noise::Key;
use crate::run::{Purse, Trainer};
use std::sync::atomic::{AtomicBool, Ordering};

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
    if !trainer.get_ready(stop, &mut |_| {})? {
        return Ok(None);
    }
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
