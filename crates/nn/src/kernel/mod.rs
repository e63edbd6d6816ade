//! The loops that do almost all of the arithmetic: slices in, slices out, one thread, no allocation.

// Rows, columns and lanes index several arrays at once here, and plain loops unroll where chains of iterators do not.
#![allow(clippy::needless_range_loop)]

mod instructions;
mod line;
pub mod winograd;

pub use line::{LANES, Line};
