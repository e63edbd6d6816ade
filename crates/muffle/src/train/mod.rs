//! Private training from a recipe to a model with a defended epsilon.
//!
//! [`Recipe`] is what the user writes, [`Plan`] answers its open questions (noise, steps, sample rate), [`start`] takes the
//! steps: each is in the [`Ledger`](ledger::Ledger) on disk before it touches the records. The result is a folder with
//! the model, the [`Certificate`] and everything needed to continue after an interruption.

pub mod canaries;
pub mod certificate;
pub mod checkpoint;
pub mod choices;
pub mod clock;
mod components;
mod error;
pub mod estimate;
pub mod evaluation;
mod in_memory;
mod keys;
pub mod ledger;
pub mod metrics;
mod network;
mod plan;
mod recipe;
pub mod recipes;
mod run;
mod run_folder;
mod self_check;
mod session;
mod subset;
mod trained;
pub mod validation;

pub use certificate::{Certificate, Status};
pub use error::{Result, TrainError};
pub use evaluation::{Evaluation, Evaluator};
pub use in_memory::train_in_memory;
pub use plan::{DataShape, Plan};
pub use recipe::{ModelChoice, PrincipalComponents, Recipe};
pub use run::{Progress, Summary, resume, start};
pub use run_folder::RunFolder;
pub use self_check::self_check;
pub(crate) use session::mechanism;
pub use session::{Session, StepReport};
pub use trained::Trained;
