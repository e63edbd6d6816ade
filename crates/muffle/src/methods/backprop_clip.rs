//! Clips inside backpropagation: what enters a layer, and the gradient that comes back to it.

use super::{About, Blueprint, BuildResult, Claim, Entry, Method, Mode, Parameter, Release, Step, Verdict};
use crate::clip::PerLayer;
use crate::mechanism::Rule;
use muffle_accounting::Event;
use muffle_nn::Network;
use muffle_nn::hooks::{Hooks, Place};
use muffle_nn::network::{Node, Operation};

pub static ENTRY: Entry = Entry {
    about: About {
        name: "backprop-clip",
        paper: "Stevens et al., Backpropagation clipping for deep learning with differential privacy",
        year: 2022,
        idea: "bound a layer's input and its upstream gradient, and their product bounds the gradient of its weights",
        verdict: Verdict::Conditional,
        modes: &[Mode::Sound],
        composes: "hooks around dense and convolutional layers without biases, per-layer clip, Gaussian noise, Adam",
        steps: "scale each layer's input to norm X at most and the gradient at its output to norm Y at most (convolutions: L2 over \
            channels of the L1 over positions); clip each of J weight tensors at X·Y, which only rounding can exceed; noise \
            σ√J·X·Y. Y follows from X and the threshold C = √J·X·Y. With ReLU and no biases a scaled input scales the logits \
            and nothing else, so that the model is used without the clips",
        guarantee: "J tensors clipped at X·Y have joint norm C, so each step is one Gaussian mechanism of multiplier σ (R5); the \
                bound is checked, not taken from the product",
        breaks: "the printed figures are for a fixed partition under zero_out; under replace_one ρ has to be four times as high",
        parameters: &[Parameter {
            name: "input",
            default: 1.0,
            meaning: "X, the largest norm of a layer's input; 0.1, 1, 5 or 10 in the paper",
        }],
        settings: &["optimizer={kind=\"adam\"}", "learning_rate=0.01"],
        settings_as_published: &[],
    },
    without_privacy: false,
    additive: true,
    needs_classes: false,
    claim: Claim::Step,
    build,
};

fn build(blueprint: &Blueprint) -> BuildResult {
    check_network(blueprint.network)?;
    let views = blueprint.views;
    if views > 1 {
        return Err(format!(
            "method backprop-clip clips single examples, not means of {views} views; set augmentation.views = 1"
        ));
    }
    Ok(Box::new(BackpropClip {
        threshold: blueprint.threshold()?,
        input: blueprint.parameters.positive("input")?,
        tensors: blueprint.network.parameters().len(),
    }))
}

/// What turns a scaled input into an output scaled alike, besides layers with weights and no biases.
const SCALING: [&str; 8] = [
    "relu",
    "leaky-relu",
    "max-pool",
    "average-pool",
    "global-average-pool",
    "flatten",
    "reshape",
    "upsample",
];

/// Only weights whose gradients are products of input and upstream gradient are bounded by bounds on both, and only a chain of layers
/// that scale can be used without the clips it was trained with.
fn check_network(network: &Network) -> Result<(), String> {
    let scales = |node: &&Node| !node.tensors.is_empty() || SCALING.contains(&node.kind());
    if let Some(node) = network.nodes().iter().find(|node| !scales(node)) {
        return Err(format!(
            "method backprop-clip scales what enters a layer, and `{}` ({}) makes more of that than scaled logits: the model could \
             not be used without the clips; take a chain of dense and conv2d layers with {}",
            node.name,
            node.kind(),
            SCALING.join(", ")
        ));
    }
    for node in network.nodes().iter().filter(|node| !node.tensors.is_empty()) {
        let bilinear = matches!(&node.operation, Operation::Layer(layer) if layer.is_bilinear());
        if !bilinear {
            return Err(format!(
                "method backprop-clip bounds the weights of dense and conv2d layers; `{}` is a {} layer with weights of \
                 another kind",
                node.name,
                node.kind()
            ));
        }
        let tensors = &network.parameters()[node.tensors.clone()];
        if let Some(bias) = tensors.iter().find(|parameter| parameter.tensor.name == "bias") {
            return Err(format!(
                "method backprop-clip has no bound for `{}`: the gradient of a bias does not shrink with the layer's \
                 input; set bias = false in every dense and conv2d layer",
                bias.name
            ));
        }
    }
    Ok(())
}

/// Bounds of a layer's input and of the gradient at its output.
struct Limits {
    input: f32,
    upstream: f32,
}

impl Hooks for Limits {
    fn input(&self, place: &Place, input: &mut [f32]) {
        if place.has_tensors {
            for example in input.chunks_exact_mut(place.input.len()) {
                shrink(example, norm(example.iter().copied()), self.input);
            }
        }
    }

    fn upstream(&self, place: &Place, _input: &[f32], _output: &[f32], upstream: &mut [f32]) {
        if place.has_tensors {
            for example in upstream.chunks_exact_mut(place.output.len()) {
                let norm = mixed_norm(example, place.output.channels());
                shrink(example, norm, self.upstream);
            }
        }
    }
}

fn norm(values: impl Iterator<Item = f32>) -> f32 {
    values.map(|value| f64::from(value).powi(2)).sum::<f64>().sqrt() as f32
}

