//! Augmented views of records.

use crate::data::Augmentation;
use serde::{Deserialize, Serialize};

/// How many views of each record there are in a step, and how they differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ViewsOfRecord {
    /// Views of each record in one step.
    pub views: usize,
    /// Moves by up to this many pixels.
    pub shift: usize,
    /// Mirrors left and right.
    pub flip: bool,
    /// Pads by this many pixels and cuts out the original size.
    pub crop: usize,
}

impl Default for ViewsOfRecord {
    fn default() -> ViewsOfRecord {
        ViewsOfRecord { views: 1, shift: 0, flip: false, crop: 0 }
    }
}

impl ViewsOfRecord {
    pub(crate) fn check(&self) -> Result<(), String> {
        match self.views {
            0 => Err("augmentation.views = 0 is outside 1 and above".to_string()),
            _ => Ok(()),
        }
    }

    /// What may happen to one view.
    pub fn augmentation(&self) -> Augmentation {
        Augmentation { shift: self.shift, flip: self.flip, crop: self.crop }
    }
}
