//! Noise on inputs and on the coefficients of a polynomial loss, as two papers print it. Nothing is proved of it.

mod examples;
mod layers;
mod pretraining;

use super::relevant_inputs::region_weights;
use super::{Blueprint, BuildResult, Method, Preparation, Release, Step};
use crate::mechanism::{Deviations, Gradients};
use crate::relevance::Until;
use crate::sampler::SamplerChoice;
use crate::state::restore;
use crate::{State, StateError};
use examples::Noisy;
use layers::{First, Last};
use muffle_accounting::{
    self as accounting, Accountant, AccountingError, Adjacency, Composition, Event, Price, Standing,
};
use muffle_nn::network::Network;
use muffle_nn::relevance::Propagation;
use muffle_nn::{Error, Examples, Loss};
use pretraining::{pretrained, relevance_network};
use std::sync::Arc;

/// Where the noise of the first bias begins, far behind that of all inputs, and that of the coefficients behind it.
const BIASES: u64 = 1 << 40;
const COEFFICIENTS: u64 = 1 << 41;

/// Records whose relevance is computed at a time.
const BLOCK: usize = 1024;

/// The price as both papers have it: three parts, each paid once, however long training takes and however records are drawn.
struct Once;

impl Accountant for Once {
    fn name(&self) -> &'static str {
        "once"
    }

    fn standing(&self) -> Standing {
        Standing::Published
    }

    fn assumption(&self) -> &'static str {
        "what is computed from noisy inputs and coefficients never looks at the records again"
    }

    fn price(&self, composition: &Composition, _: Adjacency, _: f64) -> Result<Price, AccountingError> {
        let price = |step: &accounting::Step| match step.mechanism.release {
            accounting::Release::Laplace { noise_multiplier } => 1.0 / noise_multiplier,
            _ => f64::INFINITY,
        };
        Ok(Price::upper(composition.steps.iter().map(price).fold(0.0, f64::max)))
    }
}

/// How a paper does it.
#[derive(Clone, Copy)]
pub(super) struct Form {
    /// One draw for all records of a step, anew in every step; otherwise one for each record, once for all steps.
    pub shared: bool,
    /// Whether inputs of like relevance are joined.
    pub regions: Option<Until>,
}

/// Builds the published form.
pub(super) fn build(blueprint: &Blueprint, form: Form) -> BuildResult {
    let (network, parameters) = (blueprint.network.clone(), blueprint.parameters);
    if blueprint.views > 1 {
        return Err(format!(
            "method {} as published has noise for every record: use one view",
            blueprint.name
        ));
    }
    let split = ["relevance_share", "input_share", "loss_share"].map(|name| parameters.get(name));
    if split.iter().any(|share| *share <= 0.0) || (split.iter().sum::<f64>() - 1.0).abs() > 1e-9 {
        let [relevance, input, loss] = split;
        return Err(format!(
            "method {}: relevance_share = {relevance}, input_share = {input} and loss_share = {loss} are parts of epsilon: give \
             positive numbers that add up to 1",
            blueprint.name
        ));
    }
    let range = [parameters.get("low"), parameters.get("high")];
    if range[0] >= range[1] {
        return Err(format!("parameters.low = {} must lie below parameters.high = {}", range[0], range[1]));
    }
    let refuse = |reason: String| format!("method {}: {reason}", blueprint.name);
    let first = First::of(&network, parameters.get("patch_sensitivity") != 0.0).map_err(refuse)?;
    let last = Last::of(&network).map_err(refuse)?;
    let relevant = relevance_network(&network).map_err(|error| refuse(error.to_string()))?;
    Ok(Box::new(NoisyInputs {
        shares: vec![1.0; network.input().len()],
        propagation: Propagation::new(relevant.clone(), parameters.get("stabiliser") as f32)
            .map_err(|error| refuse(error.to_string()))?,
        relevant,
        epochs: parameters.get("relevance_epochs"),
        batch_size: blueprint.batch_size as f64,
        split,
        range,
        first,
        last,
        form,
    }))
}

struct NoisyInputs {
    /// β of every input, or α of its region; all alike before the method is prepared.
    shares: Vec<f32>,
    /// The network of relevance.
    relevant: Arc<Network>,
    propagation: Propagation,
    /// Passes over the records to train the network of relevance, without privacy.
    epochs: f64,
    batch_size: f64,
    split: [f64; 3],
    range: [f64; 2],
    first: First,
    last: Last,
    form: Form,
}

