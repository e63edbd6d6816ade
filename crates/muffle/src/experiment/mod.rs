//! Many runs side by side: methods compared, hyper-parameters swept.
//!
//! An [`Experiment`] has groups, which differ in their recipes, and cells, the runs of a group. Every cell is a run in a
//! folder of its own, so that what is finished stays finished and what was interrupted goes on.

mod against;
mod cell;
mod distortion;
mod grid;
mod groups;
mod outlook;
mod random_search;
mod results;
mod runner;
mod spent;

pub use against::Difference;
pub use cell::{Cell, Outcome};
pub use distortion::distortion;
pub use grid::{Axis, check_settings};
pub use groups::{Experiment, Group, Variant};
pub use outlook::{CELLS, failures, planned};
pub use random_search::{Draw, draw_runs};
pub use results::{Column, GroupResult, Results};
pub use runner::{Report, run};
pub use spent::{spent, strangers};
