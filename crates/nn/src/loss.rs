//! Losses of one example, with their gradients at the network's output.

use crate::error::{Error, Result};
use crate::examples::Target;
use crate::shape::Shape;
use serde::{Deserialize, Serialize};

/// What training makes small.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Loss {
    /// `-ln softmax(output)[class]`.
    SoftmaxCrossEntropy,
    /// Mean over the outputs of `ln(1 + e^z) - t z`: the cross-entropy of logistic outputs, on logits.
    BinaryCrossEntropy,
    /// Mean over the outputs of `(output - target)²`.
    MeanSquaredError,
}

impl Loss {
    /// Checks that a network's output suits the loss and a target suits the output.
    pub fn check(&self, output: Shape, target: Target) -> Result<()> {
        let width = output.len();
        match (self, target) {
            (Loss::SoftmaxCrossEntropy, Target::Class(class)) if (class as usize) < width => Ok(()),
            (Loss::SoftmaxCrossEntropy, Target::Class(class)) => Err(Error::Options(format!(
                "class {class} does not exist in a network with {width} outputs (classes count from 0)"
            ))),
            (Loss::SoftmaxCrossEntropy, Target::Values(_)) => {
                Err(Error::Options("softmax cross-entropy needs a class as target".to_string()))
            }
            (_, Target::Values(values)) if values.len() == width => Ok(()),
            (_, Target::Values(values)) => Err(Error::Options(format!(
                "a target of {} values does not fit a network with {width} outputs",
                values.len()
            ))),
            (_, Target::Class(_)) => {
                Err(Error::Options("this loss needs one target value for each output".to_string()))
            }
            (_, Target::None) => {
                Err(Error::Options("an example without a target has no loss to learn from".to_string()))
            }
        }
    }

    /// Loss of one example; writes its gradient.
    ///
    /// # Panics
    /// If [`Loss::check`] would refuse the target.
    pub fn evaluate(&self, output: &[f32], target: Target, gradient: &mut [f32]) -> f32 {
        let count = output.len() as f32;
        match (self, target) {
            (Loss::SoftmaxCrossEntropy, Target::Class(class)) => {
                let largest = output.iter().copied().fold(f32::NEG_INFINITY, f32::max);
                let mut sum = 0.0;
                for (gradient, value) in gradient.iter_mut().zip(output) {
                    *gradient = (value - largest).exp();
                    sum += *gradient;
                }
                gradient.iter_mut().for_each(|value| *value /= sum);
                let class = class as usize;
                gradient[class] -= 1.0;
                sum.ln() - (output[class] - largest)
            }
            (Loss::BinaryCrossEntropy, Target::Values(targets)) => {
                let mut sum = 0.0;
                for ((gradient, &logit), target) in gradient.iter_mut().zip(output).zip(targets) {
                    *gradient = (1.0 / (1.0 + (-logit).exp()) - target) / count;
                    sum += logit.max(0.0) - logit * target + (-logit.abs()).exp().ln_1p();
                }
                sum / count
            }
            (Loss::MeanSquaredError, Target::Values(targets)) => {
                let mut sum = 0.0;
                for ((gradient, value), target) in gradient.iter_mut().zip(output).zip(targets) {
                    let difference = value - target;
                    *gradient = 2.0 * difference / count;
                    sum += difference * difference;
                }
                sum / count
            }
            (loss, target) => panic!("{loss:?} cannot take {target:?}"),
        }
    }
}
