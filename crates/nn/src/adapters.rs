//! Low-rank adapters: beside a layer that stays as it is, a narrow way of two small layers that learns in its place.
//!
//! ```
//! use muffle_nn::ModelDescription;
//! use muffle_nn::adapters::Adapters;
//!
//! let model = ModelDescription::from_toml("input = [100]\nlayers = [{ type = \"dense\", features = 50 }]")?;
//! let adapted = Adapters { layers: vec!["0".to_string()], rank: 2 }.attach(&model)?;
//! let names: Vec<String> = adapted.description.network()?.parameters().iter().map(|tensor| tensor.name.clone()).collect();
//! assert_eq!(names, ["0.weight", "0.bias", "0.adapter.down.weight", "0.adapter.up.weight"]);
//! # Ok::<(), muffle_nn::Error>(())
//! ```

use crate::config::{Edge, Entry, Graph, LayerConfig, Piece};
use crate::error::{Error, Result};
use crate::layers::window::Extent;
use crate::model_file::ModelDescription;
use crate::network::{join, prefixed};
use serde::{Deserialize, Serialize};

/// Name of the way beside a layer.
const ADAPTER: &str = "adapter";

/// Which layers get adapters, and how narrow these are.
///
/// # Source
/// Hu et al. 2022, "LoRA: low-rank adaptation of large language models", equation 3, with α = r.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Adapters {
    /// Dense and convolutional layers, by patterns of their names.
    pub layers: Vec<String>,
    /// Features or channels between the two small layers.
    pub rank: usize,
}

/// A network with adapters.
#[derive(Clone, Debug, PartialEq)]
pub struct Adapted {
    /// The network.
    pub description: ModelDescription,
    /// The layers that have an adapter, by name.
    pub layers: Vec<String>,
}

impl Adapters {
    /// The same network with an adapter beside each of the layers.
    pub fn attach(&self, model: &ModelDescription) -> Result<Adapted> {
        if self.rank == 0 {
            return Err(Error::Options("adapters.rank = 0 lets nothing through; set 1 or more".to_string()));
        }
        let layers = model.network()?.layers_named(&self.layers)?;
        let description =
            ModelDescription { input: model.input, layers: self.sequence(&model.layers, "", &layers)? };
        Ok(Adapted { description, layers })
    }

    fn sequence(&self, entries: &[Entry], prefix: &str, chosen: &[String]) -> Result<Vec<Entry>> {
        let inside = |(index, entry): (usize, &Entry)| {
            let piece = self.piece(&entry.piece, &join(prefix, entry, index), chosen)?;
            Ok(Entry { name: entry.name.clone(), piece })
        };
        entries.iter().enumerate().map(inside).collect()
    }

    fn piece(&self, piece: &Piece, name: &str, chosen: &[String]) -> Result<Piece> {
        let is_chosen = chosen.iter().any(|layer| layer == name);
        Ok(match piece {
            Piece::Layer(layer) if is_chosen => self.beside(layer, name)?,
            Piece::Custom(layer) if is_chosen => return Err(no_adapter(name, layer.kind())),
            Piece::Layer(_) | Piece::Custom(_) | Piece::Activation(_) => piece.clone(),
            Piece::Sequential(entries) => Piece::Sequential(self.sequence(entries, name, chosen)?),
            Piece::Sum(branches) => Piece::Sum(self.sequence(branches, name, chosen)?),
            Piece::Concat(branches) => Piece::Concat(self.sequence(branches, name, chosen)?),
            Piece::Graph(Graph { edges, outputs }) => {
                let edge = |edge: &Edge| {
                    let prefix = prefixed(name, &format!("{}_{}", edge.from, edge.to));
                    Ok(Edge { layers: self.sequence(&edge.layers, &prefix, chosen)?, ..edge.clone() })
                };
                Piece::Graph(Graph {
                    edges: edges.iter().map(edge).collect::<Result<_>>()?,
                    outputs: outputs.clone(),
                })
            }
        })
    }

    /// The sum of a layer and of two small ones without bias, the first of which sees what the layer sees.
    fn beside(&self, layer: &LayerConfig, name: &str) -> Result<Piece> {
        let (down, up) = match *layer {
            LayerConfig::Dense { features, .. } => (
                LayerConfig::Dense { features: self.rank, bias: false },
                LayerConfig::Dense { features, bias: false },
            ),
            LayerConfig::Conv2d { channels, kernel, stride, padding, groups: 1, .. } => {
                let small = |channels, kernel, stride, padding| LayerConfig::Conv2d {
                    channels,
                    kernel,
                    stride,
                    padding,
                    groups: 1,
                    bias: false,
                };
                let one = Extent::Square(1);
                (small(self.rank, kernel, stride, padding), small(channels, one, one, Extent::Square(0)))
            }
            LayerConfig::Conv1d { channels, kernel, stride, padding, .. } => {
                let small = |channels, kernel, stride, padding| LayerConfig::Conv1d {
                    channels,
                    kernel,
                    stride,
                    padding,
                    bias: false,
                };
                (small(self.rank, kernel, stride, padding), small(channels, 1, 1, 0))
            }
            _ => return Err(no_adapter(name, layer.kind())),
        };
        let way = Piece::Sequential(vec![Entry::named("down", down), Entry::named("up", up)]);
        Ok(Piece::Sum(vec![Entry::named("", layer.clone()), Entry::named(ADAPTER, way)]))
    }
}

impl Adapted {
    /// Whether a layer of this name belongs to an adapter.
    pub fn is_adapter(&self, layer: &str) -> bool {
        self.layers.iter().any(|name| {
            let inside = layer.strip_prefix(name.as_str()).and_then(|rest| rest.strip_prefix('.'));
            inside.is_some_and(|inside| inside.starts_with(&format!("{ADAPTER}.")))
        })
    }

    /// Sets the second layer of every adapter to zero: the network then computes what it did without them.
    ///
    /// # Panics
    /// If the parameters are not those of the description's network.
    pub fn silence(&self, parameters: &mut [f32]) -> Result<()> {
        let network = self.description.network()?;
        assert_eq!(parameters.len(), network.parameter_len(), "parameters of this network");
        for tensor in network.parameters().iter().filter(|tensor| self.is_adapter(&tensor.name)) {
            if tensor.name.ends_with("up.weight") {
                parameters[tensor.range.clone()].fill(0.0);
            }
        }
        Ok(())
    }
}

fn no_adapter(name: &str, kind: &str) -> Error {
    Error::Options(format!(
        "layer `{name}` ({kind}) has no adapter: dense layers and convolutions without groups have"
    ))
}
