//! The last layers, by descent on a polynomial of the cross-entropy.

use super::super::choices::Stack;
use super::Scale;
use crate::State;
use crate::data::View;
use crate::error::Result;
use crate::ledger::Receipt;
use crate::mechanism::{Deviations, Gradients, Mechanism};
use crate::optimizer::{Optimizer, OptimizerChoice};
use crate::polynomial::Polynomial;
use muffle_nn::config::{Entry, LayerConfig};
use muffle_nn::initialise::initial_parameters;
use muffle_nn::layers::activation::Activation;
use muffle_nn::{Engine, Examples, Loss, ModelDescription, Options, Purpose, Shape, Target};
use std::ops::Range;
use std::sync::Arc;

/// Where the noise on coefficients begins, behind that of all layers.
const COEFFICIENTS: u64 = 1 << 41;

/// Parameters in a saved state.
const PARAMETERS: &str = "head";

/// The head in training.
pub struct Head {
    layers: Vec<Entry>,
    engine: Engine,
    optimizer: Box<dyn Optimizer>,
    polynomial: Polynomial,
    /// The weights of the last layer.
    last: Range<usize>,
    rate: f32,
    redrawn: bool,
    pub parameters: Vec<f32>,
}

impl Head {
    pub fn new(stack: &Stack, input: Shape, classes: usize, threads: Option<usize>) -> Result<Head> {
        let dense = |features| Entry::from(LayerConfig::Dense { features, bias: true });
        let mut layers: Vec<Entry> = vec![LayerConfig::Flatten.into()];
        layers
            .extend(stack.hidden.into_iter().flat_map(|hidden| [dense(hidden), Activation::Sigmoid.into()]));
        layers.push(dense(classes));
        let network = Arc::new(ModelDescription { input, layers: layers.clone() }.network()?);
        let features = stack.hidden.unwrap_or(input.len());
        let last = network.parameters()[network.parameters().len() - 2].range.clone();
        let parameters = initial_parameters(&network, 1);
        let adam = OptimizerChoice::Adam { betas: [0.9, 0.999], constant: 1e-8 };
        Ok(Head {
            layers,
            engine: Engine::new(network, Options { threads, ..Options::new(Purpose::PerExample) })?,
            optimizer: adam.optimizer(parameters.len()),
            // Of two classes one is enough: the paper's head is that of one output.
            polynomial: Polynomial { outputs: if classes == 2 { 1 } else { classes }, features },
            last,
            rate: stack.rate as f32,
            redrawn: stack.redrawn,
            parameters,
        })
    }

    pub fn layers(&self) -> &[Entry] {
        &self.layers
    }

    /// A step: the gradient of the polynomial, with noise on its coefficients in the last layer and none elsewhere.
    pub fn step(
        &mut self,
        visible: Vec<f32>,
        records: &View,
        mechanism: &Mechanism,
        scale: Scale,
        receipt: Receipt,
    ) -> Result<()> {
        let size = self.polynomial.sensitivity() / scale.epsilon;
        let noise = match self.redrawn {
            true => mechanism.published_laplace(&receipt),
            false => mechanism.published_once(),
        };
        let all = Polynomial { outputs: self.last.len() / self.polynomial.features, ..self.polynomial };
        let noise = all.noise(&self.parameters[self.last.clone()], &noise, COEFFICIENTS, size);
        let (engine, parameters) = (&mut self.engine, &self.parameters[..]);
        let examples = &Seen { visible, records };
        let loss = Loss::PolynomialCrossEntropy;
        let gradients = Gradients { engine, parameters, examples, loss, seed: 0 };
        let (mut sum, _) = gradients.weighed(&|_, factors| factors.fill(1.0))?;
        sum.add(self.last.start, &noise);
        let silent = Deviations::Tensors(vec![0.0; sum.tensors()]);
        let released = mechanism.publish(sum, &silent, receipt);
        self.optimizer.step(&mut self.parameters, &released, self.rate);
        Ok(())
    }

    pub fn state(&self) -> State {
        let mut state = self.optimizer.state();
        state.insert(PARAMETERS.to_string(), self.parameters.clone());
        state
    }

    pub fn restore(&mut self, state: &State) -> Result<()> {
        let Some(parameters) = state.get(PARAMETERS) else { return Ok(()) };
        self.parameters.clone_from(parameters);
        Ok(self.optimizer.restore(state)?)
    }
}

/// What frozen layers make of records, with their classes.
struct Seen<'a> {
    visible: Vec<f32>,
    records: &'a View<'a>,
}

impl Examples for Seen<'_> {
    fn len(&self) -> usize {
        self.records.len()
    }

    fn read(&self, index: usize, input: &mut [f32]) {
        input.copy_from_slice(&self.visible[index * input.len()..][..input.len()]);
    }

    fn target(&self, index: usize) -> Target<'_> {
        self.records.target(index)
    }
}
