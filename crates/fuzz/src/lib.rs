//! Feeds damaged files to every parser of muffle, and counts what becomes of them.
//!
//! A stranger may hand over any of these files: a recipe, a model, weights, a table, pictures, a ledger, a certificate. Whatever is
//! in it, the parser says what is wrong in a moment and in little memory. `docs/fuzzing.md` has the figures.

pub mod allocator;
pub mod corpus;
pub mod findings;
pub mod mutate;
pub mod outcome;
pub mod panics;
pub mod random;
pub mod round;
pub mod tally;
pub mod target;
pub mod targets;
pub mod watch;
