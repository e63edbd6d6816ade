//! What commands left in folders: runs of any kind, results of comparisons, audits and attacks.
//!
//! Folders are read as they are, without a test for the kind of training: a run is what has a recipe, results are what has a text.
//! Nothing is written, and no lock is held that a run could wait for.

mod analysis;
mod run;
mod shelf;
mod stamp;
mod state;
mod summary;

pub use analysis::{Analysis, Purpose};
pub use run::{Picture, Run};
pub use shelf::{Contents, ResultFolder, Shelf};
pub use stamp::Stamp;
pub use state::State;
pub use summary::Summary;
