//! What critic and generator play for.

use muffle_nn::Loss;
use serde::{Deserialize, Serialize};

/// What the critic makes small, and by that what the generator learns from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Objective {
    /// The critic tells records from generated ones by the logistic loss; the generator makes it say the opposite.
    ///
    /// # Source
    /// Goodfellow et al. 2014, "Generative adversarial networks", section 3.
    #[default]
    NonSaturating,
    /// The critic's mean on records less that on generated ones. Needs a limit on its weights (`weight_clip`).
    ///
    /// # Source
    /// Arjovsky, Chintala and Bottou 2017, "Wasserstein GAN", Algorithm 1.
    Wasserstein,
    /// The same, where the critic's gradient at points between a record and a generated one is pulled to length one.
    ///
    /// # Source
    /// Gulrajani et al. 2017, "Improved training of Wasserstein GANs", Algorithm 1.
    WassersteinPenalty,
    /// The critic is one dense layer behind features without parameters. Its best weights are the difference of the features' means, of
    /// records and of generated ones, and a record's gradient is its features, whatever the weights: one release of it serves all
    /// steps of the generator, which then costs nothing more.
    ///
    /// # Source
    /// Harder, Adamczewski and Park 2021, "DP-MERF: differentially private mean embeddings with random features"; with the features of
    /// a network, Harder et al. 2023, "Pre-trained perceptual features improve differentially private image generation".
    Moments,
}

impl Objective {
    /// The loss of what the critic says.
    pub fn loss(self) -> Loss {
        match self {
            Objective::NonSaturating => Loss::Logistic,
            Objective::Wasserstein | Objective::WassersteinPenalty | Objective::Moments => Loss::Linear,
        }
    }

    /// What the critic should say of a record, as a target of its [loss](Objective::loss). The generator wants it said of what it
    /// makes, and the opposite is what the critic should say of that.
    pub fn real(self) -> f32 {
        match self {
            Objective::NonSaturating => 1.0,
            // What is made small is less what the critic says.
            Objective::Wasserstein | Objective::WassersteinPenalty | Objective::Moments => -1.0,
        }
    }

    /// Whether the critic is linear in features that do not change, so that the generator goes on without records.
    pub fn fixed(self) -> bool {
        self == Objective::Moments
    }

    /// Whether the critic's gradient is pulled to length one.
    pub fn penalised(self) -> bool {
        self == Objective::WassersteinPenalty
    }
}
