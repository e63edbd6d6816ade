//! Training for the sake of the weights alone: shadow models, surrogates, trials.

use super::error::Result;
use super::plan::Plan;
use super::session::Session;
use crate::data::Dataset;
use crate::noise::Key;
use crate::sampler::Charges;
use muffle_accounting::Event;
use muffle_accounting::budget::{Budget, BudgetError};
use std::sync::atomic::{AtomicBool, Ordering};

/// The parameters after all steps of a plan; `None` if `stop` was set before. `after_step` is called once for every step.
///
/// The data are those that the network reads: principal components are to be applied before.
///
/// # Guarantee
/// The same key gives the model of a run with that key. **Nothing is paid for**: there is no ledger, so what comes of it stays with
/// the holder of the records.
pub fn train_in_memory(
    plan: &Plan,
    dataset: &Dataset,
    key: Key,
    stop: &AtomicBool,
    after_step: &dyn Fn(),
) -> Result<Option<Vec<f32>>> {
    let mut session = Session::new(plan, dataset, key)?;
    session.prepare()?;
    let (mut filter, mut charges) = (plan.filter()?, Charges::new());
    while session.step() < plan.steps {
        if stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let step = session.step();
        let charge = charges.charge(session.sampler(), step, session.event(step));
        if !allows(&mut filter, charge)? {
            break;
        }
        session.advance()?;
        after_step();
        if session.step() < plan.steps {
            if !allows(&mut filter, session.check_event())? {
                break;
            }
            session.check()?;
        }
    }
    Ok(Some(session.result().to_vec()))
}

/// Whether a filter, if there is one, lets the run go on; where it does not, the run would have ended.
fn allows(filter: &mut Option<Budget>, charge: Option<Event>) -> Result<bool> {
    match filter.as_mut().zip(charge).map_or(Ok(()), |(filter, charge)| filter.spend(&charge)) {
        Ok(()) => Ok(true),
        Err(BudgetError::Exceeded { .. }) => Ok(false),
        Err(BudgetError::Accounting(error)) => Err(error.into()),
    }
}
