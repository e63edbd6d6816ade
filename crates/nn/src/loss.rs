//! Losses of one example, with their gradients at the network's output.

use crate::error::{Error, Result};
use crate::examples::Target;
use crate::shape::Shape;
use serde::{Deserialize, Serialize};

/// What training makes small.
///
/// In a recipe a loss is a word, `loss = "mean-squared-error"`, or a table where it has an option,
/// `loss = { huber = { delta = 1.0 } }`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Loss {
    /// `-ln softmax(output)[class]`.
    SoftmaxCrossEntropy,
    /// Sum over the outputs of `ln 2 + (1/2 - y) z + z²/8`, where `y` is one for the class and zero for others: the cross-entropy of
    /// each class by itself, up to the second degree at zero.
    ///
    /// # Source
    /// Zhang et al. 2012, "Functional mechanism: regression analysis under differential privacy", section 5.
    PolynomialCrossEntropy,
    /// Mean over the outputs of `ln(1 + e^z) - t z`: the cross-entropy of logistic outputs, on logits. Each output is a label
    /// of its own, which holds (one) or does not (zero).
    BinaryCrossEntropy,
    /// Mean over the outputs of `(output - target)²`.
    MeanSquaredError,
    /// Mean over the outputs of `d²/2` where the difference `d = output - target` is at most `delta`, and of
    /// `delta (|d| - delta/2)` beyond, so that an outlier pulls no harder than `delta`.
    ///
    /// # Source
    /// Huber 1964, "Robust estimation of a location parameter", section 3; PyTorch's `HuberLoss`.
    Huber {
        /// Where the square ends, positive.
        delta: f32,
    },
    /// Sum over the outputs whose target is not zero of `ln(1 + e^(-t z))`: the cross-entropy of logistic outputs, where a target
    /// says by its sign whether the output should hold, and by zero that nothing is said of it.
    Logistic,
    /// The inner product of the output with the target: the target is the gradient at the output, and a gradient that comes
    /// from elsewhere, from a second network say, is carried to parameters and inputs.
    Linear,
}

impl Loss {
    /// Checks that a network's output suits the loss and a target suits the output.
    pub fn check(&self, output: Shape, target: Target) -> Result<()> {
        let width = output.len();
        match (self, target) {
            (_, Target::None) => {
                Err(Error::Options("an example without a target has no loss to learn from".to_string()))
            }
            (Loss::Huber { delta }, _) if !(*delta > 0.0 && delta.is_finite()) => Err(Error::Options(
                format!("the Huber loss needs a delta above zero and finite, not {delta}"),
            )),
            (Loss::SoftmaxCrossEntropy | Loss::PolynomialCrossEntropy, Target::Class(class))
                if (class as usize) < width =>
            {
                Ok(())
            }
            (Loss::SoftmaxCrossEntropy | Loss::PolynomialCrossEntropy, Target::Class(class)) => {
                Err(Error::Options(format!(
                    "class {class} does not exist in a network with {width} outputs (classes count from 0)"
                )))
            }
            (Loss::SoftmaxCrossEntropy | Loss::PolynomialCrossEntropy, Target::Values(_)) => {
                Err(Error::Options("the cross-entropy of classes needs a class as target".to_string()))
            }
            (_, Target::Values(values)) if values.len() == width => Ok(()),
            (_, Target::Values(values)) => Err(Error::Options(format!(
                "a target of {} values does not fit a network with {width} outputs",
                values.len()
            ))),
            (_, Target::Class(_)) => {
                Err(Error::Options("this loss needs one target value for each output".to_string()))
            }
        }
    }

    /// Loss of one example; writes its gradient.
    ///
    /// # Panics
    /// If [`Loss::check`] would refuse the target.
    pub fn evaluate(&self, output: &[f32], target: Target, gradient: &mut [f32]) -> f32 {
        match (*self, target) {
            (Loss::SoftmaxCrossEntropy, Target::Class(class)) => {
                softmax_cross_entropy(output, class as usize, gradient)
            }
            (Loss::PolynomialCrossEntropy, Target::Class(class)) => {
                polynomial_cross_entropy(output, class as usize, gradient)
            }
            (Loss::BinaryCrossEntropy, Target::Values(targets)) => {
                binary_cross_entropy(output, targets, gradient)
            }
            (Loss::MeanSquaredError, Target::Values(targets)) => {
                mean_squared_error(output, targets, gradient)
            }
            (Loss::Huber { delta }, Target::Values(targets)) => huber(output, targets, delta, gradient),
            (Loss::Logistic, Target::Values(targets)) => logistic(output, targets, gradient),
            (Loss::Linear, Target::Values(targets)) => linear(output, targets, gradient),
            (loss, target) => panic!("{loss:?} cannot take {target:?}"),
        }
    }
}

