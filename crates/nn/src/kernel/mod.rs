//! The loops that do almost all of the arithmetic: slices in, slices out, one thread, no allocation.

mod instructions;
mod line;
pub mod winograd;

pub use line::{LANES, Line};
