//! Fixed features: what is made of every record by itself, once, before training.
//!
//! They are the first layers of the network that is published, so whoever uses the model gives it records as they are. In
//! training they are computed once for every record, and the layers behind them are trained on the result.

mod cache;
mod constants;
mod patches;
mod prior;
mod shared;
mod stage;
mod wavelets;

#[cfg(test)]
mod tests;

use crate::error::{Error, Result};
use muffle_nn::config::{Entry, LayerConfig, Piece};
use muffle_nn::layers::window::Extent;
use muffle_nn::{ModelDescription, Network, Shape};
pub use prior::Prior;
use serde::{Deserialize, Serialize};
pub(crate) use stage::numbers;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex};

/// Which features.
///
/// # Guarantee
/// A record's features follow from the record alone: no constant in them was found on private records or on a test split. They cost no
/// privacy (R9).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Features {
    /// What looks at the image.
    pub kind: Kind,
    /// Groups of the wavelets' channels that each get mean zero and variance one over the image; they divide the channels.
    #[serde(default = "groups")]
    pub groups: usize,
    /// Brightness and two differences of colours in place of red, green and blue, for the wavelets.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub opponent: bool,
    /// So many filters that are pieces of synthetic images.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patches: Option<usize>,
    /// A network that has learned to see on synthetic images, or on other public ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prior: Option<Prior>,
    /// The sum over the image and its mirror image in place of what the image has by itself: for images whose classes do not change in a
    /// mirror.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub mirrored: bool,
    /// Channels that have a mean of zero, are uncorrelated and of more even variance on synthetic images, in place of those of the
    /// transform: so many, the strongest ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whitened: Option<usize>,
    /// Means over squares of so many places in each direction, at the end.
    #[serde(default = "one")]
    pub pool: usize,
}

/// What looks at the image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Wavelets, with patches and a prior beside them where they are asked for.
    ///
    /// # Source
    /// Tramèr and Boneh 2021, "Differentially private learning needs better features (or much more data)", section 3.
    Scattering,
    /// Patches and a prior alone.
    Filters,
}

fn groups() -> usize {
    27
}

fn one() -> usize {
    1
}

/// One of the ways to look at an image. What it sees gets mean zero and variance one over the image, in groups of channels.
struct Part {
    layers: Vec<Entry>,
    groups: usize,
}

/// Constants by features and sizes of a record.
type Constants = HashMap<(Features, Vec<usize>), Arc<Vec<f32>>>;

/// Those that were found before, in this process: finding them takes seconds.
static FOUND: LazyLock<Mutex<Constants>> = LazyLock::new(Mutex::default);

impl Features {
    /// Refuses what does not go together; what follows from files is filled in.
    pub fn settle(&mut self) -> Result<()> {
        if let Some(prior) = &mut self.prior {
            prior.settle()?;
        }
        match self.kind {
            Kind::Filters if self.patches.is_none() && self.prior.is_none() => Err(Error::Plan(
                "features: without wavelets there must be filters; set features.patches or features.prior"
                    .into(),
            )),
            Kind::Filters if self.opponent => Err(Error::Plan(
                "features.opponent is about what wavelets see; leave it out of features of filters alone"
                    .into(),
            )),
            _ => match self.patches {
                Some(count) if !(1..=patches::MOST).contains(&count) => {
                    Err(Error::Plan(format!("features.patches = {count} is outside 1 to {}", patches::MOST)))
                }
                _ => Ok(()),
            },
        }
    }

    /// The ways to look at an image, side by side.
    fn parts(&self) -> Result<Vec<Part>> {
        let mut parts = Vec::new();
        if self.kind == Kind::Scattering {
            parts.push(Part { layers: wavelets::layers(self.opponent), groups: self.groups });
        }
        parts.extend(self.patches.map(|count| Part { layers: patches::layers(count), groups: 1 }));
        if let Some(prior) = &self.prior {
            parts.push(Part { layers: prior.layers()?, groups: 1 });
        }
        Ok(parts)
    }