/// Δ_f is stated for inputs within a range.
fn check_range(examples: &dyn Examples, inputs: usize, [low, high]: [f64; 2]) -> muffle_nn::Result<()> {
    let mut input = vec![0.0; inputs];
    for index in 0..examples.len() {
        examples.read(index, &mut input);
        let outside = |value: &&f32| !(low..=high).contains(&f64::from(**value));
        if let Some(value) = input.iter().find(outside) {
            return Err(Error::Options(format!(
                "an input of {value} lies outside parameters.low = {low} to parameters.high = {high}, which the noise is \
                 measured by: set both to the public range of the data as the network reads them"
            )));
        }
    }
    Ok(())
}

impl Method for NoisyInputs {
    /// Noise of scale σ on what moves by one costs 1/σ: ε₁ + ε₂ + ε₃.
    fn event(&self, noise_multiplier: f64) -> Event {
        Event::laplace(noise_multiplier)
    }

    fn accountant(&self, _: SamplerChoice) -> &'static dyn Accountant {
        &Once
    }

    fn release<'a>(&mut self, step: Step<'a, '_>) -> muffle_nn::Result<Release<'a>> {
        let epsilon = 1.0 / step.noise_multiplier;
        let noise = step.mechanism.published_laplace(&step.receipt);
        let Gradients { engine, parameters, examples, seed, .. } = step.gradients;
        let [low, high] = self.range;
        let even = self.first.sensitivity / (self.batch_size * self.split[1] * epsilon);
        let scales = scales((high - low) * even, &self.shares);
        let once = step.mechanism.published_once();
        let (draws, shared) = if self.form.shared { (&noise, true) } else { (&once, false) };
        let noisy =
            Noisy { examples, range: self.range.map(|end| end as f32), scales: &scales, draws, shared };
        let mut parameters = parameters.to_vec();
        let biases = self.first.bias.clone().unwrap_or(0..0);
        let mut bias_noise = vec![0.0; biases.len()];
        draws.fill(BIASES, even, &mut bias_noise);
        parameters[biases].iter_mut().zip(&bias_noise).for_each(|(bias, noise)| *bias += *noise as f32);
        let loss = Loss::PolynomialCrossEntropy;
        let gradients = Gradients { engine, parameters: &parameters, examples: &noisy, loss, seed };
        let (mut sum, unprotected) = gradients.weighed(&|_, factors| factors.fill(1.0))?;
        let scale = self.last.loss.sensitivity() / (self.split[2] * epsilon);
        let weights = &parameters[self.last.weights.clone()];
        sum.add(self.last.weights.start, &self.last.loss.noise(weights, &noise, COEFFICIENTS, scale));
        let silent = vec![0.0; sum.tensors()];
        let gradient = step.mechanism.publish(sum, &Deviations::Tensors(silent), step.receipt);
        Ok(Release { gradient, unprotected })
    }

    /// Training and relevance, both without a bound.
    fn preparation(&self) -> Option<Event> {
        Some(Event::NonPrivate)
    }

    fn prepare(&mut self, preparation: Preparation) -> muffle_nn::Result<()> {
        let Preparation { examples, mechanism, receipt, noise_multiplier, .. } = preparation;
        let (count, width) = (examples.len(), self.shares.len());
        check_range(examples, width, self.range)?;
        let trained = pretrained(&self.relevant, examples, self.epochs)?;
        let mut mean = vec![0.0; width];
        for first in (0..count).step_by(BLOCK) {
            for found in self.propagation.relevances(&trained, examples, first..count.min(first + BLOCK))? {
                if found.inputs.iter().all(|value| value.is_finite()) {
                    mean.iter_mut().zip(&found.inputs).for_each(|(mean, value)| *mean += f64::from(*value));
                }
            }
        }
        let scale = relevance_scale(width, count, self.split[0] / noise_multiplier);
        let noisy = mechanism.publish_numbers(evenly(&mean), scale, receipt);
        self.shares = published_shares(&noisy, self.form.regions)?;
        Ok(())
    }

    fn state(&self) -> State {
        State::from([("shares".to_string(), self.shares.clone())])
    }

    fn restore(&mut self, state: &State) -> Result<(), StateError> {
        restore(state, "shares", &mut self.shares)
    }
}

/// The scale of the noise on mean relevances: Δ_R/ε₁ with Δ_R = 2d/|D|.
fn relevance_scale(inputs: usize, records: usize, epsilon: f64) -> f64 {
    2.0 * inputs as f64 / records.max(1) as f64 / epsilon
}

/// The scale of the noise on each input, (1/|L|)·Δ_f/(βε₂): that of an input of share one, `even`, over its share.
fn scales(even: f64, shares: &[f32]) -> Vec<f64> {
    shares.iter().map(|share| even / f64::from(*share)).collect()
}

/// Moved and stretched to 0 to 1 by their own extremes, as printed.
fn evenly(values: &[f64]) -> Vec<f64> {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let length = if most > least { most - least } else { 1.0 };
    values.iter().map(|value| (value - least) / length).collect()
}

