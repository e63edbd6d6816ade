//! Results as a reader sees them: plots, a report in one file, and live pages.
//!
//! [`folder`] reads what commands left, whatever kind of training it was. [`view`] makes one set of elements of it, which [`report`]
//! writes into a file and [`server`] shows while runs go on. [`plot`] draws for both, and for the `--plot` of every command.
//!
//! Nothing here touches private records: what is shown was released, or is marked as not protected.

mod assets;
mod calculation;
mod escape;
pub mod folder;
mod html;
pub mod numbers;
pub mod plot;
pub mod report;
pub mod results;
pub mod server;
pub mod view;
