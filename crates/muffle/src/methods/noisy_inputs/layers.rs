//! The first and the last layer, by which the noise is measured.

use crate::polynomial::Polynomial;
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
    /// The loss, of m classes and |h| features.
    pub loss: Polynomial,
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
        let outputs = network.output().len();
        Ok(Last { loss: Polynomial { outputs, features: weights.len() / outputs }, weights })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
        assert_eq!(Last::of(&last).unwrap().loss.sensitivity(), 1812.5);
        let recurrent = network("{ type = \"lstm\", features = 3 }, { type = \"relu\" }", "[4, 2]");
        assert!(First::of(&recurrent, true).err().unwrap().contains("begins with none"));
        assert!(Last::of(&recurrent).err().unwrap().contains("last dense layer"));
    }
}
