//! Asking a generator for records.

use crate::error::Result;
use muffle_nn::initialise::SplitMix;
use muffle_nn::{Engine, Network, Options, Purpose};
use std::sync::Arc;

use super::rows::Rows;

/// A generator in use: random numbers and classes in, records out.
pub struct Maker {
    engine: Engine,
    latent: usize,
    /// Classes that it is told; none if it knows of none.
    classes: usize,
}

/// Records that are made at a time.
const AT_A_TIME: usize = 4096;

impl Maker {
    /// Of a network with so many random numbers and classes as its input.
    pub fn new(
        network: Arc<Network>,
        latent: usize,
        classes: usize,
        threads: Option<usize>,
    ) -> Result<Maker> {
        let options = Options { threads, ..Options::new(Purpose::Evaluate) };
        Ok(Maker { engine: Engine::new(network, options)?, latent, classes })
    }

    /// Classes by their shares, which need not add up to one; zeros if none are told.
    pub fn classes(&self, shares: &[f32], count: usize, random: &mut SplitMix) -> Vec<u32> {
        let whole: f32 = shares.iter().sum();
        let draw = |random: &mut SplitMix| {
            let mut place = random.uniform() as f32 * whole;
            let found = shares.iter().position(|share| {
                place -= share;
                place < 0.0
            });
            // Rounding may leave a rest behind the last class that there is.
            found.or_else(|| shares.iter().rposition(|share| *share > 0.0)).unwrap_or(0) as u32
        };
        (0..count).map(|_| if self.classes > 0 { draw(random) } else { 0 }).collect()
    }

    /// Values of one input.
    pub fn width(&self) -> usize {
        self.latent + self.classes
    }

    /// Random numbers with the classes behind them.
    pub fn inputs(&self, classes: &[u32], random: &mut SplitMix) -> Vec<f32> {
        let mut inputs = Vec::with_capacity(classes.len() * self.width());
        for &class in classes {
            inputs.extend((0..self.latent).map(|_| random.normal()));
            inputs.extend((0..self.classes).map(|other| if other == class as usize { 1.0 } else { 0.0 }));
        }
        inputs
    }

    /// The records that these inputs become.
    pub fn make(&mut self, parameters: &[f32], inputs: &[f32]) -> Result<Vec<f32>> {
        let (width, record) = (self.width(), self.engine.network().output().len());
        let mut made = vec![0.0; inputs.len() / width * record];
        for (inputs, made) in inputs.chunks(AT_A_TIME * width).zip(made.chunks_mut(AT_A_TIME * record)) {
            let rows = Rows::new(width, 0, inputs.to_vec(), Vec::new());
            self.engine.outputs(parameters, &rows, made)?;
        }
        Ok(made)
    }
}
