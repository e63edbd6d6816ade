//! Accesses that are all known before the first of them.

use crate::ledger::Access;
use muffle_accounting::Event;

/// Accesses one after the other, and how many of them were made.
pub(super) struct Course {
    accesses: Vec<Access>,
    /// How many were made.
    pub done: usize,
}

impl Course {
    /// Before the first.
    pub fn new(accesses: Vec<Access>) -> Course {
        Course { accesses, done: 0 }
    }

    /// The first of them, as many as there were steps.
    pub fn first(&self, steps: u64) -> &[Access] {
        &self.accesses[..steps as usize]
    }

    /// The one that comes next.
    pub fn next(&self) -> Option<&Access> {
        self.accesses.get(self.done)
    }

    /// Those that come next: samples many at a time, and what is not to be lost by itself.
    pub fn upcoming(&self, most: u64) -> Vec<Access> {
        let next = self.accesses[self.done..].iter();
        let samples = next.clone().take_while(|access| !access.keep).take(most as usize).count();
        next.take(samples.max(1)).cloned().collect()
    }

    /// What the next ones cost.
    pub fn cost(&self, steps: u64) -> Event {
        let next = self.accesses.iter().skip(self.done).take(steps as usize);
        Event::compose(next.filter_map(|access| access.charge.clone()))
    }
}
