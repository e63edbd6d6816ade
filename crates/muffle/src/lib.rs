//! Private learning.
