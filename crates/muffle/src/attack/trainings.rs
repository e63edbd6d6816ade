//! Models that are trained for an attack.

use std::sync::atomic::AtomicBool;

/// How they are trained.
#[derive(Clone, Copy)]
pub struct Trainings<'a> {
    /// At the same time, each on one thread.
    pub workers: usize,
    /// All their randomness follows from it.
    pub seed: u64,
    /// Ends them without a result.
    pub stop: &'a AtomicBool,
    /// Called after every step of every model.
    pub after_step: &'a (dyn Fn() + Sync),
}
