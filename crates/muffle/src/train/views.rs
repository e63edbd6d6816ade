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
    /// Turns by up to this many degrees.
    #[serde(skip_serializing_if = "is_zero")]
    pub rotate: usize,
    /// Zooms by up to this many per cent.
    #[serde(skip_serializing_if = "is_zero")]
    pub zoom: usize,
}

fn is_zero(value: &usize) -> bool {
    *value == 0
}

impl Default for ViewsOfRecord {
    fn default() -> ViewsOfRecord {
        ViewsOfRecord { views: 1, shift: 0, flip: false, crop: 0, rotate: 0, zoom: 0 }
    }
}

impl ViewsOfRecord {
    pub(crate) fn check(&self) -> Result<(), String> {
        match self.views {
            0 => Err("augmentation.views = 0 is outside 1 and above".to_string()),
            _ if self.zoom >= 100 => {
                Err(format!("augmentation.zoom = {} is outside 0 to 99 per cent", self.zoom))
            }
            _ => Ok(()),
        }
    }

    /// What may happen to one view.
    pub fn augmentation(&self) -> Augmentation {
        let ViewsOfRecord { shift, flip, crop, rotate, zoom, .. } = *self;
        Augmentation { shift, flip, crop, rotate, zoom }
    }
}
