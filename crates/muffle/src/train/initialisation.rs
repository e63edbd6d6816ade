//! How weights start.

use muffle_nn::Network;
use muffle_nn::initialise::{glorot_parameters, initial_parameters};
use serde::{Deserialize, Serialize};

/// How weights start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Initialisation {
    /// As PyTorch's layers do.
    #[default]
    Pytorch,
    /// With the scale of signals kept through bounded activations, as Keras does.
    Glorot,
}

impl Initialisation {
    /// The first parameters of a network.
    pub fn parameters(self, network: &Network, seed: u64) -> Vec<f32> {
        match self {
            Initialisation::Pytorch => initial_parameters(network, seed),
            Initialisation::Glorot => glorot_parameters(network, seed),
        }
    }
}
