//! Training by gradients, from a recipe to a model with a defended epsilon.
//!
//! [`Recipe`] is what the user writes, [`Plan`] answers its open questions (noise, steps, sample rate), and [`run::start`](crate::run::start)
//! takes the steps in a [run](crate::run): each is in the ledger on disk before it touches the records. The result is a folder with
//! the model, the certificate and everything needed to continue after an interruption.

pub mod canaries;
mod charge;
mod class_weights;
mod closing;
pub mod estimate;
pub mod evaluation;
mod in_memory;
mod init;
mod initialisation;
mod job;
pub(crate) mod network;
mod origin;
mod plan;
mod pricing;
mod recipe;
mod self_check;
mod settle;
mod standardised;
mod steps;
mod threshold;
mod trained;
mod trainer;
pub mod validation;
mod views;

pub(crate) use class_weights::counted;
pub use class_weights::{ClassShares, ClassWeights, WeightRule, Weighted};
pub use evaluation::{Evaluation, Evaluator};
pub use in_memory::train_in_memory;
pub use init::Init;
pub use initialisation::Initialisation;
pub use job::KIND;
pub use origin::Origin;
pub use plan::{DataShape, Plan, TargetShape};
pub use pricing::{CLASS_SHARES, METHOD, STEPS, THRESHOLD, VALIDATION};
pub use recipe::{GradientRecipe, ModelChoice, PrincipalComponents, Recipe};
pub use self_check::self_check;
pub use threshold::{ChosenThreshold, Goal, Threshold};
pub use trained::Trained;
pub use trainer::GradientTrainer;
pub use views::ViewsOfRecord;
