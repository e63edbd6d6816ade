//! What is fuzzed: a parser, files it accepts, a way to damage them, and the memory it may take.

use crate::mutate::Mutate;

/// Longest input that is tried.
pub const LONGEST: usize = 4096;

/// Longest that an input may take. Inputs take microseconds; a second for a few kilobytes is a way to stop a service.
pub const SECONDS: f64 = 1.0;

/// How much memory a parser may take beside its input.
#[derive(Clone, Copy, Debug)]
pub struct Memory {
    /// Bytes for an input of any length.
    pub fixed: usize,
    /// Bytes for each byte of the input.
    pub each: usize,
}

/// Most bytes that a byte of a file can become where deflate is involved.
pub const INFLATED: usize = muffle::data::limits::DEFLATE_RATIO as usize;

impl Memory {
    /// Bytes for an input of a length.
    pub fn limit(self, length: usize) -> usize {
        self.fixed + self.each * length
    }
}

/// A parser under fire.
pub struct Target {
    /// The name it is asked for by.
    pub name: &'static str,
    /// The function that reads such files.
    pub door: &'static str,
    /// Files it accepts.
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// How to damage them.
    pub mutate: Mutate,
    /// Reads a file and uses what was read as far as that is cheap; the error is what a user would see.
    pub parse: fn(&[u8]) -> Result<(), String>,
    /// How much memory it may take.
    pub memory: Memory,
}