    /// The layers that look at the image, up to where constants of synthetic images begin.
    fn transform_layers(&self) -> Result<Vec<Entry>> {
        let parts = self.parts()?.into_iter().map(|Part { layers, groups }| {
            let normalised = Entry::from(LayerConfig::GroupNorm { groups, affine: false });
            if !self.mirrored {
                return [layers, vec![normalised]].concat();
            }
            let branches = [layers.clone(), [vec![LayerConfig::Mirror.into()], layers].concat()];
            // A sum: what comes next takes away its scale.
            let sum = Piece::Sum(branches.map(|layers| Piece::Sequential(layers).into()).to_vec());
            vec![sum.into(), normalised]
        });
        let mut parts: Vec<Vec<Entry>> = parts.collect();
        match parts.len() {
            1 => Ok(parts.remove(0)),
            _ => {
                let beside = parts.into_iter().map(|layers| Piece::Sequential(layers).into());
                Ok(vec![Piece::Concat(beside.collect()).into()])
            }
        }
    }

    /// The constants of these layers, in their order.
    fn transform_parameters(&self, input: Shape) -> Result<Vec<f32>> {
        let mut parts = Vec::new();
        if self.kind == Kind::Scattering {
            parts.push(wavelets::parameters(self.opponent));
        }
        parts.extend(self.patches.map(|count| patches::parameters(input, count)));
        if let Some(prior) = &self.prior {
            parts.push(prior.parameters(input)?);
        }
        let times = 1 + usize::from(self.mirrored);
        Ok(parts.into_iter().flat_map(|part| part.repeat(times)).collect())
    }

    /// The layers that compute them.
    fn layers(&self) -> Result<Vec<Entry>> {
        let mut layers = self.transform_layers()?;
        layers.extend(self.whitened.map(|channels| mixture(channels, true)));
        if self.pool > 1 {
            let [kernel, padding] = [self.pool, 0].map(Extent::Square);
            layers.push(LayerConfig::AveragePool { kernel, stride: None, padding }.into());
        }
        Ok(layers)
    }

    /// The network that computes them of records of this shape.
    pub fn network(&self, input: Shape) -> Result<Network> {
        let fail = |error: muffle_nn::Error| Error::Plan(format!("features: {error}"));
        let network = ModelDescription { input, layers: self.layers()? }.network().map_err(fail)?;
        let channels = self.transform(input)?.output().sizes()[0];
        if self.opponent && input.channels() != wavelets::COLOURS {
            return Err(Error::Plan("features.opponent: it is about images of red, green and blue".into()));
        }
        if self.patches.is_some() && input.sizes()[1..].iter().any(|side| *side < patches::SIDE) {
            return Err(Error::Plan(format!(
                "features.patches: filters of {0} by {0} take images of as many rows and columns, the data has {input}",
                patches::SIDE
            )));
        }
        match self.whitened {
            Some(kept) if kept > channels => Err(Error::Plan(format!(
                "features.whitened = {kept}: the transform has {channels} channels to choose from"
            ))),
            _ => Ok(network),
        }
    }

    /// The network of the layers that look at the image.
    fn transform(&self, input: Shape) -> Result<Network> {
        Ok(ModelDescription { input, layers: self.transform_layers()? }.network()?)
    }

    /// The parameters of the network that computes the features, which are constants: they follow from the shape of a record alone.
    pub fn parameters(&self, input: Shape) -> Result<Arc<Vec<f32>>> {
        let key = (self.clone(), input.sizes());
        let mut found = FOUND.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(parameters) = found.get(&key) {
            return Ok(parameters.clone());
        }
        let mut parameters = self.transform_parameters(input)?;
        if let Some(channels) = self.whitened {
            let whitening = constants::whitening(self.transform(input)?, &parameters, channels)?;
            parameters.extend(whitening);
        }
        Ok(found.entry(key).or_insert(Arc::new(parameters)).clone())
    }

    /// What no figure of a run on them is about, in words.
    pub fn not_covered(&self) -> Option<String> {
        self.prior.as_ref().map(|prior| {
            format!(
                "the network that makes features ({}) is taken as public: records that it was trained on are not protected",
                prior.weights
            )
        })
    }

    /// The network that is published: these features of records of this shape, then a model of them.
    pub fn in_front_of(&self, input: Shape, model: ModelDescription) -> Result<ModelDescription> {
        let whole = [("features", self.layers()?), ("", model.layers)];
        let layers = whole.map(|(name, layers)| Entry::named(name, Piece::Sequential(layers))).to_vec();
        Ok(ModelDescription { input, layers })
    }
}

/// A layer that makes so many channels of those of every place by itself.
fn mixture(channels: usize, bias: bool) -> Entry {
    let [kernel, stride, padding] = [1, 1, 0].map(Extent::Square);
    LayerConfig::Conv2d { channels, kernel, stride, padding, groups: 1, bias }.into()
}
