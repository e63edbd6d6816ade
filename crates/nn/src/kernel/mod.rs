//! The loops where the time goes. Plain slices in, plain slices out; nothing here knows of layers.

pub mod dots;
pub mod elementwise;
pub mod gather;
mod gather_tiles;
pub mod math;
pub mod matrix;
pub mod panel;
