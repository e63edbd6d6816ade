//! Less noise on the neurons that matter.

use super::{
    About, Blueprint, BuildResult, Claim, Entry, Method, Mode, Parameter, Preparation, Release, Step, Verdict,
};
use crate::clip::factor;
use crate::mechanism::{Deviations, Gradients, Rule};
use crate::relevance::{self, Of, shares};
use crate::state::restore;
use crate::{State, StateError};
use muffle_accounting::Event;
use muffle_nn::Purpose;
use muffle_nn::relevance::Propagation;

pub static ENTRY: Entry = Entry {
    about: About {
        name: "relevance-noise",
        paper: "Gong M. et al., Preserving differential privacy in deep neural networks with relevance-based adaptive noise \
            imposition, Neural Networks",
        year: 2020,
        idea: "add less noise to the gradients of neurons that matter more to the output",
        verdict: Verdict::Unsound,
        modes: &[Mode::Sound, Mode::AsPublished],
        composes: "layer-wise relevance propagation, private average relevance, a clip and Gaussian noise in units of neurons",
        steps: "a neuron is an output feature or channel of a layer with tensors, with its weights and bias. R is its share \
            of the relevance, on average one, at least a floor. Noise of deviation σC/√R on neuron g, and each record's \
            gradient scaled so that √Σ R‖g‖² ≤ C. Sound: the first steps, a share of them (pretraining), are those of dp-sgd; R is then \
            released once, with Laplace noise, at the weights they have come to, which are released, and no step spends on R \
            again. With pretraining = 0 it is released at the first weights, for a network that is public (init). As published (our \
            reading of the abstract): R of the records at hand at every step, noise σC/√R after a clip at norm C",
        guarantee: "the weights that R is taken at are public or released by steps that are charged, and R is a Laplace mechanism over \
                all records, charged before they are read. Over the deviations a record has \
                norm 1/σ at most, so each step is one Gaussian mechanism of multiplier σ; whatever thresholds C_g for single \
                neurons R5 allows with this noise lie within the same bound, so a clip of single neurons would only lose more",
        breaks: "relevance is computed from the records and steers the noise, unpaid (R1): a record that moves the relevance of a \
             neuron shows in the noise on all its weights; and a clip at norm C under less noise than σC costs more than σ says",
        parameters: &[
            Parameter {
                name: "relevance_epsilon",
                default: 0.1,
                meaning: "what the release of relevance costs by itself (sound)",
            },
            Parameter {
                name: "pretraining",
                default: 0.1,
                meaning: "share of the steps before relevance is released, at least 0 and below 1: at the first weights if 0 (sound)",
            },
            Parameter { name: "stabiliser", default: 0.01, meaning: "β of relevance propagation" },
            Parameter {
                name: "floor",
                default: 0.1,
                meaning: "the least R over the mean: no deviation is above √(1 + 1/floor) times σC",
            },
        ],
        settings: &[],
        settings_as_published: &[],
    },
    without_privacy: false,
    additive: true,
    needs_classes: true,
    claim: Claim::Step,
    build,
};

fn build(blueprint: &Blueprint) -> BuildResult {
    let parameters = blueprint.parameters;
    let stabiliser = parameters.get("stabiliser") as f32;
    let propagation = Propagation::new(blueprint.network.clone(), stabiliser)
        .map_err(|error| format!("method relevance-noise: {error}"))?;
    let (threshold, floor) = (blueprint.threshold()?, parameters.share("floor")?);
    if blueprint.mode == Mode::AsPublished {
        return Ok(Box::new(Published { propagation, threshold, floor }));
    }
    let epsilon = parameters.epsilon("relevance_epsilon")?;
    let pretraining = parameters.get("pretraining");
    if !(0.0..1.0).contains(&pretraining) {
        return Err(format!(
            "parameters.pretraining = {pretraining} is outside [0, 1): it is a share of the steps"
        ));
    }
    Ok(Box::new(RelevanceNoise {
        shares: vec![1.0; propagation.neurons().count()],
        noise_multiplier: relevance::noise_multiplier(epsilon, blueprint.adjacency),
        pretraining,
        propagation,
        threshold,
        floor,
    }))
}

/// The sound form.
struct RelevanceNoise {
    propagation: Propagation,
    /// R of every neuron; all alike before the method is prepared.
    shares: Vec<f32>,
    /// Of the release of relevance.
    noise_multiplier: f64,
    /// Share of the steps that come before it.
    pretraining: f64,
    threshold: f64,
    floor: f64,
}

/// 1/√R of the neuron that owns each parameter.
fn units(shares: &[f32], propagation: &Propagation) -> Vec<f32> {
    let roots: Vec<f32> = shares.iter().map(|share| share.sqrt().recip()).collect();
    propagation.neurons().owners().iter().map(|owner| roots[*owner as usize]).collect()
}

impl Method for RelevanceNoise {
    fn event(&self, noise_multiplier: f64) -> Event {
        Event::gaussian(noise_multiplier)
    }

    fn release<'a>(&mut self, step: Step<'a, '_>) -> muffle_nn::Result<Release<'a>> {
        let (units, threshold) = (units(&self.shares, &self.propagation), step.clip_factor * self.threshold);
        let (bounded, unprotected) = step.gradients.bounded(Rule::Units { units, threshold })?;
        let gradient = step.mechanism.release(bounded, step.noise_multiplier, step.receipt);
        Ok(Release { gradient, unprotected })
    }

    fn preparation(&self) -> Option<Event> {
        Some(Event::laplace(self.noise_multiplier))
    }

    fn prepared_after(&self, steps: u64) -> u64 {
        (self.pretraining * steps as f64) as u64
    }

    fn prepare(&mut self, preparation: Preparation) -> muffle_nn::Result<()> {
        let Preparation { parameters, examples, mechanism, receipt, .. } = preparation;
        let sum = relevance::bounded(&self.propagation, parameters, examples, Of::Neurons)?;
        let (relevance, _) = mechanism.answer(sum, self.noise_multiplier, receipt);
        self.shares = shares(&relevance, self.floor);
        Ok(())
    }

    fn purpose(&self) -> Purpose {
        Purpose::Plain
    }

    fn state(&self) -> State {
        State::from([("shares".to_string(), self.shares.clone())])
    }

    fn restore(&mut self, state: &State) -> Result<(), StateError> {
        restore(state, "shares", &mut self.shares)
    }
}

/// The form of the paper.
struct Published {
    propagation: Propagation,
    threshold: f64,
    floor: f64,
}

impl Method for Published {
    fn event(&self, noise_multiplier: f64) -> Event {
        Event::gaussian(noise_multiplier)
    }

    fn release<'a>(&mut self, step: Step<'a, '_>) -> muffle_nn::Result<Release<'a>> {
        let threshold = step.clip_factor * self.threshold;
        let relevance = {
            let Gradients { parameters, examples, .. } = &step.gradients;
            relevance::sum(&self.propagation, parameters, *examples, Of::Neurons)?
        };
        let units = units(&shares(&relevance, self.floor), &self.propagation);
        let clip = |squared_norms: &[f64], factors: &mut [f32]| {
            factors.fill(factor(squared_norms.iter().sum(), threshold));
        };
        let (sum, unprotected) = step.gradients.weighed(&clip)?;
        let scale = (step.noise_multiplier * threshold) as f32;
        let deviations = units.iter().map(|unit| scale * unit).collect();
        let gradient = step.mechanism.publish(sum, &Deviations::Coordinates(deviations), step.receipt);
        Ok(Release { gradient, unprotected })
    }
}
