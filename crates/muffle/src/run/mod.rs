//! A run: a folder, a ledger, a budget, checkpoints, measurements and a certificate, around whatever is trained.
//!
//! A run knows nothing of gradients. What is trained is a [`Trainer`]: it says what it will touch next and at what price; the run
//! pays, on disk, and hands over a [receipt](crate::ledger::Receipt); the trainer does it. A [`Job`] is what a run begins with, and
//! a [`Kind`] is how a recipe becomes one.

mod affordable;
mod binding;
mod budgets;
mod certificate;
pub mod checkpoint;
pub mod clock;
mod folder;
mod job;
mod keys;
mod kind;
pub mod metrics;
mod purse;
mod recipe;
mod runner;
mod seal;
mod subset;
mod terms;
mod trainer;

pub use binding::{Binding, MODEL_FILE, read_ledger, recipe_digest, verify};
pub use certificate::{CanaryMeasurement, Certificate, End, Preparation, Proved, REPRODUCIBLE, Status};
pub(crate) use folder::lock;
pub use folder::{RunFolder, is_at_work};
pub use job::{Estimate, Job, Pilot, begin, resume, start};
pub use kind::Kind;
pub use purse::{Paid, Purse};
pub use recipe::{Parts, RunRecipe, USUAL_KIND};
pub use runner::{Progress, Summary, complete};
pub use seal::ledger_entry;
pub use terms::Terms;
pub use trainer::{Measurements, Readiness, Trainer, Work, ready};
