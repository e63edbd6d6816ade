//! Two classifiers side by side, fused by how decided each of them is.

use crate::error::Result;
use crate::layer::{Backward, Forward, Layer, Pass};
use crate::layers::Context;
use crate::shape::Shape;

/// Takes the logits of two networks and gives the logarithms of Y = w₁p₁ + w₂p₂, where p are their class probabilities and the
/// weights are in proportion to the variance of each: a network that prefers one class counts for more than one that wavers.
///
/// Since Y adds up to one, the softmax of the output is Y itself: losses and predictions need not know of the fusion.
///
/// `separate` trains each network by a loss of its own and fuses them only in use. It is for softmax cross-entropy, whose
/// gradient at the output is Y less the true class, so that the gradient of either network, p less the true class, follows
/// from it.
///
/// # Source
/// Ma, Kong, Huang 2023, "Image classification based on layered gradient clipping under differential privacy", adaptive
/// weighted fusion: V = (1/k)Σ(p − p̄)², w₁ = V₁/(V₁ + V₂).
pub struct Fusion {
    classes: usize,
    separate: bool,
}

/// Added to variances, so that two undecided networks count the same.
const SMALL: f32 = 1e-12;

/// What becomes of one example.
struct Fused {
    weights: [f32; 2],
    /// Sum of the variances.
    variances: f32,
}

impl Fusion {
    /// A layer for two networks with the same number of classes, side by side.
    pub fn new(context: &Context, separate: bool) -> Result<Fusion> {
        match context.input {
            Shape::Vector(features) if features % 2 == 0 && features > 2 => {
                Ok(Fusion { classes: features / 2, separate })
            }
            _ => context.refuse(
                "it takes the logits of two networks with the same classes, side by side: a `concat` of two branches that \
                 each end in a `dense` layer",
            ),
        }
    }

    /// Writes the logarithms of both networks' probabilities.
    fn fuse(&self, input: &[f32], logarithms: &mut [f32]) -> Fused {
        let mean = 1.0 / self.classes as f32;
        let mut variances = [0.0f32; 2];
        let rows = input.chunks_exact(self.classes).zip(logarithms.chunks_exact_mut(self.classes));
        for ((logits, logarithms), variance) in rows.zip(&mut variances) {
            let largest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            let sum: f32 = logits.iter().map(|logit| (logit - largest).exp()).sum();
            let shift = largest + sum.ln();
            let mut total = 0.0;
            for (logarithm, logit) in logarithms.iter_mut().zip(logits) {
                *logarithm = logit - shift;
                total += (logarithm.exp() - mean).powi(2);
            }
            *variance = total * mean + SMALL;
        }
        let sum = variances[0] + variances[1];
        Fused { weights: variances.map(|variance| variance / sum), variances: sum }
    }
}

impl Layer for Fusion {
    fn kind(&self) -> &'static str {
        "fusion"
    }

    fn output(&self) -> Shape {
        Shape::Vector(self.classes)
    }

    fn reads_output(&self) -> bool {
        true
    }

    fn scratch_len(&self, _pass: &Pass) -> usize {
        2 * self.classes
    }

    fn forward(&self, Forward { input, output, memory, .. }: Forward) {
        let classes = self.classes;
        let logarithms = &mut memory.scratch[..2 * classes];
        for (input, output) in input.chunks_exact(2 * classes).zip(output.chunks_exact_mut(classes)) {
            let [first, second] = self.fuse(input, logarithms).weights.map(f32::ln);
            let (one, other) = logarithms.split_at(classes);
            for ((output, one), other) in output.iter_mut().zip(one).zip(other) {
                // In logarithms: a probability may be too small for a number of its own.
                let (one, other) = (first + one, second + other);
                *output = one.max(other) + (-(one - other).abs()).exp().ln_1p();
            }
        }
    }

    fn backward(&self, Backward { values, upstream, downstream, memory, .. }: Backward) {
        let Some(downstream) = downstream else { return };
        let classes = self.classes;
        let logarithms = &mut memory.scratch[..2 * classes];
        let outputs = values.output.chunks_exact(classes).zip(upstream.chunks_exact(classes));
        let inputs = values.input.chunks_exact(2 * classes).zip(downstream.chunks_exact_mut(2 * classes));
        for ((input, downstream), (output, upstream)) in inputs.zip(outputs) {
            let fused = self.fuse(input, logarithms);
            match self.separate {
                true => separate(logarithms, output, upstream, downstream),
                false => joint(&fused, logarithms, output, upstream, downstream),
            }
        }
    }
}

