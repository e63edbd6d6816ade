//! What a step of a critic has beside its records: the records that a generator makes.

use crate::adversarial::Rows;
use crate::clip::{Clip, Flat};
use muffle_nn::initialise::{SplitMix, initial_parameters};
use muffle_nn::models::generative;
use muffle_nn::{Engine, Loss, Network, Options, Purpose, Result};
use std::sync::Arc;

/// A generator, and the critic's gradients on what it makes.
pub(super) struct Adversary {
    generator: Engine,
    parameters: Vec<f32>,
    critic: Engine,
    clip: Option<Flat>,
    random: SplitMix,
    batch: usize,
}

impl Adversary {
    /// Of a critic in steps of so many made records, each clipped as records are where there is a threshold.
    pub fn new(
        critic: Arc<Network>,
        batch: usize,
        threshold: Option<f64>,
        options: Options,
    ) -> Result<Adversary> {
        let network = Arc::new(generative::generator().network()?);
        let parameters = initial_parameters(&network, 1);
        let generator = Engine::new(network, Options { purpose: Purpose::Evaluate, ..options })?;
        let clip = threshold.map(Flat::new);
        Ok(Adversary {
            generator,
            parameters,
            critic: Engine::new(critic, options)?,
            clip,
            random: SplitMix::new(1),
            batch,
        })
    }

    /// The sum of the critic's gradients on newly made records.
    pub fn gradient(&mut self, critic: &[f32], step: u64) -> Result<&[f32]> {
        let (latent, record) =
            (self.generator.network().input().len(), self.generator.network().output().len());
        let asked: Vec<f32> = (0..self.batch * latent).map(|_| self.random.normal()).collect();
        let mut made = vec![0.0; self.batch * record];
        let asked = Rows::new(latent, 0, asked, Vec::new());
        self.generator.outputs(&self.parameters, &asked, &mut made)?;
        let rows = judged(record, self.critic.network().output().len(), made, -1.0);
        match &self.clip {
            Some(clip) => {
                let weigh = |norms: &[f64], factors: &mut [f32]| clip.factors(norms, factors);
                self.critic.weighted_sum(critic, &rows, Loss::Logistic, step, &weigh)?;
            }
            None => {
                self.critic.sum(critic, &rows, Loss::Logistic, step)?;
            }
        }
        Ok(self.critic.gradient())
    }
}

/// Records of the classes one after the other, of which a critic should say the same.
pub(super) fn judged(width: usize, classes: usize, inputs: Vec<f32>, verdict: f32) -> Rows {
    let count = inputs.len() / width;
    let mut targets = vec![0.0; count * classes];
    for (record, row) in targets.chunks_exact_mut(classes).enumerate() {
        row[record % classes] = verdict;
    }
    Rows::new(width, classes, inputs, targets)
}
