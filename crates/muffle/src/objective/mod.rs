//! Training by one release: the coefficients of a loss get noise once, and its least value is found as often as one likes.
//!
//! Records are told by [features](Features) that are fixed, each of a norm of at most one. What the best linear model on them depends
//! on are two sums over all records, of the features times the target and times each other ([`Coefficients`]): they are released
//! once, with a price of one mechanism, and [solved](solve()) for. What is published is an ordinary network: the layers of
//! the features, and a dense layer behind them.
//!
//! [`Plan`] is the job, [`KIND`] the row of the table of kinds.

mod belief;
mod choices;
mod coefficients;
mod course;
mod features;
mod frozen;
mod in_parts;
mod job;
mod methods;
mod plan;
mod published;
mod purposes;
mod recipe;
mod solve;
mod stack;
mod targets;
#[cfg(test)]
mod tests;
mod trainer;

pub use belief::BeliefTraining;
pub use choices::{Belief, Choices, Descent, Encoder, Filters, Reports, Stack, StackLayer, Weigh, Weighing};
pub use coefficients::{Coefficients, Form, Sums};
pub use features::{FeatureMap, Features};
pub use job::KIND;
pub use methods::{Entry, FUNCTIONAL_MECHANISM, Learns, METHODS, planted};
pub use plan::Plan;
pub use published::Published;
pub use purposes::{
    CENTRE, COEFFICIENTS, DECODER, DRAFT, EXTREMES, HEAD, PRETRAINING, RELEVANCE, REPORTS, STATISTICS,
};
pub use recipe::{ObjectiveRecipe, Recipe};
pub use solve::solve;
pub use stack::StackTrainer;
pub use targets::Rows;
pub use trainer::ObjectiveTrainer;
