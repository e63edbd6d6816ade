//! Wavelets, of the colours as they are or of what tells them apart.

use super::mixture;
use muffle_nn::config::{Entry, LayerConfig};

/// Red, green and blue.
pub(super) const COLOURS: usize = 3;

/// What red, green and blue each add to brightness, to red against blue, and to both against green: as they are, they say nearly the
/// same as each other.
const OPPONENT: [[f32; COLOURS]; COLOURS] = [[1.0, 1.0, 1.0], [1.0, 0.0, -2.0], [1.0, -1.0, 1.0]];

/// The layers.
pub(super) fn layers(opponent: bool) -> Vec<Entry> {
    let colours = opponent.then(|| mixture(COLOURS, false));
    colours.into_iter().chain([LayerConfig::Scattering.into()]).collect()
}

/// Their constants, as convolutions have them in memory: the outputs of an input side by side.
pub(super) fn parameters(opponent: bool) -> Vec<f32> {
    if opponent { OPPONENT.concat() } else { Vec::new() }
}
