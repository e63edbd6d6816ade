//! Features that are fixed before any record is seen, or follow from what was released.

use super::published::Published;
use crate::digest::sha256;
use crate::error::{Error, Result};
use crate::mechanism::NoiseKind;
use muffle_nn::config::{Entry, LayerConfig, Piece};
use muffle_nn::initialise::{SplitMix, initial_parameters};
use muffle_nn::layers::activation::Activation;
use muffle_nn::{ModelDescription, Network, Shape, regular_file, weights};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::Arc;

/// Most features of a record: the work grows with their cube.
const MOST: usize = 4096;
/// The smallest norm to divide by: that of records which are nothing but zeros.
const FLOOR: f32 = 1e-6;

/// Where features come from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Features {
    /// The records as they are.
    Raw {},
    /// What layers with random weights make of them.
    Random {
        /// Layers as in a model file.
        layers: Vec<toml::Value>,
        /// From which the weights follow: public.
        #[serde(default)]
        seed: u64,
    },
    /// What a public network makes of them, up to its last layer.
    Network {
        /// Its weight file, which says what its layers are.
        weights: String,
        /// SHA-256 of the file; a plan fills it in, and no other file will do from then on.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sha256: Option<String>,
    },
}

impl Features {
    /// Fills in what identifies files, and refuses other files than those.
    pub(super) fn settled(&self) -> Result<Features> {
        let Features::Network { weights, sha256: known } = self else { return Ok(self.clone()) };
        let path = Path::new(weights);
        let bytes = regular_file::read(path).map_err(|error| {
            Error::file(path, format!("{error}; features.weights names a public network"))
        })?;
        let found = sha256(bytes);
        match known {
            Some(known) if *known != found => Err(Error::file(
                path,
                format!(
                    "its digest is {found}, and the recipe is about {known}; bring the file back, or start another run"
                ),
            )),
            _ => Ok(Features::Network { weights: weights.clone(), sha256: Some(found) }),
        }
    }

    /// The features of records of this shape, of a norm of at most one in the norm of the noise.
    pub fn map(&self, input: Shape, noise: NoiseKind) -> Result<FeatureMap> {
        match self {
            Features::Raw {} => FeatureMap::new(input, Vec::new(), noise, |_| Vec::new()),
            Features::Random { layers, seed } => {
                let sizes = input.sizes().into_iter().map(|size| toml::Value::Integer(size as i64)).collect();
                let table = toml::Table::from_iter([
                    ("input".to_string(), toml::Value::Array(sizes)),
                    ("layers".to_string(), toml::Value::Array(layers.clone())),
                ]);
                let layers = ModelDescription::from_toml(&table.to_string())?.layers;
                FeatureMap::new(input, layers, noise, |network| initial_parameters(network, *seed))
            }
            Features::Network { weights: path, .. } => {
                let (mut description, network, mut parameters) = weights::open(Path::new(path))?;
                let last = description.layers.pop().map(|entry| entry.piece);
                if !matches!(last, Some(Piece::Layer(LayerConfig::Dense { .. }))) {
                    let reason = format!(
                        "features.weights: the last layer of {path} is not dense, so nothing can take its place"
                    );
                    return Err(Error::Plan(reason));
                }
                if !network.input().reads(input) {
                    return Err(Error::Plan(format!(
                        "features.weights: the network takes inputs of shape {}, the data has {input}; take one for such records",
                        network.input()
                    )));
                }
                FeatureMap::new(description.input, description.layers, noise, |network| {
                    parameters.truncate(network.parameter_len());
                    parameters
                })
            }
        }
    }
}

/// Features as a network: what it makes of a record has a norm of at most one.
#[derive(Clone)]
pub struct FeatureMap {
    description: ModelDescription,
    network: Arc<Network>,
    parameters: Arc<Vec<f32>>,
    noise: NoiseKind,
}

impl FeatureMap {
    /// What layers make of records, flattened and scaled into the unit ball of the norm of the noise.
    pub(super) fn new(
        input: Shape,
        mut layers: Vec<Entry>,
        noise: NoiseKind,
        parameters: impl FnOnce(&Network) -> Vec<f32>,
    ) -> Result<FeatureMap> {
        let order = match noise {
            NoiseKind::Gaussian => 2,
            NoiseKind::Laplace => 1,
        };
        layers.extend([LayerConfig::Flatten.into(), LayerConfig::UnitNorm { order, floor: FLOOR }.into()]);
        let description = ModelDescription { input, layers };
        let network = description.network()?;
        let width = network.output().len();
        if width > MOST {
            return Err(Error::Plan(format!(
                "features: {width} for each record, and at most {MOST} can be solved for; project them by a dense layer"
            )));
        }
        if let Some(node) = network.mixing_layer() {
            return Err(Error::Plan(format!(
                "features: layer `{}` mixes records, and one record would move the features of all",
                node.name
            )));
        }
        let parameters = Arc::new(parameters(&network));
        Ok(FeatureMap { description, network: Arc::new(network), parameters, noise })
    }