fn softmax_cross_entropy(output: &[f32], class: usize, gradient: &mut [f32]) -> f32 {
    let largest = output.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let mut others = 0.0;
    for (index, (gradient, value)) in gradient.iter_mut().zip(output).enumerate() {
        *gradient = (value - largest).exp();
        others += if index == class { 0.0 } else { *gradient };
    }
    let own = gradient[class];
    let sum = others + own;
    gradient.iter_mut().for_each(|value| *value /= sum);
    // Not its probability less one: of a class that is all but certain, nothing but rounding would be left.
    gradient[class] = -others / sum;
    if own == 1.0 { others.ln_1p() } else { sum.ln() - (output[class] - largest) }
}

fn polynomial_cross_entropy(output: &[f32], class: usize, gradient: &mut [f32]) -> f32 {
    let mut sum = 0.0;
    for (index, (gradient, &logit)) in gradient.iter_mut().zip(output).enumerate() {
        let slope = if index == class { -0.5 } else { 0.5 };
        *gradient = slope + logit / 4.0;
        sum += std::f32::consts::LN_2 + logit * (slope + logit / 8.0);
    }
    sum
}

fn binary_cross_entropy(output: &[f32], targets: &[f32], gradient: &mut [f32]) -> f32 {
    let count = output.len() as f32;
    let mut sum = 0.0;
    for ((gradient, &logit), target) in gradient.iter_mut().zip(output).zip(targets) {
        // The less likely of the two answers, so that nothing cancels where the other is all but certain.
        let odds = (-logit.abs()).exp();
        let unlikely = odds / (1.0 + odds);
        let slope = if logit > 0.0 { (1.0 - target) - unlikely } else { unlikely - target };
        *gradient = slope / count;
        sum += logit.max(0.0) - logit * target + odds.ln_1p();
    }
    sum / count
}

fn mean_squared_error(output: &[f32], targets: &[f32], gradient: &mut [f32]) -> f32 {
    let count = output.len() as f32;
    let mut sum = 0.0;
    for ((gradient, value), target) in gradient.iter_mut().zip(output).zip(targets) {
        let difference = value - target;
        *gradient = 2.0 * difference / count;
        sum += difference * difference;
    }
    sum / count
}

fn huber(output: &[f32], targets: &[f32], delta: f32, gradient: &mut [f32]) -> f32 {
    let count = output.len() as f32;
    let mut sum = 0.0;
    for ((gradient, value), target) in gradient.iter_mut().zip(output).zip(targets) {
        let difference = value - target;
        let slope = difference.clamp(-delta, delta);
        *gradient = slope / count;
        // Both halves of the definition at once: inside, the slope is the difference itself.
        sum += slope * (difference - 0.5 * slope);
    }
    sum / count
}

fn logistic(output: &[f32], targets: &[f32], gradient: &mut [f32]) -> f32 {
    let mut sum = 0.0;
    for ((gradient, &logit), &target) in gradient.iter_mut().zip(output).zip(targets) {
        let margin = target * logit;
        // The less likely of the two answers, so that nothing cancels where the other is all but certain.
        let odds = (-margin.abs()).exp();
        let wrong = if margin > 0.0 { odds / (1.0 + odds) } else { 1.0 / (1.0 + odds) };
        *gradient = -target * wrong;
        sum += if target == 0.0 { 0.0 } else { (-margin).max(0.0) + odds.ln_1p() };
    }
    sum
}

fn linear(output: &[f32], targets: &[f32], gradient: &mut [f32]) -> f32 {
    gradient.copy_from_slice(targets);
    output.iter().zip(targets).map(|(value, target)| value * target).sum()
}
