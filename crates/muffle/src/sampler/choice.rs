//! How a recipe chooses a sampler.

use super::{BallsAndBins, FixedSize, Poisson, Reshuffled, Sampler};
use crate::noise::Key;
use muffle_accounting::Adjacency;
use serde::{Deserialize, Serialize};

/// How records are drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SamplerChoice {
    /// Every record takes part independently.
    #[default]
    Poisson,
    /// A random subset of fixed size in every step.
    FixedSize,
    /// The records are shuffled and cut into batches in every epoch.
    Reshuffled,
    /// Every record picks one batch of the epoch.
    BallsAndBins,
}

impl SamplerChoice {
    /// The relation under which its guarantee is usually stated.
    pub fn usual_adjacency(self) -> Adjacency {
        match self {
            SamplerChoice::Poisson | SamplerChoice::BallsAndBins => Adjacency::AddRemove,
            SamplerChoice::FixedSize => Adjacency::ReplaceOne,
            SamplerChoice::Reshuffled => Adjacency::ZeroOut,
        }
    }

    /// The probability that a record takes part in a step, near the one asked for: an epoch that deals out every record once has
    /// a whole number of steps.
    pub fn sample_rate(self, wanted: f64) -> f64 {
        match self {
            SamplerChoice::Poisson | SamplerChoice::FixedSize => wanted.min(1.0),
            SamplerChoice::Reshuffled | SamplerChoice::BallsAndBins => 1.0 / (1.0 / wanted).round().max(1.0),
        }
    }

    /// The sampler for `records` records of which about one in `1/sample_rate` takes part in a step.
    pub fn sampler(self, key: &Key, records: usize, sample_rate: f64) -> Box<dyn Sampler> {
        let batches = (1.0 / sample_rate).round().max(1.0) as usize;
        match self {
            SamplerChoice::Poisson => Box::new(Poisson::new(key, records, sample_rate)),
            SamplerChoice::FixedSize => {
                let size = (sample_rate * records as f64).round().clamp(1.0, records as f64) as usize;
                Box::new(FixedSize::new(key, records, size))
            }
            SamplerChoice::Reshuffled => Box::new(Reshuffled::new(key, records, batches)),
            SamplerChoice::BallsAndBins => Box::new(BallsAndBins::new(key, records, batches)),
        }
    }
}
