//! How a file becomes a damaged one.
//!
//! A mutation takes a file and another one to borrow from. Where damage would end at a checksum, a length or a compression, the
//! mutation knows the format as far as it takes to put these right again, and leaves them wrong now and then.

pub mod bytes;
pub mod deflate;
pub mod jpeg;
pub mod ledger;
pub mod mat;
pub mod npz;
pub mod parquet;
pub mod png;
pub mod tensors;
pub mod text;
pub mod tiff;

use crate::random::Random;

/// A way to damage a file, given another of its kind to borrow from.
pub type Mutate = fn(&mut Random, &[u8], &[u8]) -> Vec<u8>;

/// How often a mutation that knows the format leaves the file to one that does not.
const BLIND: usize = 4;
