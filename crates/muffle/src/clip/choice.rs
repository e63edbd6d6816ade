//! How a recipe chooses a clip rule.

use super::{Clip, Flat, Grouped, NonMonotone, Normalised, PerLayer};
use muffle_nn::Network;
use serde::{Deserialize, Serialize};

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
    /// Every gradient divided by its norm plus a constant.
    Normalised {
        /// The length that gradients are brought to.
        threshold: f64,
        /// γ in g/(‖g‖ + γ).
        stability: f64,
    },
    /// Gradients brought to about the same length, but for the smallest.
    NonMonotone {
        /// The largest L2 norm.
        threshold: f64,
        /// r in C/(‖g‖ + r/(‖g‖ + r)).
        radius: f64,
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
    pub(crate) fn check(&self) -> Result<(), String> {
        let good = |threshold: f64| (threshold as f32).is_normal() && threshold > 0.0;
        let positive = |key: &str, value: f64| match good(value) {
            true => Ok(()),
            false => Err(format!("clip.{key} = {value} is outside (0, infinity)")),
        };
        match self {
            ClipRule::Flat { threshold } | ClipRule::PerLayer { threshold } => {
                positive("threshold", *threshold)
            }
            ClipRule::Normalised { threshold, stability } => match stability {
                0.0..=1e30 => positive("threshold", *threshold),
                _ => Err(format!("clip.stability = {stability} is outside [0, 1e30]")),
            },
            ClipRule::NonMonotone { threshold, radius } => {
                positive("threshold", *threshold).and(positive("radius", *radius))
            }
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
    pub fn rule(&self, network: &Network, factor: f64) -> Result<Box<dyn Clip>, String> {
        let parameters = network.parameters();
        Ok(match self {
            ClipRule::Flat { threshold } => Box::new(Flat::new(factor * threshold)),
            ClipRule::PerLayer { threshold } => {
                Box::new(PerLayer::even(factor * threshold, parameters.len()))
            }
            ClipRule::Normalised { threshold, stability } => {
                Box::new(Normalised::new(factor * threshold, *stability))
            }
            ClipRule::NonMonotone { threshold, radius } => {
                Box::new(NonMonotone::new(factor * threshold, *radius))
            }
            ClipRule::Grouped { groups } => {
                let place = |name: &str| {
                    let names = |group: &Group| group.tensors.iter().any(|start| name.starts_with(start));
                    groups.iter().position(names).ok_or_else(|| {
                        format!("clip.groups: tensor `{name}` is in no group; add its name, or \"\" for all that are left")
                    })
                };
                let places: Result<Vec<usize>, String> =
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
