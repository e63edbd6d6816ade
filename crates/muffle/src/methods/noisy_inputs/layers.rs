//! The first and the last layer, by which the noise is measured.

use crate::mechanism::LaplaceNoise;
use muffle_nn::network::{Network, Node};
use std::ops::Range;

/// The first layer with weights.
pub(super) struct First {
    /// Its bias, if it has one.
    pub bias: Option<Range<usize>>,
    /// Δ_f.
    pub sensitivity: f64,
}

impl First {
    /// Δ_f = 2·|h₀|·d for |h₀| outputs and d inputs; or, by `patch`, 2·positions·patch: what one record adds to the sums of one
    /// channel.
    pub fn of(network: &Network, patch: bool) -> Result<First, String> {
        let node = network.nodes().iter().find(|node| !node.tensors.is_empty() && node.kind() != "scale");
        let node = node.filter(|node| ["dense", "conv2d", "conv1d"].contains(&node.kind())).ok_or(
            "noise on inputs is measured by a first dense or convolutional layer, and this network begins with none",
        )?;
        let tensors = &network.parameters()[node.tensors.clone()];
        let output = network.edges()[node.output];
        let positions = (output.len() / output.channels()) as f64;
        let weights = (tensors[0].range.len() / output.channels()) as f64;
        let sensitivity = match patch {
            true => 2.0 * positions * weights,
            false => 2.0 * output.len() as f64 * network.input().len() as f64,
        };
        Ok(First { bias: tensors.get(1).map(|tensor| tensor.range.clone()), sensitivity })
    }
}

/// The last layer, whose inputs are the features of the polynomial loss.
pub(super) struct Last {
    /// Its weights, a row for each class.
    pub weights: Range<usize>,
    /// m.
    pub classes: usize,
    /// |h|.
    pub features: usize,
}

impl Last {
    /// Of a network that ends in a dense layer.
    pub fn of(network: &Network) -> Result<Last, String> {
        let last = |node: &&Node| node.output == network.output_edge() && node.kind() == "dense";
        let node = network
            .nodes()
            .iter()
            .find(last)
            .ok_or("the loss is a polynomial of a last dense layer, and this network has none")?;
        let weights = network.parameters()[node.tensors.start].range.clone();
        let classes = network.output().len();
        Ok(Last { features: weights.len() / classes, weights, classes })
    }

    /// Δ_F = m(|h| + |h|²/4).
    pub fn sensitivity(&self) -> f64 {
        let features = self.features as f64;
        self.classes as f64 * (features + features * features / 4.0)
    }

    /// What noise on the coefficients adds to the gradient of the weights: φ̄ = φ + n and Φ̄ = Φ + N give n + (N + Nᵀ)w for the
    /// weights w of each class.
    pub fn noise(&self, weights: &[f32], noise: &LaplaceNoise, first: u64, scale: f64) -> Vec<f32> {
        let (features, mut next) = (self.features, first);
        let mut draw = |count: usize| {
            let mut values = vec![0.0; count];
            noise.fill(next, scale, &mut values);
            next += count as u64;
            values
        };
        let mut gradient = Vec::with_capacity(weights.len());
        for weights in weights.chunks_exact(features) {
            let (linear, square) = (draw(features), draw(features * features));
            for row in 0..features {
                let both = |column: usize| square[row * features + column] + square[column * features + row];
                let product: f64 = weights
                    .iter()
                    .enumerate()
                    .map(|(column, weight)| both(column) * f64::from(*weight))
                    .sum();
                gradient.push((linear[row] + product) as f32);
            }
        }
        gradient
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mechanism::Mechanism;
    use crate::noise::Key;
    use muffle_nn::ModelDescription;

    fn network(layers: &str, input: &str) -> Network {
        ModelDescription::from_toml(&format!("input = {input}\nlayers = [{layers}]"))
            .unwrap()
            .network()
            .unwrap()
    }

    /// 28 x 28 pixels and 16 channels of 14 x 14 positions with a patch of 64; and the released code's 2·14·14·25 = 9800 of one
    /// channel of patches of 25.
    #[test]
    fn sensitivities_by_hand() {
        let dense = "{ type = \"flatten\" }, { type = \"dense\", features = 10 }";
        let table = network(
            &format!("{{ type = \"conv2d\", channels = 16, kernel = 8, stride = 2, padding = 3 }}, {dense}"),
            "[1, 28, 28]",
        );
        assert_eq!(First::of(&table, false).unwrap().sensitivity, 2.0 * (14.0 * 14.0 * 16.0) * 784.0);
        assert_eq!(First::of(&table, true).unwrap().sensitivity, 2.0 * 196.0 * 64.0);
        assert_eq!(First::of(&table, true).unwrap().bias.unwrap().len(), 16);
        let code = network(
            &format!("{{ type = \"conv2d\", channels = 32, kernel = 5, stride = 2, padding = 2 }}, {dense}"),
            "[1, 28, 28]",
        );
        assert_eq!(First::of(&code, true).unwrap().sensitivity, 9800.0);
        let flat = network("{ type = \"dense\", features = 3, bias = false }", "[5]");
        assert_eq!(
            (First::of(&flat, false).unwrap().sensitivity, First::of(&flat, true).unwrap().sensitivity),
            (30.0, 10.0)
        );
        assert!(First::of(&flat, true).unwrap().bias.is_none());
        // Ten classes of 25 features: 10·(25 + 156.25).
        let last = network("{ type = \"dense\", features = 25 }, { type = \"dense\", features = 10 }", "[5]");
        assert_eq!(Last::of(&last).unwrap().sensitivity(), 1812.5);
        let recurrent = network("{ type = \"lstm\", features = 3 }, { type = \"relu\" }", "[4, 2]");
        assert!(First::of(&recurrent, true).err().unwrap().contains("begins with none"));
        assert!(Last::of(&recurrent).err().unwrap().contains("last dense layer"));
    }

    /// Two classes of two features: the derivative of n·w + wᵀNw.
    #[test]
    fn noise_on_coefficients_by_hand() {
        let noise = Mechanism::new(Key::from_seed(3), 1.0).published_once();
        let mut draws = vec![0.0; 7 + 12];
        noise.fill(0, 2.0, &mut draws);
        let last = Last { weights: 0..4, classes: 2, features: 2 };
        let found = last.noise(&[1.0, -2.0, 3.0, 0.5], &noise, 7, 2.0);
        let class = |draws: &[f64], [v, w]: [f64; 2]| {
            let [a, b, p, q, r, s] = *draws else { unreachable!() };
            [a + 2.0 * p * v + (q + r) * w, b + (q + r) * v + 2.0 * s * w]
        };
        let expected = [class(&draws[7..13], [1.0, -2.0]), class(&draws[13..], [3.0, 0.5])].concat();
        let near = |(found, expected): (&f32, &f64)| {
            (f64::from(*found) - expected).abs() < 1e-5 * expected.abs().max(1.0)
        };
        assert!(found.len() == 4 && found.iter().zip(&expected).all(near), "{found:?} {expected:?}");
    }
}
