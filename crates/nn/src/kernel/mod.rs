//! The loops where the time goes: plain slices in, plain slices out, one thread, no allocation. Nothing here knows of
//! layers.

pub mod channels;
pub mod dots;
pub mod elementwise;
pub mod gather;
mod gather_tiles;
pub(crate) mod instructions;
pub mod limited;
pub mod line;
pub mod math;
pub mod matrix;
pub mod panel;
pub mod shares;
pub mod winograd;

pub use line::{LANES, Line};
