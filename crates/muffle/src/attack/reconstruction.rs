//! Reconstruction: a record from its gradient.

use super::Entry;
use super::inversion::correlation;
use crate::error::Result;
use muffle_nn::initialise::SplitMix;
use muffle_nn::{Batch, Engine, Loss, Network, Options, Purpose};
use std::sync::Arc;

/// Its row of the table.
pub static ENTRY: Entry = Entry {
    name: "gradient matching",
    command: "reconstruction",
    paper: "Geiping, Bauermeister, Dröge, Moeller, Inverting gradients: how easy is it to break privacy in federated learning?, NeurIPS; \
            after Zhu, Liu, Han 2019",
    year: 2020,
    question: "what does the gradient of a record show of it?",
    needs: "the attacker sees one step on one record at the first weights of the recipe, which he knows with its class: its gradient as it \
            is, or what the run's method releases of it",
    steps: "descend on the inputs until their gradient has the direction of the one that was seen; the slope of a gradient's direction by \
            the inputs is that of the loss at weights moved along it, so that two gradients at the inputs give it",
    figure: "the correlation of what was found with the record, in the mean over records: one is the record itself. A gradient shows a \
             record; a released one is to show nothing, whatever the attack",
};

/// What was found of one record.
#[derive(Clone, Debug, PartialEq)]
pub struct Reconstruction {
    /// The inputs that were found.
    pub inputs: Vec<f32>,
    /// Correlation with the record's.
    pub likeness: f64,
    /// Cosine of both gradients at the end.
    pub cosine: f64,
}

/// A network and how to look for inputs.
pub struct Matching {
    engine: Engine,
    parameters: Vec<f32>,
    /// Changes of the inputs.
    pub steps: u32,
}

/// The first change of an input; changes shrink evenly to nothing.
const FIRST_CHANGE: f32 = 0.1;
/// How far weights are moved along a direction, over their norm.
const MOVED: f64 = 1e-3;
/// Adam's averages.
const BETAS: [f32; 2] = [0.9, 0.999];

impl Matching {
    /// Of a network at these weights.
    pub fn new(network: &Arc<Network>, parameters: Vec<f32>, steps: u32) -> Result<Matching> {
        let options = Options { threads: Some(1), input_gradients: true, ..Options::new(Purpose::Plain) };
        Ok(Matching { engine: Engine::new(network.clone(), options)?, parameters, steps })
    }

    /// The gradient of one record.
    fn gradient(&mut self, inputs: &[f32], class: u32) -> Result<Vec<f32>> {
        let batch = Batch::new(inputs.to_vec(), vec![class]);
        self.engine.sum(&self.parameters, &batch, Loss::SoftmaxCrossEntropy, 0)?;
        Ok(self.engine.gradient().to_vec())
    }

    /// Inputs of a class whose gradient has the direction of the one that was seen, beside those of the record.
    ///
    /// # Source
    /// Geiping et al. 2020, "Inverting gradients: how easy is it to break privacy in federated learning?", equation 4, without its
    /// prior of smooth images and by Adam on the slope itself, where theirs is on its sign.
    pub fn reconstruct(
        &mut self,
        seen: &[f32],
        record: &[f32],
        class: u32,
        seed: u64,
    ) -> Result<Reconstruction> {
        let mut random = SplitMix::new(seed);
        let mut inputs: Vec<f32> = record.iter().map(|_| 0.1 * random.normal()).collect();
        let (mut mean, mut square) = (vec![0.0f32; inputs.len()], vec![0.0f32; inputs.len()]);
        for step in 0..self.steps {
            let (slope, _) = self.slope(seen, &inputs, class)?;
            let rate = FIRST_CHANGE * (self.steps - step) as f32 / self.steps as f32;
            let [first, second] = BETAS.map(|beta| 1.0 - beta.powi(step as i32 + 1));
            for (place, slope) in slope.iter().enumerate() {
                mean[place] += (1.0 - BETAS[0]) * (slope - mean[place]);
                square[place] += (1.0 - BETAS[1]) * (slope * slope - square[place]);
                let length = (square[place] / second).sqrt().max(f32::MIN_POSITIVE);
                inputs[place] -= rate * mean[place] / first / length;
            }
        }
        let (_, cosine) = self.slope(seen, &inputs, class)?;
        Ok(Reconstruction { likeness: correlation(&inputs, record), inputs, cosine })
    }

