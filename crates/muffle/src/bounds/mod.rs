//! From what an attacker got right to a lower bound on epsilon.

mod clopper_pearson;
mod detections;
mod one_run;

pub use clopper_pearson::{interval, lower_rate, upper_rate};
pub use detections::{Detections, needed_trials};
pub use one_run::{OneRun, needed_guesses};
