//! A test of the user's own network before the first step.

use crate::error::{Error, Result};
use muffle_nn::initialise::SplitMix;
use muffle_nn::layer::Role;
use muffle_nn::network::Parameter;
use muffle_nn::{Engine, Examples, Loss, Network, Options, Purpose, Target};
use std::sync::{Arc, Mutex};

/// Examples in the test. Made up: no record is read.
const EXAMPLES: usize = 4;
/// Largest difference between two ways to the same number in single precision, relative to the numbers on the way.
const TOLERANCE: f64 = 1e-3;

/// Checks on made-up inputs that the gradient of one example does not depend on the others, that its norms are at least those
/// of its gradient, and that every trainable tensor receives a gradient.
///
/// # Guarantee
/// A network that passes gives per-example gradients (R4) at these parameters, for the inputs tried; the error names the
/// tensor that fails.
pub fn self_check(network: &Arc<Network>, parameters: &[f32], loss: Loss) -> Result<()> {
    // One thread and one micro-batch: the examples meet wherever they can.
    let options =
        Options { threads: Some(1), micro_batch: Some(EXAMPLES), ..Options::new(Purpose::PerExample) };
    let mut trial = Trial { engine: Engine::new(network.clone(), options)?, parameters, loss };
    let mut generator = SplitMix::new(1);
    let mut inputs = || made_up_inputs(network, EXAMPLES, &mut generator);
    let (one, other) = (inputs(), inputs());
    let width = network.input().len();
    let (alone, norms) = trial.sum(&one[..width], 0)?;
    for (parameter, squared_norm) in network.parameters().iter().zip(&norms[0]) {
        let exact = squared_norm_of(&alone, parameter);
        // It may be smaller: terms that cancel have more told of them than is left.
        if exact - squared_norm > TOLERANCE * exact {
            return Err(failed(parameter, "has a larger norm than was computed for clipping"));
        }
    }
    for company in [&one[width..], &other[width..]] {
        let (together, norms_together) = trial.sum(&[&one[..width], company].concat(), 0)?;
        let (without, _) = trial.sum(company, 1)?;
        let difference: Vec<f32> =
            (0..alone.len()).map(|place| together[place] - without[place] - alone[place]).collect();
        for (tensor, parameter) in network.parameters().iter().enumerate() {
            let scale = squared_norm_of(&together, parameter).max(squared_norm_of(&without, parameter));
            let same_norm = (norms_together[0][tensor] - norms[0][tensor]).abs()
                <= TOLERANCE * norms[0][tensor].max(norms_together[0][tensor]);
            if squared_norm_of(&difference, parameter) > TOLERANCE.powi(2) * scale || !same_norm {
                return Err(failed(parameter, "changes with the other examples of its batch"));
            }
        }
    }
    let (first, _) = trial.sum(&one, 0)?;
    let (second, _) = trial.sum(&other, 0)?;
    // Norms are no evidence here: they may be too large by a rounding.
    let reached = |parameter: &Parameter| {
        first[parameter.range.clone()]
            .iter()
            .chain(&second[parameter.range.clone()])
            .any(|value| *value != 0.0)
    };
    for parameter in network.parameters() {
        if parameter.tensor.role == Role::Trainable && !reached(parameter) {
            return Err(Error::SelfCheck(format!(
                "no gradient reaches `{}`: its layer does not influence the output, or an activation behind it is \
                 saturated for every input; remove the layer or change its scale",
                parameter.name
            )));
        }
    }
    Ok(())
}

/// Inputs of so many examples: numbers of the usual size, or tokens where the network reads tokens.
pub(super) fn made_up_inputs(network: &Network, examples: usize, generator: &mut SplitMix) -> Vec<f32> {
    let value = |_| match network.tokens() {
        Some(tokens) => (generator.bits() % tokens as u64) as f32,
        None => generator.normal(),
    };
    (0..examples * network.input().len()).map(value).collect()
}

fn failed(parameter: &Parameter, how: &str) -> Error {
    Error::SelfCheck(format!(
        "the gradient of one example at `{}` {how}, so no bound on it would hold; replace that layer",
        parameter.name
    ))
}

fn squared_norm_of(gradient: &[f32], parameter: &Parameter) -> f64 {
    gradient[parameter.range.clone()].iter().map(|value| f64::from(*value).powi(2)).sum()
}

/// An engine with parameters.
struct Trial<'a> {
    engine: Engine,
    parameters: &'a [f32],
    loss: Loss,
}

/// Made-up examples: example `i` is of class `i`, or has a one at output `i` and zeros elsewhere.
struct MadeUp<'a> {
    inputs: &'a [f32],
    width: usize,
    outputs: usize,
    first: usize,
    classes: bool,
    /// The identity matrix.
    rows: Vec<f32>,
}

