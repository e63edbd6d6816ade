//! Generators of records: a critic learns to tell records from generated ones, and a generator learns to please the critic.
//!
//! Only the critic sees records. Its steps are those of training by gradients, clipped and noised and paid for; the generator learns
//! through the released critic, and whatever is drawn from it is free.
//!
//! # Source
//! Goodfellow et al. 2014, "Generative adversarial networks"; Arjovsky, Chintala and Bottou 2017; Gulrajani et al. 2017; with noise,
//! Xie et al. 2018 and Xu et al. 2019. That many steps of the critic for each of the generator pay is Bie, Kamath and Zhang 2023,
//! "Private GANs, revisited".
//!
//! # Guarantee
//! A record takes part in the loss of the critic alone, and its whole part of it, the penalty included, is summed before it is
//! clipped: every step is one Gaussian mechanism on the sample, and nothing else touches records.

mod distances;
mod duel;
mod generator;
mod job;
mod learning_curve;
mod maker;
mod measure;
mod objective;
mod penalty;
mod plan;
mod quality;
mod recipe;
mod rows;
#[cfg(test)]
mod tests;
mod trainer;

pub use distances::{correlations, coverage, frechet, nearest};
pub use generator::{Asked, CRITIC_FILE, GENERATOR_FILE, Generator};
pub use job::KIND;
pub use learning_curve::{LearningCurve, Point};
pub use measure::{classify, collapsed, diversity, grid, picture};
pub use objective::Objective;
pub use penalty::{Judge, Penalty};
pub use plan::AdversarialPlan;
pub use quality::{Quality, Question};
pub use recipe::{AdversarialRecipe, GeneratorRecipe};
pub use rows::Rows;
pub use trainer::{AdversarialTrainer, GENERATOR};