    /// The network that makes them.
    pub fn network(&self) -> &Arc<Network> {
        &self.network
    }

    /// Its parameters, which are public.
    pub fn parameters(&self) -> &[f32] {
        &self.parameters
    }

    /// How many there are.
    pub fn width(&self) -> usize {
        self.network.output().len()
    }

    /// These features less a centre that was released, scaled into the unit ball again.
    pub fn centred(&self, centre: &[f64]) -> Result<FeatureMap> {
        self.changed(&vec![1.0; centre.len()], &centre.iter().map(|value| -value).collect::<Vec<_>>())
    }

    /// Each of these features times a weight that follows from what was released, scaled into the unit ball again.
    pub fn weighed(&self, weights: &[f64]) -> Result<FeatureMap> {
        self.changed(weights, &vec![0.0; weights.len()])
    }

    /// The same features of inputs that are each multiplied by the root of a share.
    pub fn scaled(&self, shares: &[f64]) -> Result<FeatureMap> {
        // The norm that stands behind them is put there again.
        let own = self.description.layers.len() - 2;
        let first: Entry = LayerConfig::Scale.into();
        let layers = [first].into_iter().chain(self.description.layers[..own].iter().cloned()).collect();
        let scales = shares.iter().map(|share| share.sqrt() as f32);
        let parameters = scales.chain(self.parameters.iter().copied()).collect();
        FeatureMap::new(self.description.input, layers, self.noise, |_| parameters)
    }

    /// The features with a last layer of random weights: a model that is public, so that relevance to it can be asked for.
    pub fn at_random(&self, outputs: usize, seed: u64) -> Result<Published> {
        let mut generator = SplitMix::new(seed);
        let mut row = |_| (0..self.width()).map(|_| generator.normal()).collect();
        let rows: Vec<Vec<f32>> = (0..outputs).map(&mut row).collect();
        self.published(&rows, &vec![0.0; outputs])
    }

    /// A dense layer that looks at each feature by itself.
    fn changed(&self, weights: &[f64], biases: &[f64]) -> Result<FeatureMap> {
        let width = self.width();
        let dense = LayerConfig::Dense { features: width, bias: true };
        let mut parameters = self.parameters.to_vec();
        for (place, weight) in weights.iter().enumerate() {
            parameters.extend((0..width).map(|other| if other == place { *weight as f32 } else { 0.0 }));
        }
        parameters.extend(biases.iter().map(|value| *value as f32));
        let layers = self.description.layers.iter().cloned().chain([dense.into()]).collect();
        FeatureMap::new(self.description.input, layers, self.noise, |_| parameters)
    }

    /// What hidden units make of these features, each with a row of weights of this length.
    pub fn encoded(&self, rows: &[Vec<f64>], length: f64) -> Result<FeatureMap> {
        let dense = LayerConfig::Dense { features: rows.len(), bias: false };
        let mut parameters = self.parameters.to_vec();
        for row in rows {
            let norm = row.iter().map(|value| value * value).sum::<f64>().sqrt();
            let factor = if norm > 0.0 && norm.is_finite() { length / norm } else { 0.0 };
            parameters.extend(row.iter().map(|value| (factor * value) as f32));
        }
        let behind: [Entry; 2] = [dense.into(), Activation::Tanh.into()];
        let layers = self.description.layers.iter().cloned().chain(behind).collect();
        FeatureMap::new(self.description.input, layers, self.noise, |_| parameters)
    }

    /// The features with a dense layer behind them, which has these weights, one row for each output, and biases: an ordinary network.
    pub fn published(&self, weights: &[Vec<f32>], biases: &[f32]) -> Result<Published> {
        let mut description = self.description.clone();
        description.layers.push(LayerConfig::Dense { features: biases.len(), bias: true }.into());
        let mut parameters = self.parameters.to_vec();
        weights.iter().for_each(|row| parameters.extend(row));
        parameters.extend(biases);
        let network = Arc::new(description.network()?);
        Ok(Published { description, network, parameters })
    }
}
