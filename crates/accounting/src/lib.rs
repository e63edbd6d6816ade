//! Differential privacy accounting: what was spent.
