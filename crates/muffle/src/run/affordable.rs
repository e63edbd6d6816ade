//! How far a budget still reaches.

use super::terms::Terms;
use super::trainer::Trainer;
use crate::error::Result;
use crate::ledger::Ledger;
use muffle_accounting::calibrate::{self, Target};
use muffle_accounting::pld::Pld;
use muffle_accounting::{Accountant, AccountingError, Event};

/// Whether the limit allows what comes behind the last step, counting what was lost in interruptions.
pub(super) fn affords(terms: &Terms, ledger: &Ledger, closing: &Event) -> Result<bool> {
    let Some(target) = limit(terms, ledger) else { return Ok(true) };
    let total = Event::compose([ledger.total(), closing.clone()]);
    Ok(Pld.epsilon(&total, target.adjacency, target.delta)?.epsilon <= target.epsilon)
}

/// The limit of a run that is held to one: where noise can be repeated, what was lost is paid once.
fn limit(terms: &Terms, ledger: &Ledger) -> Option<Target> {
    let proved = terms.recipe.private && !terms.is_unproved();
    terms.target().filter(|_| proved && !ledger.is_repeatable())
}

/// One past the last step that the limit allows, counting what was lost in interruptions.
pub(super) fn affordable(terms: &Terms, trainer: &dyn Trainer, ledger: &Ledger) -> Result<u64> {
    let step = trainer.step();
    let (Some(target), false) = (limit(terms, ledger), ledger.entries().is_empty()) else {
        return Ok(terms.steps);
    };
    let after = |count: u64| {
        let mut total = ledger.total();
        total.append(trainer.cost(count));
        total
    };
    let left = terms.steps - step;
    if left == 0 || Pld.epsilon(&after(left), target.adjacency, target.delta)?.epsilon <= target.epsilon {
        return Ok(terms.steps);
    }
    match calibrate::steps(&Pld, &target, |count| after(count.min(left))) {
        Ok(found) => Ok(step + found.value.min(left)),
        Err(AccountingError::Unreachable { .. }) => Ok(step),
        Err(error) => Err(error.into()),
    }
}
