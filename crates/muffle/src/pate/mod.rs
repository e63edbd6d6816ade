//! Private aggregation of teacher ensembles: teachers learn without noise, each from records of its own, and vote on public records;
//! the winner of a vote is released with noise, and a student learns from the answers.
//!
//! The student, what it learned from and its certificate may be published. Teachers and raw votes may not, and live in a
//! [folder of their own](SAFE) that says so.
//!
//! # Source
//! Papernot, Abadi, Erlingsson, Goodfellow and Talwar 2017, "Semi-supervised knowledge transfer for deep learning from private
//! training data"; Papernot, Song, Mironov, Raghunathan, Talwar and Erlingsson 2018, "Scalable private learning with PATE".
//!
//! # Guarantee
//! One record decides about one teacher, and a teacher about one vote of each query. What is released of the votes is paid for before,
//! whatever the votes are.

mod clusters;
mod committee;
mod internal;
mod job;
mod origin;
mod parts;
mod pilot;
mod plan;
mod propagation;
mod published;
mod queries;
mod recipe;
mod safe;
mod sanitised;
mod student;
mod trainer;
mod votes;

pub use crate::learner::Learner;
pub use internal::{Internal, data_dependent_epsilon};
pub use job::{KIND, METHODS};
pub use parts::split;
pub use plan::PatePlan;
pub use propagation::Propagation;
pub use published::PUBLISHED;
pub use queries::Asking;
pub use recipe::PateRecipe;
pub use safe::SAFE;
pub use sanitised::{SANITISED, SanitisedEpsilon};
pub use student::SelfTraining;
pub use trainer::{PateTrainer, TEACHERS};
pub use votes::{ANSWERS, CHECKS, Votes};
