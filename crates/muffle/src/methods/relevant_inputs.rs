//! Less noise on what belongs to the inputs that matter: the sound form of the methods that perturb inputs by their relevance.

use super::{Blueprint, BuildResult, Method, Preparation, Release, Step};
use crate::clip::Flat;
use crate::mechanism::Rule;
use crate::relevance::{self, Of, Regions, Until, shares};
use crate::state::restore;
use crate::{State, StateError};
use muffle_accounting::Event;
use muffle_nn::network::{Network, Node};
use muffle_nn::relevance::Propagation;
use muffle_nn::{Error, Purpose, Shape};
use std::ops::Range;

/// Builds the method; `regions` joins inputs of like relevance.
pub(super) fn build(blueprint: &Blueprint, regions: Option<Until>) -> BuildResult {
    let (network, parameters) = (blueprint.network, blueprint.parameters);
    let stabiliser = parameters.get("stabiliser") as f32;
    let place = Place::of(network).map_err(|reason| format!("method {}: {reason}", blueprint.name))?;
    let propagation = Propagation::new(network.clone(), stabiliser)
        .map_err(|error| format!("method {}: {error}", blueprint.name))?;
    let epsilon = parameters.epsilon("relevance_epsilon")?;
    Ok(Box::new(RelevantInputs {
        shares: vec![1.0; network.input().len()],
        noise_multiplier: relevance::noise_multiplier(epsilon, blueprint.adjacency),
        threshold: blueprint.threshold()?,
        floor: parameters.share("floor")?,
        propagation,
        regions,
        place,
    }))
}

/// Where relevance comes in.
enum Place {
    /// In a layer of fixed numbers at the front: an input is fed times the root of its share.
    Scale(Range<usize>),
    /// In the weights of a dense layer that reads the inputs: the column of an input is measured in a unit of its own.
    Columns {
        /// The weights, a row for each output.
        weights: Range<usize>,
        /// The input behind each column.
        inputs: Vec<usize>,
    },
}

impl Place {
    /// In a network that begins with `scale` or a dense layer; or what to do about one that does not.
    fn of(network: &Network) -> Result<Place, String> {
        let learns = network.nodes().iter().find(|node| !node.tensors.is_empty() && node.kind() != "scale");
        let first = network.nodes().iter().find(|node| !node.tensors.is_empty());
        let (Some(first), Some(learns)) = (first, learns) else {
            return Err("the network has no layer with weights".to_string());
        };
        if !["dense", "conv2d", "conv1d"].contains(&learns.kind()) {
            return Err(format!(
                "relevance of the inputs weighs a first dense or convolutional layer, and layer `{}` is {}: take a network \
                 that begins with one of these",
                learns.name,
                learns.kind()
            ));
        }
        if first.kind() == "scale" && first.inputs == [0] {
            return Ok(Place::Scale(first.parameters.clone()));
        }
        let inputs = columns(network, first).filter(|_| first.kind() == "dense");
        let Some(inputs) = inputs else {
            return Err(format!(
                "layer `{}` ({}) uses the same weights for several inputs, so that the inputs themselves have to be weighed: \
                 put {{ type = \"scale\" }} in front of all layers",
                first.name,
                first.kind()
            ));
        };
        Ok(Place::Columns { weights: network.parameters()[first.tensors.start].range.clone(), inputs })
    }
}

/// The input behind each value that a node reads, if nothing but a `flatten` lies between and it reads a vector.
fn columns(network: &Network, node: &Node) -> Option<Vec<usize>> {
    let edges = network.edges();
    if !matches!(edges[node.inputs[0]], Shape::Vector(_)) {
        return None;
    }
    if node.inputs == [0] {
        return Some((0..network.input().len()).collect());
    }
    let before = network.nodes().iter().find(|before| before.output == node.inputs[0])?;
    if before.kind() != "flatten" || before.inputs != [0] {
        return None;
    }
    let Shape::Image { height, width, channels } = network.input() else {
        return Some((0..network.input().len()).collect());
    };
    // Images are stored with the channels of a pixel side by side, and flattened channel by channel.
    let pixels = height * width;
    Some((0..pixels * channels).map(|column| column % pixels * channels + column / pixels).collect())
}