/// β = d|R̄|/Σ|R̄| of each input, or α of its region.
fn published_shares(relevance: &[f64], regions: Option<Until>) -> muffle_nn::Result<Vec<f32>> {
    let weights = match regions {
        Some(until) => region_weights(relevance, until)?,
        None => {
            let mean = relevance.iter().map(|value| value.abs()).sum::<f64>() / relevance.len() as f64;
            relevance.iter().map(|value| value.abs() / mean).collect()
        }
    };
    // Nothing divides by zero.
    Ok(weights.iter().map(|weight| (*weight as f32).max(f32::MIN_POSITIVE)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: &[f32], expected: &[f64]) -> bool {
        found.len() == expected.len()
            && found.iter().zip(expected).all(|(found, expected)| (f64::from(*found) - expected).abs() < 1e-6)
    }

    /// What the noise on one record's inputs is worth: a record of zeros and one of ones differ by Σ 1/b in log-likelihood at most,
    /// which is |L|·d·ε₂/Δ_f, for |L| = 256, ε₂ = 0.2 and the sensitivity 2d of a dense layer's patch 25.6, and not 0.2.
    #[test]
    fn noise_on_inputs_is_worth_more_than_the_paper_says() {
        let (batch, epsilon, inputs) = (256.0, 0.2, 4.0);
        let found = scales(2.0 * inputs / (batch * epsilon), &[2.0, 1.0, 0.5, 0.5]);
        assert!((found[0] - 2.0 * inputs / (batch * 2.0 * epsilon)).abs() < 1e-12);
        let worth: f64 = found.iter().map(|scale| 1.0 / scale).sum();
        assert!((worth - batch * inputs * epsilon / (2.0 * inputs)).abs() < 1e-9 && worth > 25.0, "{worth}");
    }

    /// 784 pixels of 60,000 records at ε₁ = 0.1: 1568/60000/0.1, on relevances of 0 to 1; without records the scale is still a number.
    #[test]
    fn noise_on_relevance_by_hand() {
        assert!((relevance_scale(784, 60_000, 0.1) - 0.261_333_333).abs() < 1e-8);
        assert_eq!(relevance_scale(3, 0, 2.0), 3.0);
    }

    /// Of a batch of 256 at ε₂ = 0.2, with the two readings of Δ_f for 28 x 28 pixels and a first layer of 14 x 14 x 16 from patches of 64:
    /// 2·3136·784/51.2 as printed, 2·196·64/51.2 by patches; the input of share ½ has twice that.
    #[test]
    fn noise_on_inputs_by_both_readings() {
        for (sensitivity, even) in [(2.0 * 3136.0 * 784.0, 96_040.0), (2.0 * 196.0 * 64.0, 490.0)] {
            let found = scales(sensitivity / (256.0 * 0.2), &[1.0, 0.5, 2.0]);
            for (found, expected) in found.iter().zip([even, 2.0 * even, 0.5 * even]) {
                assert!((found / expected - 1.0).abs() < 1e-9, "{found} {expected}");
            }
        }
    }

    #[test]
    fn relevances_are_stretched_to_the_unit_interval() {
        assert_eq!(evenly(&[3.0, -1.0, 1.0]), [1.0, 0.0, 0.5]);
        assert_eq!(evenly(&[2.0, 2.0]), [0.0, 0.0]);
    }

    /// |R̄| = 0.5, 0.1, 0.6: β = 3·0.5/1.2 and so on. Joined are 0.5 and 0.6 to 0.55, and −0.1 stays: Σμ|R̄| = 0.4.
    #[test]
    fn budgets_of_inputs_by_hand() {
        let relevance = [0.5, -0.1, 0.6];
        assert!(near(&published_shares(&relevance, None).unwrap(), &[1.25, 0.25, 1.5]));
        let joined = published_shares(&relevance, Some(Until::Distance(0.2))).unwrap();
        assert!(near(&joined, &[1.375, 0.25, 1.375]), "{joined:?}");
        let refused =
            |gamma: f64| published_shares(&relevance, Some(Until::Distance(gamma))).unwrap_err().to_string();
        assert!(refused(9.0).contains("gamma makes one region of 3 features"), "{}", refused(9.0));
        assert!(refused(0.01).contains("gamma makes 3 regions of 3 features"), "{}", refused(0.01));
    }

    #[test]
    fn inputs_outside_their_range_are_refused_with_the_remedy() {
        let records = muffle_nn::Batch::new(vec![0.0, 1.0, 0.5, 1.5], vec![0, 1]);
        let message = check_range(&records, 2, [0.0, 1.0]).unwrap_err().to_string();
        assert!(message.contains("an input of 1.5 lies outside parameters.low = 0"), "{message}");
        assert!(check_range(&records, 2, [0.0, 1.5]).is_ok());
    }
}
