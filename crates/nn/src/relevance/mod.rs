//! Layer-wise relevance propagation: how much each input and each neuron adds to the logit of a class.
//!
//! ```
//! use muffle_nn::relevance::Propagation;
//! use muffle_nn::{Batch, ModelDescription};
//!
//! let model = "input = [2]\nlayers = [{ type = \"dense\", features = 2, bias = false }]";
//! let network = std::sync::Arc::new(ModelDescription::from_toml(model)?.network()?);
//! let parameters = [1.0, -1.0, 0.5, 2.0]; // one row for each class
//! let example = Batch::new(vec![3.0, 4.0], vec![1]);
//! let found = Propagation::new(network, 0.0)?.relevances(&parameters, &example, 0..1)?;
//! assert_eq!(found[0].inputs, [1.5, 8.0]); // the logit of class 1 is 9.5
//! # Ok::<(), muffle_nn::Error>(())
//! ```

mod neurons;
mod rule;
mod walk;

pub use crate::kernel::shares::ratio;
pub use crate::layer::RelevanceRule as Rule;
pub use neurons::Neurons;

use crate::buffer::{Buffer, buffer};
use crate::error::{Error, Result};
use crate::examples::Examples;
use crate::loss::Loss;
use crate::network::{Network, Operation};
use crate::plan::Plan;
use crate::workspace::Step;
use rayon::prelude::*;
use rule::rule_of;
use std::ops::Range;
use std::sync::Arc;
use walk::Walk;

/// The relevance of one example, from the logit of its class.
#[derive(Clone, Debug, PartialEq)]
pub struct Relevance {
    /// Of every value of the input.
    pub inputs: Vec<f32>,
    /// Of every neuron, in the order of [`Neurons`]; that of a neuron with several positions is the sum over them.
    pub neurons: Vec<f32>,
}

/// Carries relevance from a logit back through a network.
///
/// A neuron p with the input z_p = Σ_q z_qp + b_p, where z_qp = a_q·w_qp, hands the share z_qp/(z_p + β·sign(z_p)) of its
/// relevance to the neuron q below it; sign(0) is one, and where the denominator is zero nothing is handed on. Sums and
/// averages are such neurons with fixed weights. A maximum hands all to the winner, and an activation everything.
///
/// Where values scale or gate each other, the factor counts as a weight that is given and gets no relevance: the deviation of
/// a normalisation, the gates of a recurrent layer, who looks at whom in attention. What is left is a sum of terms, and
/// shared out as above. A token has the relevance of the features that it brings.
///
/// Relevance adds up to the logit where no layer has a bias (a shift, a position) and β is zero.
///
/// # Source
/// Bach et al. 2015, "On pixel-wise explanations for non-linear classifier decisions by layer-wise relevance
/// propagation": propagation in multilayer networks, the rule with a stabiliser. Gates: Arras et al. 2017, "Explaining
/// recurrent neural network predictions in sentiment analysis", section 3. Normalisation and attention: Ali et al. 2022, "XAI
/// for transformers: better explanations through conservative propagation", the rules for attention heads and layer norm.
pub struct Propagation {
    network: Arc<Network>,
    plan: Plan,
    rules: Vec<Rule>,
    neurons: Neurons,
    stabiliser: f32,
}

impl Propagation {
    /// For a network whose layers all have a rule; `stabiliser` is β, at least zero.
    pub fn new(network: Arc<Network>, stabiliser: f32) -> Result<Propagation> {
        if !(stabiliser >= 0.0 && stabiliser.is_finite()) {
            return Err(Error::Options(format!(
                "relevance: a stabiliser of {stabiliser} is not a finite number of at least zero"
            )));
        }
        let rules = network.nodes().iter().map(rule_of).collect::<Result<_>>()?;
        // Values before and after an activation are both needed: no buffer may serve for two.
        let plan = Plan::new(&network, false, true);
        Ok(Propagation { neurons: Neurons::new(&network), plan, rules, stabiliser, network })
    }

    /// The network.
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// The neurons of the network.
    pub fn neurons(&self) -> &Neurons {
        &self.neurons
    }

    /// The relevance of some examples, each from the logit of its own class, in their order.
    ///
    /// An example is worked on alone, so that its relevance is the same to the last bit whatever its company.
    pub fn relevances(
        &self,
        parameters: &[f32],
        examples: &dyn Examples,
        range: Range<usize>,
    ) -> Result<Vec<Relevance>> {
        let loss = Loss::SoftmaxCrossEntropy;
        for index in range.clone() {
            loss.check(self.network.output(), examples.target(index))?;
        }
        let prepared = self.prepare(parameters);
        let step = Step::new(&self.network, &self.plan, parameters, &prepared, examples, loss, 0);
        let relevance = |walk: &mut Walk, index: usize| {
            walk.run(&step, &self.rules, self.stabiliser, index);
            Relevance { inputs: walk.inputs(), neurons: self.neurons.gather(walk, &step) }
        };
        Ok(range.into_par_iter().map_init(|| Walk::new(&self.network, &self.plan), relevance).collect())
    }

    fn prepare(&self, parameters: &[f32]) -> Buffer {
        assert_eq!(parameters.len(), self.network.parameter_len(), "parameters of this network");
        let mut prepared = buffer(self.plan.prepared_len);
        for (node, plan) in self.network.nodes().iter().zip(&self.plan.nodes) {
            if let (Operation::Layer(layer), Some(plan)) = (&node.operation, plan) {
                layer.prepare(&parameters[node.parameters.clone()], &mut prepared[plan.prepared.clone()]);
            }
        }
        prepared
    }
}
