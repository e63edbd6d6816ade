//! Private learning: what turns per-example gradients into a model with a defended epsilon.

pub mod bench;
pub mod data;
pub mod mechanism;
pub mod noise;
pub mod optimizer;

/// Runs the examples of the README as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