/// L2 norm over channels of the L1 norms over positions.
///
/// # Source
/// ‖Σ g_p x_pᵀ‖ ≤ max ‖x_p‖ · √Σ_c (Σ_p |g_cp|)² for positions p and channels c (methods M11).
fn mixed_norm(values: &[f32], channels: usize) -> f32 {
    let sum = |channel: usize| values[channel..].iter().step_by(channels).map(|value| value.abs()).sum();
    norm((0..channels).map(sum))
}

fn shrink(values: &mut [f32], norm: f32, limit: f32) {
    if norm > limit {
        let factor = limit / norm;
        values.iter_mut().for_each(|value| *value *= factor);
    }
}

struct BackpropClip {
    threshold: f64,
    input: f64,
    tensors: usize,
}

impl Method for BackpropClip {
    fn event(&self, noise_multiplier: f64) -> Event {
        Event::gaussian(noise_multiplier)
    }

    fn release<'a>(&mut self, step: Step<'a, '_>) -> muffle_nn::Result<Release<'a>> {
        let threshold = step.clip_factor * self.threshold;
        let rule = PerLayer::even(threshold, self.tensors);
        let upstream = threshold / (self.tensors as f64).sqrt() / self.input;
        let hooks = Limits { input: self.input as f32, upstream: upstream as f32 };
        let (bounded, unprotected) = step.gradients.bounded(Rule::Hooked(&hooks, &rule))?;
        let gradient = step.mechanism.release(bounded, step.noise_multiplier, step.receipt);
        Ok(Release { gradient, unprotected })
    }

    fn hooked(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use muffle_nn::initialise::initial_parameters;
    use muffle_nn::{Batch, Engine, Loss, ModelDescription, Options, Purpose};
    use std::sync::{Arc, Mutex};

    /// Gradients of weights are far above one by themselves, and within X·Y behind the hooks, in every tensor.
    #[test]
    fn the_product_of_the_limits_bounds_every_tensor() {
        let model = r#"
            input = [2, 8, 8]
            layers = [
                { type = "conv2d", channels = 4, kernel = 3, padding = 1, bias = false }, { type = "relu" },
                { type = "conv2d", channels = 3, kernel = 3, stride = 2, bias = false }, { type = "relu" },
                { type = "flatten" }, { type = "dense", features = 5, bias = false },
            ]
        "#;
        let network = Arc::new(ModelDescription::from_toml(model).unwrap().network().unwrap());
        assert_eq!(check_network(&network), Ok(()));
        let parameters: Vec<f32> = initial_parameters(&network, 1).iter().map(|value| 3.0 * value).collect();
        let inputs: Vec<f32> = (0..6 * 128).map(|place| ((place * 37 % 101) as f32 - 50.0) / 5.0).collect();
        let batch = Batch::new(inputs, vec![0, 1, 2, 3, 4, 0]);
        let options = Options { hooked: true, ..Options::new(Purpose::PerExample) };
        let mut engine = Engine::new(network, options).unwrap();
        let mut largest = |limits: Limits| {
            let norms = Mutex::new(vec![0.0f32; 3]);
            let look = |squared_norms: &[f64], factors: &mut [f32]| {
                let mut norms = norms.lock().unwrap();
                norms
                    .iter_mut()
                    .zip(squared_norms)
                    .for_each(|(norm, own)| *norm = norm.max(own.sqrt() as f32));
                factors.fill(1.0);
            };
            let loss = Loss::SoftmaxCrossEntropy;
            engine.hooked_sum(&parameters, &batch, loss, 0, &limits, &look).unwrap();
            norms.into_inner().unwrap()
        };
        let free = largest(Limits { input: f32::INFINITY, upstream: f32::INFINITY });
        assert!(free.iter().all(|norm| *norm > 1.0), "{free:?}");
        for (input, upstream) in [(1.0, 0.1), (5.0, 0.01), (0.1, 0.001)] {
            let bounded = largest(Limits { input, upstream });
            let bound = input * upstream;
            assert!(
                bounded.iter().all(|norm| *norm <= 1.0001 * bound && *norm > 0.01 * bound),
                "{bounded:?}"
            );
        }
    }

    /// A hyperbolic tangent of a scaled input is no scaled tangent, and a sum of what is scaled and what is not neither.
    #[test]
    fn networks_that_cannot_be_used_without_the_clips_are_refused() {
        for layers in [
            r#"{ type = "dense", features = 4, bias = false }, { type = "tanh" }"#,
            r#"{ type = "residual", layers = [{ type = "dense", features = 4, bias = false }] }"#,
        ] {
            let model = format!(
                "input = [4]\nlayers = [{layers}, {{ type = \"dense\", features = 2, bias = false }}]"
            );
            let network = ModelDescription::from_toml(&model).unwrap().network().unwrap();
            let message = check_network(&network).unwrap_err();
            assert!(message.contains("without the clips"), "{message}");
        }
    }

    #[test]
    fn norms_by_hand() {
        // Two positions of two channels: sums 1 + 2 = 3 and 4 + 0 = 4.
        assert_eq!(mixed_norm(&[1.0, -4.0, -2.0, 0.0], 2), 5.0);
        // One position: the plain norm.
        assert_eq!(mixed_norm(&[3.0, -4.0], 2), 5.0);
        let mut values = [3.0, -4.0];
        shrink(&mut values, 5.0, 2.5);
        assert_eq!(values, [1.5, -2.0]);
    }
}
