//! Attacks on finished models: what somebody who holds a model can learn of the records behind it.
//!
//! Each file is one attack of the literature, run against a private and a plain model alike, so that one sees what privacy
//! bought, and one row of the table below. All of it looks at private records: results are for their holder. An attack that
//! fails proves nothing, because the next one may not; what holds against every attack is the epsilon of the run.

pub mod attribute;
mod entry;
pub mod equations;
pub mod extraction;
pub mod generator;
pub mod image_prior;
pub mod inversion;
pub mod likelihood_ratio;
pub mod membership;
pub mod poisoning;
pub mod reconstruction;
mod roc;
mod trainings;
pub mod white_box;

pub use entry::Entry;
pub use roc::{Rate, Roc};
pub use trainings::Trainings;

/// Every attack: the table feeds the command line and the docs.
pub static ATTACKS: &[&Entry] = &[
    &membership::LOSS,
    &membership::GRADIENT_NORM,
    &white_box::ENTRY,
    &likelihood_ratio::ENTRY,
    &extraction::ENTRY,
    &equations::ENTRY,
    &inversion::ENTRY,
    &reconstruction::ENTRY,
    &attribute::ENTRY,
    &poisoning::ENTRY,
    &generator::CRITIC,
    &generator::DISTANCE,
];