/// Each network's probabilities less the true class, which is Y less the upstream gradient.
fn separate(logarithms: &[f32], output: &[f32], upstream: &[f32], downstream: &mut [f32]) {
    let classes = output.len();
    for (place, (downstream, logarithm)) in downstream.iter_mut().zip(logarithms).enumerate() {
        let class = place % classes;
        *downstream = logarithm.exp() - output[class].exp() + upstream[class];
    }
}

/// The gradient through probabilities and weights.
fn joint(fused: &Fused, logarithms: &[f32], output: &[f32], upstream: &[f32], downstream: &mut [f32]) {
    let classes = output.len();
    let mean = 1.0 / classes as f32;
    let rows = || logarithms.chunks_exact(classes);
    // What one more unit of the first weight, and one less of the second, does: Σ u·(p₁ − p₂)/Y.
    let mut slope = 0.0;
    for (logarithms, sign) in rows().zip([1.0, -1.0]) {
        for ((logarithm, output), upstream) in logarithms.iter().zip(output).zip(upstream) {
            slope += sign * upstream * (logarithm - output).exp();
        }
    }
    let [first, second] = fused.weights;
    let of_variance = [slope * second / fused.variances, -slope * first / fused.variances];
    let parts = rows().zip(downstream.chunks_exact_mut(classes)).zip(fused.weights).zip(of_variance);
    for (((logarithms, downstream), weight), of_variance) in parts {
        let mut sum = 0.0;
        for (class, (downstream, logarithm)) in downstream.iter_mut().zip(logarithms).enumerate() {
            let probability = logarithm.exp();
            let through_sum = upstream[class] * weight * (logarithm - output[class]).exp();
            let through_weight = 2.0 * mean * of_variance * probability * (probability - mean);
            *downstream = through_sum + through_weight;
            sum += *downstream;
        }
        // Back through the softmax.
        for (downstream, logarithm) in downstream.iter_mut().zip(logarithms) {
            *downstream -= logarithm.exp() * sum;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::examples::Target;
    use crate::layer::{Memory, Purpose, Values, Weights};
    use crate::loss::Loss;

    const PASS: Pass =
        Pass { batch: 1, purpose: Purpose::Plain, seed: 0, first_example: 0, keys: &[], tokens: &[] };
    const NOTHING: Weights = Weights { parameters: &[], prepared: &[] };

    fn layer(features: usize, separate: bool) -> Result<Fusion> {
        let context = Context {
            name: "fusion".to_string(),
            kind: "fusion",
            input: Shape::Vector(features),
            ends: Default::default(),
        };
        Fusion::new(&context, separate)
    }

    fn outputs(layer: &Fusion, input: &[f32]) -> Vec<f32> {
        let (mut output, mut scratch) = (vec![0.0; layer.classes], vec![f32::NAN; 2 * layer.classes]);
        let memory = Memory { tape: &mut [], scratch: &mut scratch };
        layer.forward(Forward { weights: NOTHING, pass: &PASS, input, output: &mut output, memory });
        output
    }

    fn gradient(layer: &Fusion, input: &[f32], class: u32) -> Vec<f32> {
        let output = outputs(layer, input);
        let (mut upstream, mut downstream) = (vec![0.0; layer.classes], vec![0.0; input.len()]);
        Loss::SoftmaxCrossEntropy.evaluate(&output, Target::Class(class), &mut upstream);
        let mut scratch = vec![f32::NAN; 2 * layer.classes];
        layer.backward(Backward {
            weights: NOTHING,
            pass: &PASS,
            values: Values { input, output: &output },
            upstream: &upstream,
            downstream: Some(&mut downstream),
            memory: Memory { tape: &mut [], scratch: &mut scratch },
        });
        downstream
    }

    /// Probabilities (1/2, 1/4, 1/4) and (8, 1, 1)/10: variances 1/72 and 98/900, so that the weights are 12.5 and 98
    /// of 110.5.
    #[test]
    fn the_more_decided_network_counts_for_more() {
        let input = [2f32.ln(), 0.0, 0.0, 8f32.ln() + 3.0, 3.0, 3.0];
        let (first, second) = (12.5 / 110.5, 98.0 / 110.5);
        let expected = [first * 0.5 + second * 0.8, first * 0.25 + second * 0.1, first * 0.25 + second * 0.1];
        for (output, expected) in outputs(&layer(6, false).unwrap(), &input).iter().zip(expected) {
            assert!((f64::from(output.exp()) - expected).abs() < 1e-6, "{} for {expected}", output.exp());
        }
        // Two undecided networks count the same.
        let undecided = outputs(&layer(6, false).unwrap(), &[0.0; 6]);
        assert!(undecided.iter().all(|output| (output.exp() - 1.0 / 3.0).abs() < 1e-6));
    }

    #[test]
    fn extreme_logits_stay_finite() {
        let layer = layer(6, false).unwrap();
        let input = [300.0, -300.0, 0.0, -200.0, 250.0, 1.0];
        assert!(outputs(&layer, &input).iter().all(|output| output.is_finite()));
        for class in 0..2 {
            assert!(gradient(&layer, &input, class).iter().all(|value| value.is_finite()), "class {class}");
        }
    }

    /// Central differences of the loss in double precision, by the formulas of the paper.
    #[test]
    fn the_joint_gradient_is_that_of_the_loss() {
        fn loss(input: &[f64], class: usize) -> f64 {
            let half = input.len() / 2;
            let softmax = |logits: &[f64]| -> Vec<f64> {
                let sum: f64 = logits.iter().map(|logit| logit.exp()).sum();
                logits.iter().map(|logit| logit.exp() / sum).collect()
            };
            let variance = |p: &[f64]| {
                let mean = p.iter().sum::<f64>() / p.len() as f64;
                p.iter().map(|p| (p - mean).powi(2)).sum::<f64>() / p.len() as f64
            };
            let (one, other) = (softmax(&input[..half]), softmax(&input[half..]));
            let (first, second) = (variance(&one), variance(&other));
            -((first * one[class] + second * other[class]) / (first + second)).ln()
        }
        let layer = layer(10, false).unwrap();
        let input = [0.3, -0.8, 1.1, 0.2, 0.0, -0.4, 0.9, 0.6, -1.2, 0.1];
        for class in 0..5 {
            let single: Vec<f32> = input.iter().map(|value| *value as f32).collect();
            let found = gradient(&layer, &single, class);
            for (place, found) in found.iter().enumerate() {
                let at = |shift: f64| {
                    let mut moved = input;
                    moved[place] += shift;
                    loss(&moved, class as usize)
                };
                let expected = (at(1e-5) - at(-1e-5)) / 2e-5;
                assert!(
                    (f64::from(*found) - expected).abs() < 1e-5,
                    "{class}, {place}: {found} for {expected}"
                );
            }
        }
    }

    #[test]
    fn separate_networks_have_the_gradients_of_their_own_losses() {
        let layer = layer(6, true).unwrap();
        let input = [0.3, -0.8, 1.1, 0.9, 0.6, -1.2];
        for class in 0..3 {
            let mut expected = vec![0.0; 6];
            for (logits, expected) in input.chunks_exact(3).zip(expected.chunks_exact_mut(3)) {
                Loss::SoftmaxCrossEntropy.evaluate(logits, Target::Class(class), expected);
            }
            for (found, expected) in gradient(&layer, &input, class).iter().zip(expected) {
                assert!((found - expected).abs() < 1e-6, "{found} for {expected}");
            }
        }
    }

    #[test]
    fn what_is_not_two_networks_is_refused() {
        for features in [2, 7] {
            let message = layer(features, false).err().unwrap().to_string();
            assert!(message.contains("logits of two networks"), "{message}");
        }
    }
}
