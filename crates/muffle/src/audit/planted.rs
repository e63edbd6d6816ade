//! A network in which a record chooses its own gradient.

use muffle_nn::{Batch, Network};

/// Two dense layers without biases, at parameters where the outputs are zero whatever the input.
///
/// The first hidden value copies the first input and is read by nobody; the second is read by both outputs with weights 1 and
/// −1 and always zero. So a record of class 0 whose first input is v and whose others are zero has gradient −v at one
/// weight of the first layer and ∓v/2 at two of the second, and nothing anywhere else: its norm is |v|·√1.5, a zero record
/// has a zero gradient, and class 1 turns the sign.
pub struct Planted {
    width: usize,
}

impl Planted {
    /// With inputs of this many values: 2·width + 4 parameters.
    ///
    /// # Panics
    /// If the width is zero.
    pub fn new(width: usize) -> Planted {
        assert!(width > 0, "a record needs a value");
        Planted { width }
    }

    /// As in a recipe.
    pub fn model(&self) -> String {
        let width = self.width;
        format!(
            "{{ input = [{width}], layers = [{{ type = \"dense\", features = 2, bias = false }}, {{ type = \"dense\", \
             features = 2, bias = false }}] }}"
        )
    }

    /// Where every output is zero.
    pub fn parameters(&self, network: &Network) -> Vec<f32> {
        let mut parameters = vec![0.0; network.parameter_len()];
        parameters[0] = 1.0;
        let second = network.parameters()[1].range.start;
        (parameters[second + 1], parameters[second + 3]) = (1.0, -1.0);
        parameters
    }

    /// Records with these first inputs and classes; a first input that is not finite makes a null record.
    pub fn batch(&self, records: &[(f32, u32)]) -> Batch {
        let mut inputs = vec![0.0; self.width * records.len()];
        for (input, (value, _)) in inputs.chunks_mut(self.width).zip(records) {
            input[0] = *value;
        }
        Batch::new(inputs, records.iter().map(|record| record.1).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use muffle_nn::{Engine, Loss, ModelDescription, Options, Purpose};
    use std::sync::Arc;

    #[test]
    fn gradients_are_those_that_were_planted() {
        let planted = Planted::new(5);
        let table: toml::Table = format!("model = {}", planted.model()).parse().unwrap();
        let description =
            ModelDescription::from_toml(&table["model"].as_table().unwrap().to_string()).unwrap();
        let network = Arc::new(description.network().unwrap());
        let parameters = planted.parameters(&network);
        let mut engine = Engine::new(network, Options::new(Purpose::Plain)).unwrap();
        let mut gradient = |records: &[(f32, u32)]| {
            engine.sum(&parameters, &planted.batch(records), Loss::SoftmaxCrossEntropy, 0).unwrap();
            engine.gradient().to_vec()
        };
        let mut expected = [0.0; 14];
        (expected[5], expected[10], expected[12]) = (-6.0, -3.0, 3.0);
        assert_eq!(gradient(&[(6.0, 0)]), expected);
        assert_eq!(gradient(&[(-6.0, 1)]), expected);
        assert_eq!(gradient(&[(6.0, 0), (6.0, 1), (0.0, 0), (f32::NAN, 1)]), [0.0; 14]);
    }
}
