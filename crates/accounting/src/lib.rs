//! Differential privacy accounting: what was spent.

pub mod accountant;
mod adjacency;
pub mod attacker;
pub mod basic;
pub mod budget;
pub mod calibrate;
mod composition;
mod error;
mod event;
pub mod gdp;
pub mod moments;
mod normal;
pub mod pld;
mod quadrature;
pub mod random_sampling;
pub mod rdp;
pub mod reshuffling;
pub mod strong;
pub mod zcdp;

pub use accountant::{Accountant, Price, Standing};
pub use adjacency::Adjacency;
pub use composition::{Composition, Mechanism, Release, Sampling, Step};
pub use error::AccountingError;
pub use event::{Assignment, Event};
