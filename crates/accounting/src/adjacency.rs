//! Which two data sets a guarantee compares.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The neighbouring relation: the unit that the guarantee protects.
///
/// Noise multipliers in an [`Event`](crate::Event) are always relative to the most that *one present record*
/// can contribute (the clipping threshold), so the same event has a different price under each relation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Adjacency {
    /// One record is added or removed. A clipped sum moves by at most the clipping threshold.
    #[default]
    AddRemove,
    /// One record is exchanged for another; the number of records is public. A clipped sum moves by at most
    /// twice the clipping threshold.
    ReplaceOne,
    /// One record is exchanged for a null record that keeps its slot and contributes zero. A clipped sum moves
    /// by at most the clipping threshold.
    ZeroOut,
}

impl Adjacency {
    /// All relations, in the order in which they are listed for users.
    pub const ALL: [Adjacency; 3] = [Adjacency::AddRemove, Adjacency::ReplaceOne, Adjacency::ZeroOut];

    /// The name used in JSON and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Adjacency::AddRemove => "add_remove",
            Adjacency::ReplaceOne => "replace_one",
            Adjacency::ZeroOut => "zero_out",
        }
    }

    /// How far a sum of contributions of norm at most one can move between neighbours.
    pub fn sensitivity(self) -> f64 {
        match self {
            Adjacency::AddRemove | Adjacency::ZeroOut => 1.0,
            Adjacency::ReplaceOne => 2.0,
        }
    }
}

impl fmt::Display for Adjacency {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl FromStr for Adjacency {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wanted = text.replace('-', "_");
        Adjacency::ALL
            .into_iter()
            .find(|adjacency| adjacency.name() == wanted)
            .ok_or_else(|| format!("unknown adjacency `{text}`: use add_remove, replace_one or zero_out"))
    }
}
