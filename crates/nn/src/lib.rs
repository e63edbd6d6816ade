//! Neural networks with per-example gradients. This crate knows nothing of privacy.

pub mod kernel;
