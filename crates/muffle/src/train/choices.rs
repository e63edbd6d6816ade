//! The choices a recipe offers, and the parts they stand for.

use crate::clip::{Allocation, Clip, Flat, Grouped, PerLayer};
use crate::data::Augmentation;
use crate::noise::Key;
use crate::optimizer::{AdaGrad, Adam, Optimizer, RmsProp, Sgd};
use crate::sampler::{BallsAndBins, FixedSize, Poisson, Reshuffled, Sampler};
use crate::schedule::Schedule;
use muffle_accounting::Adjacency;
use muffle_nn::Network;
use muffle_nn::initialise::{glorot_parameters, initial_parameters};
use serde::{Deserialize, Serialize};

type Check = std::result::Result<(), String>;

/// A number, or one that changes in a way fixed in advance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Scheduled {
    /// Always the same.
    Number(f64),
    /// Fixed in advance.
    Schedule(Schedule),
}

impl Scheduled {
    /// The value at time t.
    pub fn at(&self, time: u64) -> f64 {
        match self {
            Scheduled::Number(value) => *value,
            Scheduled::Schedule(schedule) => schedule.at(time),
        }
    }
}

/// What schedules count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TimeUnit {
    /// Passes over the data.
    #[default]
    Epoch,
    /// Steps.
    Step,
}

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

/// How far one record may move the sum.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum ClipRule {
    /// One threshold for the whole gradient.
    Flat {
        /// The largest L2 norm; of the L1 norm with Laplace noise.
        threshold: f64,
    },
    /// One threshold for each tensor, equal, with this bound for all together.
    PerLayer {
        /// The largest L2 norm of all tensors together.
        threshold: f64,
    },
    /// Groups of tensors by name, each with its own threshold.
    Grouped {
        /// The groups; every tensor belongs to the first that names it or a part of its name from the start.
        groups: Vec<Group>,
    },
}

/// Tensors that are clipped together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Group {
    /// How the names of its tensors begin; an empty name takes all that are left.
    pub tensors: Vec<String>,
    /// The largest L2 norm.
    pub threshold: f64,
}

impl ClipRule {
    pub(super) fn check(&self) -> Check {
        let good = |threshold: f64| (threshold as f32).is_normal() && threshold > 0.0;
        match self {
            ClipRule::Flat { threshold } | ClipRule::PerLayer { threshold } if !good(*threshold) => {
                Err(format!("clip.threshold = {threshold} is outside (0, infinity)"))
            }
            ClipRule::Flat { .. } | ClipRule::PerLayer { .. } => Ok(()),
            ClipRule::Grouped { groups } => match groups.iter().find(|group| !good(group.threshold)) {
                Some(group) => {
                    Err(format!("clip.groups: threshold = {} is outside (0, infinity)", group.threshold))
                }
                None if groups.is_empty() => {
                    Err("clip.groups is empty; write at least one group".to_string())
                }
                None => Ok(()),
            },
        }
    }

    /// The rule for a network, with all thresholds times `factor`.
    pub fn rule(&self, network: &Network, factor: f64) -> std::result::Result<Box<dyn Clip>, String> {
        let parameters = network.parameters();
        Ok(match self {
            ClipRule::Flat { threshold } => Box::new(Flat::new(factor * threshold)),
            ClipRule::PerLayer { threshold } => {
                Box::new(PerLayer::even(factor * threshold, parameters.len()))
            }
            ClipRule::Grouped { groups } => {
                let place = |name: &str| {
                    let names = |group: &Group| group.tensors.iter().any(|start| name.starts_with(start));
                    groups.iter().position(names).ok_or_else(|| {
                        format!("clip.groups: tensor `{name}` is in no group; add its name, or \"\" for all that are left")
                    })
                };
                let places: std::result::Result<Vec<usize>, String> =
                    parameters.iter().map(|parameter| place(&parameter.name)).collect();
                let places = places?;
                if let Some(empty) = (0..groups.len()).find(|group| !places.contains(group)) {
                    let names: Vec<&str> =
                        parameters.iter().map(|parameter| parameter.name.as_str()).collect();
                    return Err(format!(
                        "clip.groups: group {} has no tensor; the tensors are {}",
                        empty + 1,
                        names.join(", ")
                    ));
                }
                Box::new(Grouped::new(places, groups.iter().map(|group| factor * group.threshold).collect()))
            }
        })
    }
}

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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Noise {
    /// Its distribution.
    pub kind: NoiseKind,
    /// How Gaussian noise is shared among groups of tensors.
    pub allocation: Allocation,
    /// Draws that are added up for one Gaussian number, against attacks on its low bits.
    pub draws: u32,
}

impl Default for Noise {
    fn default() -> Noise {
        Noise { kind: NoiseKind::default(), allocation: Allocation::default(), draws: 1 }
    }
}

