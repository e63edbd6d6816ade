//! Pay, then do: the one place where that happens.

use super::trainer::Trainer;
use crate::error::Result;
use crate::ledger::{Access, Ledger};
use muffle_accounting::budget::{Budget, BudgetError};

/// What pays for the accesses of a trainer: the ledger, and the filter of a run whose noise follows what it released.
pub struct Purse {
    /// What was spent.
    pub ledger: Ledger,
    filter: Option<Budget>,
}

/// What came of paying.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Paid {
    /// Whether the filter refused, so that the run is over.
    pub ended: bool,
    /// Whether something was made that has to be on disk before anything else happens.
    pub keep: bool,
}

impl Purse {
    /// Spends from a filter only what is not in the ledger yet.
    pub fn new(ledger: Ledger, mut filter: Option<Budget>) -> Result<Purse> {
        if let Some(filter) = &mut filter {
            filter.recall(&ledger.total())?;
        }
        Ok(Purse { ledger, filter })
    }

    /// The filter, if there is one.
    pub fn filter(&self) -> Option<&Budget> {
        self.filter.as_ref()
    }

    /// Pays for the next accesses of at most so many steps, then lets the trainer make them. A filter may allow fewer.
    ///
    /// # Guarantee
    /// What is done was in the ledger before.
    pub fn pay_and_do(&mut self, trainer: &mut dyn Trainer, steps: u64) -> Result<Paid> {
        let mut accesses = trainer.upcoming(steps);
        let allowed = self.allowed(&accesses)?;
        let ended = allowed < accesses.len();
        accesses.truncate(allowed);
        for receipt in self.ledger.pay(&accesses)? {
            trainer.perform(receipt)?;
        }
        Ok(Paid { ended, keep: accesses.iter().any(|access| access.keep) })
    }

    /// Pays for what comes behind the last step where it is affordable, and lets the trainer end.
    ///
    /// # Guarantee
    /// What is done was in the ledger before.
    pub fn pay_and_close(&mut self, trainer: &mut dyn Trainer, affordable: bool) -> Result<()> {
        let closing = trainer.closing().filter(|_| affordable);
        let receipt = closing.map(|access| self.ledger.pay_one(access)).transpose()?;
        trainer.close(receipt)
    }

    /// How many of the accesses the filter allows; what it allows is spent.
    fn allowed(&mut self, accesses: &[Access]) -> Result<usize> {
        let Some(filter) = &mut self.filter else { return Ok(accesses.len()) };
        for (place, access) in accesses.iter().enumerate() {
            let again = self.ledger.is_repeatable() && self.ledger.has_paid(access);
            let Some(charge) = access.charge.as_ref().filter(|_| !again) else { continue };
            match filter.spend(charge) {
                Ok(()) => {}
                Err(BudgetError::Exceeded { .. }) => return Ok(place),
                Err(BudgetError::Accounting(error)) => return Err(error.into()),
            }
        }
        Ok(accesses.len())
    }
}
