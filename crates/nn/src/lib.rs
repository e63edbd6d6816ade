//! Neural networks that give the gradient of every single example, at almost the price of an ordinary training step.
//!
//! This crate knows nothing of privacy.

pub mod adapters;
pub mod atomic_file;
pub mod boltzmann;
pub mod buffer;
pub mod config;
pub mod custom;
pub mod ends;
pub mod engine;
pub mod error;
pub mod examples;
mod frozen;
mod groups;
pub mod hooks;
pub mod initialise;
pub mod kernel;
pub mod layer;
pub mod layers;
pub mod limits;
pub mod loss;
mod micro_batches;
pub mod model_file;
pub mod models;
pub mod network;
pub mod pattern;
mod plan;
mod quanta;
pub mod regular_file;
pub mod relevance;
pub mod rounding;
pub mod running_statistics;
pub mod shape;
mod split_mix;
mod totals;
pub mod weights;
mod worker;
mod workspace;

pub use custom::CustomLayer;
pub use engine::{Engine, Options, Outcome, on_single_thread};
pub use error::{Error, Result};
pub use examples::{Batch, Examples, Target};
pub use layer::Purpose;
pub use loss::Loss;
pub use model_file::ModelDescription;
pub use network::Network;
pub use quanta::Quanta;
pub use shape::Shape;
pub use worker::{Excluded, Visit, Weigh};