impl Noise {
    pub(super) fn check(&self, clip: &ClipRule) -> Check {
        if self.draws == 0 {
            return Err("noise.draws = 0 is outside 1 and above".to_string());
        }
        match (self.kind, clip) {
            (NoiseKind::Gaussian, _) | (NoiseKind::Laplace, ClipRule::Flat { .. }) => Ok(()),
            (NoiseKind::Laplace, _) => {
                Err("noise.kind = \"laplace\" needs clip.kind = \"flat\": it bounds the L1 norm as a whole"
                    .to_string())
            }
        }
    }
}

/// What becomes of a released gradient.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum OptimizerChoice {
    /// Gradient descent.
    Sgd {
        /// Share of the last direction that is kept.
        #[serde(default)]
        momentum: f32,
        /// Looks ahead along it.
        #[serde(default)]
        nesterov: bool,
    },
    /// Adaptive moments.
    Adam {
        /// Decay rates of the two moments.
        #[serde(default = "betas")]
        betas: [f64; 2],
        /// The constant in the denominator.
        #[serde(default = "adam_constant")]
        constant: f32,
    },
    /// Adaptive moments with weight decay.
    Adamw {
        /// Decay rates of the two moments.
        #[serde(default = "betas")]
        betas: [f64; 2],
        /// The constant in the denominator.
        #[serde(default = "adam_constant")]
        constant: f32,
        /// How fast weights shrink.
        #[serde(default = "weight_decay")]
        weight_decay: f32,
    },
    /// Moving mean of squares.
    RmsProp {
        /// Decay rate of the squares.
        #[serde(default = "rms_decay")]
        decay: f64,
    },
    /// Sum of squares.
    Adagrad {},
}

impl Default for OptimizerChoice {
    fn default() -> OptimizerChoice {
        OptimizerChoice::Sgd { momentum: 0.0, nesterov: false }
    }
}

fn betas() -> [f64; 2] {
    [0.9, 0.999]
}

fn adam_constant() -> f32 {
    1e-8
}

fn weight_decay() -> f32 {
    0.01
}

fn rms_decay() -> f64 {
    0.99
}

impl OptimizerChoice {
    pub(super) fn check(&self) -> Check {
        let share = |key: &str, value: f64| match (0.0..1.0).contains(&value) {
            true => Ok(()),
            false => Err(format!("optimizer.{key} = {value} is outside [0, 1)")),
        };
        match *self {
            OptimizerChoice::Sgd { momentum, .. } => share("momentum", f64::from(momentum)),
            OptimizerChoice::Adam { betas, constant } | OptimizerChoice::Adamw { betas, constant, .. } => {
                share("betas", betas[0])?;
                share("betas", betas[1])?;
                if let OptimizerChoice::Adamw { weight_decay, .. } = *self
                    && !(weight_decay >= 0.0 && weight_decay.is_finite())
                {
                    return Err(format!("optimizer.weight_decay = {weight_decay} is outside [0, infinity)"));
                }
                match constant > 0.0 && constant.is_finite() {
                    true => Ok(()),
                    false => Err(format!("optimizer.constant = {constant} is outside (0, infinity)")),
                }
            }
            OptimizerChoice::RmsProp { decay } => share("decay", decay),
            OptimizerChoice::Adagrad {} => Ok(()),
        }
    }

    /// The optimizer for this many parameters.
    pub fn optimizer(&self, parameters: usize) -> Box<dyn Optimizer> {
        match *self {
            OptimizerChoice::Sgd { momentum, nesterov } => {
                let sgd = Sgd::new(parameters).momentum(momentum);
                Box::new(if nesterov { sgd.nesterov() } else { sgd })
            }
            OptimizerChoice::Adam { betas: [mean, square], constant } => {
                Box::new(Adam::new(parameters).betas(mean, square).epsilon(constant))
            }
            OptimizerChoice::Adamw { betas: [mean, square], constant, weight_decay } => Box::new(
                Adam::new(parameters).betas(mean, square).epsilon(constant).weight_decay(weight_decay),
            ),
            OptimizerChoice::RmsProp { decay } => Box::new(RmsProp::new(parameters).decay(decay)),
            OptimizerChoice::Adagrad {} => Box::new(AdaGrad::new(parameters)),
        }
    }
}

/// How many views of each record there are in a step, and how they differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ViewsOfRecord {
    /// Views of each record in one step.
    pub views: usize,
    /// Moves by up to this many pixels.
    pub shift: usize,
    /// Mirrors left and right.
    pub flip: bool,
    /// Pads by this many pixels and cuts out the original size.
    pub crop: usize,
}

impl Default for ViewsOfRecord {
    fn default() -> ViewsOfRecord {
        ViewsOfRecord { views: 1, shift: 0, flip: false, crop: 0 }
    }
}

impl ViewsOfRecord {
    pub(super) fn check(&self) -> Check {
        match self.views {
            0 => Err("augmentation.views = 0 is outside 1 and above".to_string()),
            _ => Ok(()),
        }
    }

    /// What may happen to one view.
    pub fn augmentation(&self) -> Augmentation {
        Augmentation { shift: self.shift, flip: self.flip, crop: self.crop }
    }
}
