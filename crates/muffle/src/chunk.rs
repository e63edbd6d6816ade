//! Work on long vectors, shared among threads.

/// Values a thread works on at a time.
pub(crate) const CHUNK: usize = 1 << 14;