impl MadeUp<'_> {
    fn class(&self, index: usize) -> usize {
        (self.first + index) % self.outputs
    }
}

impl Examples for MadeUp<'_> {
    fn len(&self) -> usize {
        self.inputs.len() / self.width
    }

    fn read(&self, index: usize, input: &mut [f32]) {
        input.copy_from_slice(&self.inputs[index * self.width..][..self.width]);
    }

    fn target(&self, index: usize) -> Target<'_> {
        match self.classes {
            true => Target::Class(self.class(index) as u32),
            false => Target::Values(&self.rows[self.class(index) * self.outputs..][..self.outputs]),
        }
    }

    fn identity(&self, record: usize) -> u64 {
        (self.first + record) as u64
    }
}

impl Trial<'_> {
    /// The sum of the examples' gradients, and the squared norms of each example by tensor; labels count up from `first`.
    fn sum(&mut self, inputs: &[f32], first: usize) -> Result<(Vec<f32>, Vec<Vec<f64>>)> {
        let network = self.engine.network();
        let (width, outputs) = (network.input().len(), network.output().len());
        let rows =
            (0..outputs * outputs).map(|place| f32::from(u8::from(place % (outputs + 1) == 0))).collect();
        let classes = matches!(self.loss, Loss::SoftmaxCrossEntropy | Loss::PolynomialCrossEntropy);
        let batch = MadeUp { inputs, width, outputs, first, classes, rows };
        let norms = Mutex::new(Vec::new());
        let weigh = |squared_norms: &[f64], factors: &mut [f32]| {
            norms.lock().expect("no call panics").push(squared_norms.to_vec());
            factors.fill(1.0);
        };
        let outcome = self.engine.weighted_sum(self.parameters, &batch, self.loss, 0, &weigh)?;
        if let Some(excluded) = outcome.excluded.first() {
            return Err(Error::SelfCheck(format!(
                "a made-up input of the usual size gives values that are not finite at {}; start from smaller weights",
                excluded.place
            )));
        }
        Ok((self.engine.gradient().to_vec(), norms.into_inner().expect("no call panics")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use muffle_nn::initialise::initial_parameters;
    use muffle_nn::{ModelDescription, models};

    fn check(toml: &str) -> Result<()> {
        let network = Arc::new(ModelDescription::from_toml(toml).unwrap().network().unwrap());
        self_check(&network, &initial_parameters(&network, 0), Loss::SoftmaxCrossEntropy)
    }

    #[test]
    fn networks_that_read_tokens_pass() {
        for layers in [
            "{ type = \"embedding\", tokens = 7, features = 4 }, { type = \"global-average-pool\" }",
            "{ type = \"embedding-bag\", tokens = 7, features = 4 }",
        ] {
            let text = format!("input = [5]\nlayers = [{layers}, {{ type = \"dense\", features = 2 }}]");
            let network = Arc::new(muffle_nn::ModelDescription::from_toml(&text).unwrap().network().unwrap());
            self_check(&network, &initial_parameters(&network, 0), Loss::SoftmaxCrossEntropy).unwrap();
        }
    }

    #[test]
    fn small_models_pass() {
        for name in [
            "cnn-small",
            "tempered-mnist",
            "lstm-rows",
            "pca-mlp",
            "lenet5",
            "tempered-cifar",
            "cnn-5x5-dropout",
        ] {
            let network = Arc::new(models::model(name).unwrap().network().unwrap());
            self_check(&network, &initial_parameters(&network, 0), Loss::SoftmaxCrossEntropy).unwrap();
        }
    }

    #[test]
    fn a_layer_that_mixes_examples_is_named() {
        let toml = "input = [2, 4, 4]\nlayers = [{ type = \"batch-norm\" }, { type = \"flatten\" }, \
                    { type = \"dense\", features = 3 }]";
        let message = check(toml).unwrap_err().to_string();
        assert!(message.contains("layer `0` (batch-norm)") && message.contains("GroupNorm"), "{message}");
    }

    #[test]
    fn a_tensor_without_a_gradient_is_named() {
        // All negative inputs of a ReLU with a large negative bias: nothing comes through.
        let toml = "input = [4]\nlayers = [{ type = \"dense\", features = 5 }, { type = \"relu\" }, \
                    { type = \"dense\", features = 3 }]";
        let network = Arc::new(ModelDescription::from_toml(toml).unwrap().network().unwrap());
        let mut parameters = initial_parameters(&network, 0);
        parameters[20..25].fill(-1e6);
        let message = self_check(&network, &parameters, Loss::SoftmaxCrossEntropy).unwrap_err().to_string();
        assert!(message.contains("no gradient reaches `0.weight`"), "{message}");
    }
}
