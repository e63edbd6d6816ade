//! Fixed features: what is made of every record by itself, once, before training.
//!
//! They are the first layers of the network that is published, so whoever uses the model gives it records as they are. In
//! training they are computed once for every record, and the layers behind them are trained on the result.

mod cache;

use crate::data::{Dataset, Records, Scaling, Split, View};
use crate::error::{Error, Result};
use cache::Cache;
use half::f16;
use half::slice::HalfFloatSliceExt;
use muffle_nn::config::{Entry, LayerConfig, Piece};
use muffle_nn::layers::window::Extent;
use muffle_nn::{Engine, Examples, ModelDescription, Network, Options, Purpose, Shape};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Records that are read at a time.
const BATCH: usize = 512;

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
        /// Groups; they divide 81 times the channels of the image.
        #[serde(default = "groups")]
        groups: usize,
        /// Means over squares of so many places in each direction, behind it.
        #[serde(default = "one")]
        pool: usize,
    },
}

fn groups() -> usize {
    27
}

fn one() -> usize {
    1
}

impl Features {
    /// The layers that compute them.
    fn layers(&self) -> Vec<Entry> {
        let Features::Scattering { groups, pool } = *self;
        let mut layers: Vec<Entry> =
            vec![LayerConfig::Scattering.into(), LayerConfig::GroupNorm { groups, affine: false }.into()];
        if pool > 1 {
            let [kernel, padding] = [pool, 0].map(Extent::Square);
            layers.push(LayerConfig::AveragePool { kernel, stride: None, padding }.into());
        }
        layers
    }

    /// The network that computes them of records of this shape.
    pub fn network(&self, input: Shape) -> Result<Network> {
        let fail = |error: muffle_nn::Error| Error::Plan(format!("features: {error}"));
        ModelDescription { input, layers: self.layers() }.network().map_err(fail)
    }

    /// The network that is published: these features of records of this shape, then a model of them.
    pub fn in_front_of(&self, input: Shape, model: ModelDescription) -> ModelDescription {
        let whole = [("features", self.layers()), ("", model.layers)];
        let layers = whole.map(|(name, layers)| Entry::named(name, Piece::Sequential(layers))).to_vec();
        ModelDescription { input, layers }
    }

    /// A data set with the features of every record in place of the record.
    pub fn apply(&self, dataset: &Dataset, threads: Option<usize>) -> Result<Dataset> {
        let network = Arc::new(self.network(dataset.input())?);
        let output = network.output();
        let mut engine = Engine::new(network, Options { threads, ..Options::new(Purpose::Evaluate) })?;
        let cache = Cache::new(dataset, self);
        let mut split = |name: &str, view: View| -> Result<Split> {
            let kept = cache.as_ref().and_then(|cache| cache.load(name, &view, output.len()));
            let values = match kept {
                Some(values) => values,
                None => {
                    let values = features(&mut engine, &view)?;
                    cache.iter().for_each(|cache| cache.store(name, &values));
                    values
                }
            };
            Ok(Split { records: Records::Halves(values), targets: view.split().targets.clone() })
        };
        let (train, test) = (split("train", dataset.train())?, split("test", dataset.test())?);
        let about = format!("{}; then {self:?}", dataset.scaling().about());
        let (scaling, task) = (Scaling::identity(&about), dataset.task().clone());
        Ok(Dataset::with_task(dataset.name(), output, task, scaling, dataset.visibility(), train, test)?)
    }
}

/// The features of the records of a split, in half precision.
fn features(engine: &mut Engine, view: &View) -> Result<Vec<f16>> {
    let width = engine.network().output().len();
    let mut values = vec![f16::ZERO; view.len() * width];
    let mut outputs = vec![0.0; BATCH.min(view.len()) * width];
    for (number, values) in values.chunks_mut(BATCH * width).enumerate() {
        let first = number * BATCH;
        let batch = view.select((first..first + values.len() / width).collect::<Vec<usize>>());
        let outputs = &mut outputs[..values.len()];
        engine.outputs(&[], &batch, outputs)?;
        values.convert_from_f32_slice(outputs);
    }
    Ok(values)
}
