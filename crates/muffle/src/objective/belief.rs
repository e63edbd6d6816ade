//! A belief network in training: layers that are done, and the machine that learns from what they see.

use super::choices::{Belief, Filters};
use super::features::FeatureMap;
use super::frozen::Frozen;
use super::in_parts::in_parts;
use crate::clip::factor;
use crate::error::Result;
use crate::mechanism::{BoundedVector, NoiseKind};
use muffle_nn::boltzmann::Boltzmann;
use muffle_nn::{Examples, Shape};

/// From which the first weights of a machine follow, and their deviation: public.
const SEED: u64 = 1;
const DEVIATION: f32 = 0.25;

/// Filters, layer by layer.
pub struct BeliefTraining {
    choice: Belief,
    below: Frozen,
    machine: Boltzmann,
    /// Of the machine that is being trained; those of the last one once all are done.
    parameters: Vec<f32>,
    /// Parameters of layers that are done.
    done: Vec<Vec<f32>>,
    /// Steps that the layer in training has taken, of so many.
    step: u64,
    steps: u64,
}

impl BeliefTraining {
    /// Before the first step, for records of this shape.
    pub fn new(choice: &Belief, input: Shape, steps: u64) -> Result<BeliefTraining> {
        let below = Frozen::new(input, choice.descent.range);
        let machine = machine(&below, choice.layers[0])?;
        let parameters = machine.initial(SEED, DEVIATION);
        Ok(BeliefTraining {
            choice: choice.clone(),
            below,
            machine,
            parameters,
            done: Vec::new(),
            step: 0,
            steps,
        })
    }

    /// The features that layers of these sizes make before they have learned anything.
    pub fn untrained(choice: &Belief, input: Shape, noise: NoiseKind) -> Result<FeatureMap> {
        let mut training = BeliefTraining::new(choice, input, 1)?;
        choice.layers.iter().try_for_each(|_| training.freeze())?;
        training.map(noise)
    }

    /// Numbers of a release.
    pub fn width(&self) -> usize {
        self.machine.parameter_len()
    }

    /// The sum of the contrastive divergences of some records, each clipped.
    ///
    /// # Guarantee
    /// One record changes it by at most the threshold in L2 norm: each is brought to it with a margin of 10⁻⁵, in double precision
    /// from there on; one that is not finite contributes nothing.
    pub fn statistics(&self, records: &dyn Examples, threads: Option<usize>) -> Result<BoundedVector> {
        let (visible, width) = (self.below.visible(records, threads)?, self.machine.visible_len());
        let threshold = self.choice.threshold;
        let sum = in_parts(&visible, width, self.width(), |record, sum| {
            let contrast = self.machine.contrast(&self.parameters, record, &self.choice.units);
            let square: f64 = contrast.iter().map(|value| f64::from(*value).powi(2)).sum();
            if square.is_finite() {
                let factor = f64::from(factor(square, threshold));
                sum.iter_mut().zip(&contrast).for_each(|(sum, value)| *sum += factor * f64::from(*value));
            }
        });
        Ok(BoundedVector::l2(sum, threshold))
    }

    /// Moves the filters by a released sum, and goes on to the next layer where this one is done.
    pub fn learn(&mut self, released: &[f32]) -> Result<()> {
        let rate = (self.choice.descent.rate / self.choice.descent.batch) as f32;
        self.parameters.iter_mut().zip(released).for_each(|(value, sum)| *value += rate * sum);
        self.step += 1;
        if self.step == self.steps { self.freeze() } else { Ok(()) }
    }

    /// Freezes the layer, and begins the next one.
    fn freeze(&mut self) -> Result<()> {
        let (layer, units) = (self.choice.layers[self.done.len()], self.choice.units);
        self.below.push_filters(&self.machine, layer, units, &self.parameters)?;
        self.done.push(self.parameters.clone());
        self.step = 0;
        if let Some(next) = self.choice.layers.get(self.done.len()) {
            self.machine = machine(&self.below, *next)?;
            self.parameters = self.machine.initial(SEED, DEVIATION);
        }
        Ok(())
    }

    /// The features that all layers make, of a norm of at most one.
    pub fn map(&self, noise: NoiseKind) -> Result<FeatureMap> {
        self.below.map(noise)
    }

    /// Parameters of all layers so far, that in training included.
    pub fn state(&self) -> Vec<Vec<f32>> {
        let current = (self.done.len() < self.choice.layers.len()).then(|| self.parameters.clone());
        self.done.iter().cloned().chain(current).collect()
    }

    /// Goes on after so many steps, with the parameters of all layers so far.
    pub fn restore(&mut self, state: &[Vec<f32>], steps: u64) -> Result<()> {
        for parameters in state {
            self.parameters.clone_from(parameters);
            if self.done.len() < (steps / self.steps) as usize {
                self.freeze()?;
            }
        }
        self.step = steps % self.steps;
        Ok(())
    }
}

fn machine(below: &Frozen, layer: Filters) -> Result<Boltzmann> {
    Ok(Boltzmann::new(below.output(), layer.count, layer.window, layer.stride)?)
}
