//! Fixed features: what is made of every record by itself, once, before training.
//!
//! They are the first layers of the network that is published, so whoever uses the model gives it records as they are. In
//! training they are computed once for every record, and the layers behind them are trained on the result.

mod cache;
mod constants;
mod dead_leaves;
mod stage;

#[cfg(test)]
mod tests;

use crate::error::{Error, Result};
use muffle_nn::config::{Entry, LayerConfig, Piece};
use muffle_nn::layers::window::Extent;
use muffle_nn::{ModelDescription, Network, Shape};
use serde::{Deserialize, Serialize};

/// Which features.
///
/// # Guarantee
/// A record's features follow from the record alone: no constant in them was found on private records or on a test split. They cost no
/// privacy (R9).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Features {
    /// Wavelet scattering, then channels in groups that each get mean zero and variance one over the image.
    ///
    /// # Source
    /// Tramèr and Boneh 2021, "Differentially private learning needs better features (or much more data)", section 3.
    Scattering {
        /// Groups; they divide the channels.
        #[serde(default = "groups")]
        groups: usize,
        /// Means over squares of so many places in each direction, behind it.
        #[serde(default = "one")]
        pool: usize,
        /// Channels that have a mean of zero, are uncorrelated and of more even variance on synthetic images, in place of those of the
        /// transform: so many, the strongest ones.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        whitened: Option<usize>,
        /// The mean over the image and its mirror image in place of the transform: for images whose classes do not change in a mirror.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        mirrored: bool,
        /// Brightness and two differences of colours in place of red, green and blue, which say nearly the same as each other.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        opponent: bool,
    },
}

/// What red, green and blue each add to brightness, to red against blue, and to both against green.
const OPPONENT: [[f32; 3]; 3] = [[1.0, 1.0, 1.0], [1.0, 0.0, -2.0], [1.0, -1.0, 1.0]];

fn groups() -> usize {
    27
}

fn one() -> usize {
    1
}

impl Features {
    /// The layers that compute them.
    fn layers(&self) -> Vec<Entry> {
        let Features::Scattering { pool, whitened, .. } = *self;
        let mut layers = self.transform_layers();
        layers.extend(whitened.map(|channels| mixture(channels, true)));
        if pool > 1 {
            let [kernel, padding] = [pool, 0].map(Extent::Square);
            layers.push(LayerConfig::AveragePool { kernel, stride: None, padding }.into());
        }
        layers
    }

    /// The network that computes them of records of this shape.
    pub fn network(&self, input: Shape) -> Result<Network> {
        let fail = |error: muffle_nn::Error| Error::Plan(format!("features: {error}"));
        let network = ModelDescription { input, layers: self.layers() }.network().map_err(fail)?;
        let (Features::Scattering { whitened, opponent, .. }, channels) =
            (self, self.transform(input)?.output().sizes()[0]);
        if *opponent && input.channels() != OPPONENT.len() {
            return Err(Error::Plan("features.opponent: it is about images of red, green and blue".into()));
        }
        match whitened {
            Some(kept) if *kept > channels => Err(Error::Plan(format!(
                "features.whitened = {kept}: the transform has {channels} channels to choose from"
            ))),
            _ => Ok(network),
        }
    }

    /// The layers that look at the image, up to where constants of synthetic images begin.
    fn transform_layers(&self) -> Vec<Entry> {
        let Features::Scattering { groups, mirrored, opponent, .. } = *self;
        let scattering = || Entry::from(LayerConfig::Scattering);
        let mut layers = Vec::from_iter(opponent.then(|| mixture(OPPONENT.len(), false)));
        layers.push(if mirrored {
            let branches = [vec![scattering()], vec![LayerConfig::Mirror.into(), scattering()]];
            // A sum: what comes next takes away its scale.
            Piece::Sum(branches.map(|layers| Piece::Sequential(layers).into()).to_vec()).into()
        } else {
            scattering()
        });
        layers.push(LayerConfig::GroupNorm { groups, affine: false }.into());
        layers
    }

    /// The constants of these layers, as convolutions have them in memory: the outputs of an input side by side.
    fn transform_parameters(&self) -> Vec<f32> {
        let Features::Scattering { opponent, .. } = *self;
        if opponent { OPPONENT.concat() } else { Vec::new() }
    }

    /// The network of these layers.
    fn transform(&self, input: Shape) -> Result<Network> {
        Ok(ModelDescription { input, layers: self.transform_layers() }.network()?)
    }

    /// The parameters of the network that computes the features, which are constants: they follow from the shape of a record alone.
    pub fn parameters(&self, input: Shape) -> Result<Vec<f32>> {
        let Features::Scattering { whitened, .. } = *self;
        let mut parameters = self.transform_parameters();
        if let Some(channels) = whitened {
            let whitening = constants::whitening(self.transform(input)?, &parameters, channels)?;
            parameters.extend(whitening);
        }
        Ok(parameters)
    }

    /// The network that is published: these features of records of this shape, then a model of them.
    pub fn in_front_of(&self, input: Shape, model: ModelDescription) -> ModelDescription {
        let whole = [("features", self.layers()), ("", model.layers)];
        let layers = whole.map(|(name, layers)| Entry::named(name, Piece::Sequential(layers))).to_vec();
        ModelDescription { input, layers }
    }
}

/// A layer that makes so many channels of those of every place by itself.
fn mixture(channels: usize, bias: bool) -> Entry {
    let [kernel, stride, padding] = [1, 1, 0].map(Extent::Square);
    LayerConfig::Conv2d { channels, kernel, stride, padding, groups: 1, bias }.into()
}
