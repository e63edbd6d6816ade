//! Private learning.

pub mod noise;
