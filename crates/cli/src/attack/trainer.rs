//! Training many models for an attack: on how many cores, from which seed, with a bar that shows how far it is.

use crate::bar::bar;
use crate::interrupt::{Interrupted, stop_on_interrupt};
use crate::train::{Outcome, cores};
use clap::Args;
use muffle::Result;
use muffle::attack::Trainings;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// How models are trained.
#[derive(Args)]
pub struct Options {
    /// Everything random in the attack follows from it
    #[arg(long, value_name = "SEED", default_value_t = 0)]
    pub seed: u64,
    /// Threads, and models trained at the same time (default: the machine's cores)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1024))]
    threads: Option<u64>,
    /// No progress, only the result
    #[arg(long)]
    quiet: bool,
}

impl Options {
    /// Threads to be used.
    pub fn threads(&self) -> usize {
        self.threads.map_or_else(cores, |threads| threads as usize)
    }
}

/// Trains models until it is interrupted.
pub struct Trainer<'a> {
    options: &'a Options,
    json: bool,
    stop: Arc<AtomicBool>,
}

impl<'a> Trainer<'a> {
    /// Takes over the interrupt key; `json` hides the bar.
    pub fn new(options: &'a Options, json: bool) -> Outcome<Trainer<'a>> {
        Ok(Trainer { options, json, stop: stop_on_interrupt()? })
    }

    /// Does work that trains models in so many steps, and fails if it was interrupted.
    pub fn train<T>(
        &self,
        models: &str,
        steps: u64,
        work: impl FnOnce(&Trainings) -> Result<Option<T>>,
    ) -> Outcome<T> {
        let bar = bar(models, steps, self.options.quiet || self.json);
        let after_step = || bar.inc(1);
        let found = work(&Trainings {
            workers: self.options.threads(),
            seed: self.options.seed,
            stop: &self.stop,
            after_step: &after_step,
        });
        bar.finish_and_clear();
        let advice = || format!("stopped before all {models} were trained; nothing was measured, begin anew");
        found?.ok_or_else(|| Interrupted::without_result(advice(), self.json))
    }
}
