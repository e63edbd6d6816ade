//! How a recipe chooses the noise on a sum of gradients.

use super::Mechanism;
use crate::clip::{Allocation, ClipRule};
use crate::noise::Key;
use serde::{Deserialize, Serialize};

/// Kinds of noise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoiseKind {
    /// On sums bounded in L2 norm.
    #[default]
    Gaussian,
    /// On sums bounded in L1 norm.
    Laplace,
}

/// The noise on a sum of gradients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Noise {
    /// Its distribution.
    pub kind: NoiseKind,
    /// How Gaussian noise is shared among groups of tensors.
    pub allocation: Allocation,
}

impl Noise {
    pub(crate) fn check(&self, clip: &ClipRule) -> Result<(), String> {
        match (self.kind, clip) {
            (NoiseKind::Gaussian, _) | (NoiseKind::Laplace, ClipRule::Flat { .. }) => Ok(()),
            (NoiseKind::Laplace, _) => {
                Err("noise.kind = \"laplace\" needs clip.kind = \"flat\": it bounds the L1 norm as a whole"
                    .to_string())
            }
        }
    }

    /// The mechanism of a run with this key, which divides sums by `divisor`.
    pub fn mechanism(&self, key: &Key, divisor: f32) -> Mechanism {
        Mechanism::new(key.clone(), divisor).allocation(self.allocation)
    }
}