struct RelevantInputs {
    propagation: Propagation,
    /// β of every input; all alike before the method is prepared.
    shares: Vec<f32>,
    /// Of the release of relevance.
    noise_multiplier: f64,
    threshold: f64,
    floor: f64,
    regions: Option<Until>,
    place: Place,
}

/// The weight of each input's region; or what to do if there is nothing to choose between.
pub(super) fn region_weights(relevance: &[f64], until: Until) -> muffle_nn::Result<Vec<f64>> {
    let regions = Regions::new(relevance, until);
    if regions.count() > 1 && regions.count() < relevance.len() {
        return Ok(regions.weight_of_features());
    }
    let least = relevance.iter().copied().fold(f64::INFINITY, f64::min);
    let most = relevance.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let made = match regions.count() {
        1 => "one region".to_string(),
        count => format!("{count} regions"),
    };
    Err(Error::Options(format!(
        "parameters.gamma makes {made} of {} features, whose released relevances reach from {least:.3} to {most:.3}: choose γ \
         within, or parameters.regions. The relevance is paid for",
        relevance.len()
    )))
}

impl RelevantInputs {
    /// β from released relevances.
    fn shares(&self, relevance: &[f64]) -> muffle_nn::Result<Vec<f32>> {
        let Some(until) = self.regions else { return Ok(shares(relevance, self.floor)) };
        // Over the mean, so that γ means the same for few records and for many.
        let even: Vec<f64> = shares(relevance, 0.0).iter().map(|share| f64::from(*share)).collect();
        Ok(shares(&region_weights(&even, until)?, self.floor))
    }

    /// The unit of every parameter: 1/√β for a column of the first dense layer, and one elsewhere.
    fn units(&self, weights: &Range<usize>, inputs: &[usize]) -> Vec<f32> {
        let mut units = vec![1.0; self.propagation.network().parameter_len()];
        for row in units[weights.clone()].chunks_exact_mut(inputs.len()) {
            let columns = row.iter_mut().zip(inputs);
            columns.for_each(|(unit, input)| *unit = self.shares[*input].sqrt().recip());
        }
        units
    }
}

impl Method for RelevantInputs {
    fn event(&self, noise_multiplier: f64) -> Event {
        Event::gaussian(noise_multiplier)
    }

    fn release<'a>(&mut self, step: Step<'a, '_>) -> muffle_nn::Result<Release<'a>> {
        let threshold = step.clip_factor * self.threshold;
        let (bounded, unprotected) = match &self.place {
            Place::Scale(_) => step.gradients.bounded(Rule::Norms(&Flat::new(threshold)))?,
            Place::Columns { weights, inputs } => {
                let units = self.units(weights, inputs);
                step.gradients.bounded(Rule::Units { units, threshold })?
            }
        };
        let gradient = step.mechanism.release(bounded, step.noise_multiplier, step.receipt);
        Ok(Release { gradient, unprotected })
    }

    fn preparation(&self) -> Option<Event> {
        Some(Event::laplace(self.noise_multiplier))
    }

    fn prepare(&mut self, preparation: Preparation) -> muffle_nn::Result<()> {
        let Preparation { parameters, examples, mechanism, receipt, .. } = preparation;
        let sum = relevance::bounded(&self.propagation, parameters, examples, Of::Inputs)?;
        let (relevance, _) = mechanism.answer(sum, self.noise_multiplier, receipt);
        self.shares = self.shares(&relevance)?;
        if let Place::Scale(range) = &self.place {
            let scales = parameters[range.clone()].iter_mut().zip(&self.shares);
            scales.for_each(|(scale, share)| *scale = share.sqrt());
        }
        Ok(())
    }

    fn purpose(&self) -> Purpose {
        match self.place {
            Place::Scale(_) => Purpose::PerExample,
            Place::Columns { .. } => Purpose::Plain,
        }
    }

    fn state(&self) -> State {
        State::from([("shares".to_string(), self.shares.clone())])
    }

    fn restore(&mut self, state: &State) -> Result<(), StateError> {
        restore(state, "shares", &mut self.shares)
    }
}
