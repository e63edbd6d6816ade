//! How a recipe chooses an optimizer.

use super::{AdaGrad, Adam, DistanceOverGradients, Optimizer, RmsProp, Sgd};
use serde::{Deserialize, Serialize};

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
    /// Distance over gradients, which finds its own rate.
    Dog {},
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
    pub(crate) fn check(&self) -> Result<(), String> {
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
            OptimizerChoice::Adagrad {} | OptimizerChoice::Dog {} => Ok(()),
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
            OptimizerChoice::Dog {} => Box::new(DistanceOverGradients::new(parameters)),
        }
    }
}
