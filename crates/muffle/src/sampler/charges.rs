//! From events of steps to entries of a ledger.

use super::Sampler;
use muffle_accounting::Event;

/// Says what to charge for each step.
///
/// A sampler that deals out every record once pays for a whole epoch at its first step, and nothing later, as long as the
/// steps of the epoch release the same event.
///
/// # Guarantee
/// The charges of a period together are at least the price of each of its steps: an event that differs from the one paid
/// for is charged as an epoch of its own.
#[derive(Clone, Default)]
pub struct Charges {
    /// The epoch that was charged last, and how much.
    paid: Option<(u64, Event)>,
}

impl Charges {
    /// Nothing paid yet.
    pub fn new() -> Charges {
        Charges::default()
    }

    /// Continues at `next_step` after steps that were all paid for, by a ledger whose last charge was `last`.
    pub fn resumed_at(sampler: &dyn Sampler, next_step: u64, last: Event) -> Charges {
        Charges { paid: next_step.checked_sub(1).map(|step| (step / sampler.period(), last)) }
    }

    /// What this step adds to the ledger; `None` if its epoch is paid.
    pub fn charge(&mut self, sampler: &dyn Sampler, step: u64, event: Event) -> Option<Event> {
        let now = (step / sampler.period(), sampler.amplify(event));
        if sampler.period() > 1 && self.paid.as_ref() == Some(&now) {
            return None;
        }
        self.paid = Some(now.clone());
        Some(now.1)
    }
}
