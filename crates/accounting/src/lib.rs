//! Differential privacy accounting: what was spent, with a certificate.
//!
//! [`Event`]s are plain data that say what was done to the records. [`Accountant`]s price them under an
//! [`Adjacency`], and refuse by name what they have no bound for. [`pld::Pld`] is the default: a bracket that holds
//! the exact epsilon. [`calibrate`] turns a budget into noise, steps or a sample rate, [`budget::Budget`] is asked
//! before each step, and [`attacker`] says what a guarantee means.
//!
//! ```
//! use muffle_accounting::{Accountant, Adjacency, Event, pld::Pld};
//!
//! let training = Event::gaussian(1.0).poisson_sampled(0.01).repeated(10_000);
//! let price = Pld.epsilon(&training, Adjacency::AddRemove, 1e-5)?;
//! assert!(price.lower.unwrap() < 6.188 && 6.188 < price.epsilon && price.epsilon < 6.2);
//! # Ok::<(), muffle_accounting::AccountingError>(())
//! ```

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
pub mod pate;
pub mod pld;
mod pricing;
mod quadrature;
mod quote;
pub mod random_sampling;
pub mod rdp;
pub mod reshuffling;
pub mod selection;
pub mod strong;
pub mod zcdp;

pub use adjacency::Adjacency;
pub use composition::{Composition, Mechanism, Release, Sampling, Step};
pub use error::AccountingError;
pub use event::{Assignment, Event, LARGEST_MULTIPLIER};
pub use pricing::{Accountant, Price, Standing};
pub use quote::{Quote, Quotes};
