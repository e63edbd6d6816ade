//! A place in a ledger.

use serde::{Deserialize, Serialize};

/// The end of a ledger as somebody saw it. What rests on it holds only beside a ledger that contains it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Head {
    /// How many lines there were.
    pub lines: u64,
    /// SHA-256 of the last of them, which holds that of the line before, down to what the ledger is of.
    pub sha256: String,
}
