//! A network in which a record chooses its own gradient.

use muffle_nn::config::{Entry, LayerConfig};
use muffle_nn::layers::activation::Activation;
use muffle_nn::{Batch, ModelDescription, Network, Shape};

/// Two dense layers without biases, at parameters where records choose their gradients or their relevance.
///
/// The first hidden value copies the first input and is read by nobody; the second copies the second input and is read by both
/// outputs with weights 1 and −1. So a record of class 0 whose first input is v and whose others are zero has gradient −v at
/// one weight of the first layer and ∓v/2 at two of the second, and nothing anywhere else: its norm is |v|·√1.5, a zero
/// record has a zero gradient, and class 1 turns the sign. A record of class 0 with a large second input is classified with
/// certainty: it has no gradient, and all relevance in its record lies on the second hidden value and the first output.
pub struct Planted {
    width: usize,
    /// Whether the first layer has biases, at weights of next to nothing.
    biases: bool,
    /// Whether there is a bounded activation between the layers.
    bounded: bool,
}

/// Weights that no input or bias gets past.
const NEXT_TO_NOTHING: f32 = 1e-6;

impl Planted {
    /// With inputs of this many values: 2·width + 4 parameters.
    ///
    /// # Panics
    /// If the width is less than two.
    pub fn new(width: usize) -> Planted {
        assert!(width > 1, "a record needs two values");
        Planted { width, biases: false, bounded: false }
    }

    /// The same with biases in the first layer, no weights before them and next to none behind: the gradient of the biases shows how many
    /// records there are of each class, whatever their inputs are.
    pub fn with_biases(width: usize) -> Planted {
        Planted { biases: true, ..Planted::new(width) }
    }

    /// The same with a bounded activation between its layers, through which records no longer choose their gradients: to ask a method
    /// about its step that is about such networks.
    pub fn with_bounded_activation(width: usize) -> Planted {
        Planted { bounded: true, ..Planted::new(width) }
    }

    /// The network.
    pub fn model(&self) -> ModelDescription {
        let layer = |bias: bool| Entry::from(LayerConfig::Dense { features: 2, bias });
        let between = self.bounded.then(|| Entry::from(Activation::Tanh));
        let layers = [Some(layer(self.biases)), between, Some(layer(false))];
        ModelDescription { input: Shape::Vector(self.width), layers: layers.into_iter().flatten().collect() }
    }

    /// The copies, and the weights of the outputs.
    pub fn parameters(&self, network: &Network) -> Vec<f32> {
        let mut parameters = vec![0.0; network.parameter_len()];
        if self.biases {
            let second = parameters.len() - 4;
            (parameters[second + 1], parameters[second + 3]) = (NEXT_TO_NOTHING, -NEXT_TO_NOTHING);
            return parameters;
        }
        (parameters[0], parameters[self.width + 1]) = (1.0, 1.0);
        let second = network.parameters()[1].range.start;
        (parameters[second + 1], parameters[second + 3]) = (1.0, -1.0);
        parameters
    }

    /// A batch of these records.
    pub fn batch(&self, records: &[Record]) -> Batch {
        let mut inputs = vec![0.0; self.width * records.len()];
        for (input, record) in inputs.chunks_mut(self.width).zip(records) {
            input[..2].copy_from_slice(&record.inputs);
        }
        Batch::new(inputs, records.iter().map(|record| record.class).collect())
    }
}

/// A record of a [`Planted`] network.
#[derive(Clone, Copy, Debug)]
pub struct Record {
    /// Its first two inputs; one that is not finite makes a null record.
    pub inputs: [f32; 2],
    /// Its class.
    pub class: u32,
}

impl Record {
    /// A record of class 0 with this first input, which decides its gradient.
    pub fn with_gradient(value: f32) -> Record {
        Record { inputs: [value, 0.0], class: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use muffle_nn::{Engine, Loss, Options, Purpose};
    use std::sync::Arc;

    #[test]
    fn gradients_are_those_that_were_planted() {
        let planted = Planted::new(5);
        let network = Arc::new(planted.model().network().unwrap());
        let parameters = planted.parameters(&network);
        let mut engine = Engine::new(network, Options::new(Purpose::Plain)).unwrap();
        let record = |value, class| Record { inputs: [value, 0.0], class };
        let mut gradient = |records: &[Record]| {
            engine.sum(&parameters, &planted.batch(records), Loss::SoftmaxCrossEntropy, 0).unwrap();
            engine.gradient().to_vec()
        };
        let mut expected = [0.0; 14];
        (expected[5], expected[10], expected[12]) = (-6.0, -3.0, 3.0);
        assert_eq!(gradient(&[record(6.0, 0)]), expected);
        assert_eq!(gradient(&[record(-6.0, 1)]), expected);
        let balanced = [record(6.0, 0), record(6.0, 1), record(0.0, 0), record(f32::NAN, 1)];
        assert_eq!(gradient(&balanced), [0.0; 14]);
        let certain = Record { inputs: [0.0, 1e3], class: 0 };
        assert_eq!(gradient(&[certain]), [0.0; 14]);
    }
}
