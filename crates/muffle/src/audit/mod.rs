//! Privacy that is measured: attacks on releases and models, with lower bounds on epsilon and their confidence.
//!
//! An audit plays a [`Game`] many times: one of two neighbouring data sets is used, the attacker sees what is released, and
//! says which it was. [`attack`] looks for the best test on some plays and counts its errors on fresh ones; [`bounds`](crate::bounds)
//! turns the counts into an epsilon. [`step`] audits one step of a method by the releases themselves, the strongest
//! position an attacker can have, or all steps of the schedule that tells a method apart from DP-SGD; [`schedule`] audits all steps of
//! a run with the sampler on.

mod attack;
pub mod committee;
mod course;
mod game;
mod neighbours;
pub mod participation;
mod planted;
pub mod release;
pub mod replay;
mod report;
mod reports;
pub mod results;
pub mod runs;
pub mod schedule;
mod score;
pub mod step;
mod steps_game;
mod subject;

pub use attack::{Attack, Objective, attack};
pub use game::Game;
pub use neighbours::{Neighbours, labels, neighbours};
pub use planted::{Planted, Record as PlantedRecord};
pub use report::{Argument, Report, Verdict};
pub use steps_game::StepsGame;
pub use subject::{MakeMechanism, MakeMethod, Strength, Subject};
