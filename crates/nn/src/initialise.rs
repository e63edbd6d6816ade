//! First values of a network's parameters.

use crate::layer::{Initial, Tensor};
use crate::network::Network;

pub use crate::split_mix::SplitMix;

/// A fresh parameter vector, distributed as PyTorch's defaults; the same seed gives the same values.
///
/// Not a source of noise: the generator (SplitMix64) is fast and reproducible, not cryptographic.
pub fn initial_parameters(network: &Network, seed: u64) -> Vec<f32> {
    fill(network, seed, |_, fan_in| 1.0 / (fan_in as f32).sqrt())
}

/// A fresh parameter vector that keeps the scale of signals through layers with bounded activations: weights of dense and
/// convolutional layers uniform in ±√(6 / (fan-in + fan-out)), their biases zero. Other layers start as PyTorch's.
///
/// # Source
/// Glorot and Bengio 2010, "Understanding the difficulty of training deep feedforward neural networks", equation 16; the
/// default of Keras.
pub fn glorot_parameters(network: &Network, seed: u64) -> Vec<f32> {
    fill(network, seed, |tensor, fan_in| match tensor.sizes[..] {
        [outputs, _, ref window @ ..] => {
            let fan_out = outputs * window.iter().product::<usize>();
            (6.0 / (fan_in + fan_out) as f32).sqrt()
        }
        _ => 0.0,
    })
}

/// `bound` says how far from zero a tensor of dense and convolutional layers may start, given its fan-in.
fn fill(network: &Network, seed: u64, bound: impl Fn(&Tensor, usize) -> f32) -> Vec<f32> {
    let mut generator = SplitMix::new(seed);
    let mut values = vec![0.0; network.parameter_len()];
    for parameter in network.parameters() {
        let slice = &mut values[parameter.range.clone()];
        match parameter.tensor.initial {
            Initial::FanIn(fan_in) => generator.fill_uniform(slice, bound(&parameter.tensor, fan_in)),
            Initial::Uniform(bound) => generator.fill_uniform(slice, bound),
            Initial::Normal => slice.iter_mut().for_each(|value| *value = generator.normal()),
            Initial::Constant(constant) => slice.fill(constant),
        }
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ModelDescription;

    #[test]
    fn glorot_weights_have_their_bound_and_variance_and_biases_are_zero() {
        let layers = "input = [8, 16, 16]\nlayers = [{ type = \"conv2d\", channels = 24, kernel = 3 }, { type = \
                      \"flatten\" }, { type = \"dense\", features = 10 }]";
        let network = ModelDescription::from_toml(layers).unwrap().network().unwrap();
        let values = glorot_parameters(&network, 3);
        assert_eq!(values, glorot_parameters(&network, 3));
        let features = 24 * 14 * 14;
        let fans = [Some(8 * 9 + 24 * 9), None, Some(features + 10), None];
        for (parameter, fans) in network.parameters().iter().zip(fans) {
            let values = &values[parameter.range.clone()];
            let Some(fans) = fans else {
                assert!(values.iter().all(|value| *value == 0.0), "{}", parameter.name);
                continue;
            };
            let bound = (6.0 / fans as f32).sqrt();
            assert!(values.iter().all(|value| value.abs() <= bound), "{}", parameter.name);
            // The mean square of n uniform values deviates from bound²/3 by 0.9/√n of it, five times that at most.
            let square = values.iter().map(|value| value * value).sum::<f32>() / values.len() as f32;
            let deviation = 5.0 * 0.9 / (values.len() as f32).sqrt();
            assert!((3.0 * square / (bound * bound) - 1.0).abs() < deviation, "{}", parameter.name);
        }
    }
}
