//! The file formats of the published sets, each a strict parser over bytes in memory.

pub mod cifar;
pub mod idx;
pub mod mat;
pub mod npy;
