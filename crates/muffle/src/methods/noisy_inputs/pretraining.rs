//! The network of relevance, trained on the same records without privacy.

use muffle_nn::config::{LayerConfig, Piece};
use muffle_nn::initialise::initial_parameters;
use muffle_nn::layers::window::Extent;
use muffle_nn::models::model;
use muffle_nn::network::Network;
use muffle_nn::{Engine, Examples, Loss, Options, Purpose, Result, Shape, Target};
use std::ops::Range;
use std::sync::Arc;

/// Records of a step.
const BATCH: usize = 64;
/// Learning rate of plain gradient descent.
const RATE: f32 = 0.05;

/// LeNet-5 for digits, its border of zeros as padding, and the network itself for anything else: the papers name no other.
pub fn relevance_network(network: &Arc<Network>) -> Result<Arc<Network>> {
    if network.input() != Shape::image(1, 28, 28) {
        return Ok(network.clone());
    }
    let mut description = model("lenet5")?;
    description.input = network.input();
    if let Piece::Layer(LayerConfig::Conv2d { padding, .. }) = &mut description.layers[0].piece {
        *padding = Extent::Square(2);
    }
    Ok(Arc::new(description.network()?))
}

/// Some records in a row.
struct Part<'a> {
    examples: &'a dyn Examples,
    range: Range<usize>,
}

impl Examples for Part<'_> {
    fn len(&self) -> usize {
        self.range.len()
    }

    fn read(&self, index: usize, input: &mut [f32]) {
        self.examples.read(self.range.start + index, input);
    }

    fn target(&self, index: usize) -> Target<'_> {
        self.examples.target(self.range.start + index)
    }
}

/// Parameters after so many passes of plain gradient descent. **Not private.**
pub fn pretrained(network: &Arc<Network>, examples: &dyn Examples, epochs: f64) -> Result<Vec<f32>> {
    let mut parameters = initial_parameters(network, 0);
    let mut engine = Engine::new(network.clone(), Options::new(Purpose::Plain))?;
    let batches = examples.len().div_ceil(BATCH);
    for step in 0..(epochs * batches as f64).ceil() as usize {
        let first = step % batches * BATCH;
        let range = first..examples.len().min(first + BATCH);
        let part = Part { examples, range };
        engine.sum(&parameters, &part, Loss::SoftmaxCrossEntropy, 0)?;
        let rate = RATE / part.len() as f32;
        parameters.iter_mut().zip(engine.gradient()).for_each(|(value, slope)| *value -= rate * slope);
    }
    Ok(parameters)
}