    /// The slope by the inputs of one less the cosine between their gradient and the one that was seen, and the cosine.
    ///
    /// With g the gradient and s the one seen, the cosine changes by ⟨u, dg⟩ with u = (s/|s| − cos·g/|g|)/|g|, and ⟨u, dg⟩ by the
    /// inputs is the change of the loss's slope there when the weights move along u.
    fn slope(&mut self, seen: &[f32], inputs: &[f32], class: u32) -> Result<(Vec<f32>, f64)> {
        let own = self.gradient(inputs, class)?;
        let (length, other) = (norm(&own).max(1e-30), norm(seen).max(1e-30));
        let along: f64 = own.iter().zip(seen).map(|(own, seen)| f64::from(*own) * f64::from(*seen)).sum();
        let cosine = along / length / other;
        let towards = |(own, seen): (&f32, &f32)| {
            ((f64::from(*seen) / other - cosine * f64::from(*own) / length) / length) as f32
        };
        let direction: Vec<f32> = own.iter().zip(seen).map(towards).collect();
        let distance = (MOVED * norm(&self.parameters) / norm(&direction).max(1e-30)) as f32;
        let batch = Batch::new(inputs.to_vec(), vec![class]);
        let mut sides = [vec![0.0; inputs.len()], vec![0.0; inputs.len()]];
        for (side, sign) in sides.iter_mut().zip([1.0, -1.0]) {
            let both = self.parameters.iter().zip(&direction);
            let moved: Vec<f32> =
                both.map(|(value, direction)| value + sign * distance * direction).collect();
            self.engine.input_gradients(&moved, &batch, Loss::SoftmaxCrossEntropy, 0, side)?;
        }
        let slope =
            sides[0].iter().zip(&sides[1]).map(|(ahead, behind)| -(ahead - behind) / (2.0 * distance));
        Ok((slope.collect(), cosine))
    }
}

fn norm(values: &[f32]) -> f64 {
    values.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use muffle_nn::ModelDescription;
    use muffle_nn::initialise::initial_parameters;

    fn network() -> Arc<Network> {
        let text = "input = [12]\nlayers = [{ type = \"dense\", features = 16 }, { type = \"tanh\" }, { type = \"dense\", features = 3 }]";
        Arc::new(ModelDescription::from_toml(text).unwrap().network().unwrap())
    }

    fn record() -> Vec<f32> {
        let mut random = SplitMix::new(8);
        (0..12).map(|_| random.normal()).collect()
    }

    fn matching(steps: u32) -> Matching {
        Matching::new(&network(), initial_parameters(&network(), 4), steps).unwrap()
    }

    #[test]
    fn the_slope_is_that_of_differences() {
        let mut matching = matching(0);
        let seen = matching.gradient(&record(), 1).unwrap();
        let inputs: Vec<f32> = record().iter().rev().copied().collect();
        let (slope, _) = matching.slope(&seen, &inputs, 1).unwrap();
        for (place, slope) in slope.iter().enumerate() {
            let mut at = |by: f32| {
                let mut inputs = inputs.clone();
                inputs[place] += by;
                1.0 - matching.slope(&seen, &inputs, 1).unwrap().1
            };
            let difference = (at(0.01) - at(-0.01)) / 0.02;
            assert!((f64::from(*slope) - difference).abs() < 2e-3, "{place}: {slope} for {difference}");
        }
    }

    /// A gradient shows its record; one that is clipped and has noise of five times the threshold on every value does not.
    #[test]
    fn a_record_is_found_in_its_gradient_and_not_in_a_released_one() {
        let mut matching = matching(300);
        let seen = matching.gradient(&record(), 1).unwrap();
        let found = matching.reconstruct(&seen, &record(), 1, 1).unwrap();
        assert!(found.likeness > 0.95 && found.cosine > 0.99, "{found:?}");
        let mut random = SplitMix::new(2);
        let length = norm(&seen) as f32;
        let noisy: Vec<f32> = seen.iter().map(|value| value / length + 5.0 * random.normal()).collect();
        let found = matching.reconstruct(&noisy, &record(), 1, 1).unwrap();
        // Twelve numbers that have nothing to do with each other have a correlation of 0.3 or so.
        assert!(found.likeness < 0.8, "{found:?}");
    }
}
