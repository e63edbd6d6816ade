//! Dropout: sets values to zero at random, in training only.

use crate::error::Result;
use crate::kernel::instructions::vectorised;
use crate::layer::RelevanceRule;
use crate::layer::{Backward, Forward, Layer, Pass, Purpose};
use crate::layers::Context;
use crate::shape::Shape;
use crate::split_mix::SplitMix;

/// Inverted dropout: what stays is scaled up, so that evaluation needs no change.
///
/// The mask is a function of step, layer, record, view and element. It is computed again on the way back instead of kept,
/// and does not depend on the other records, threads or micro-batches.
///
/// # Source
/// Srivastava et al. 2014, "Dropout: a simple way to prevent neural networks from overfitting", section 10.
pub struct Dropout {
    shape: Shape,
    scale: f32,
    /// Hashes below this are dropped.
    threshold: u32,
    /// Tells the layers of a network apart.
    salt: u64,
}

impl Dropout {
    /// Drops each value with probability `rate`.
    pub fn new(context: &Context, rate: f32) -> Result<Dropout> {
        if !(0.0..1.0).contains(&rate) {
            return context.refuse(&format!("its rate of {rate} must be at least 0 and below 1"));
        }
        let mix = |salt: u64, byte: u8| (salt ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        Ok(Dropout {
            shape: context.input,
            scale: 1.0 / (1.0 - rate),
            threshold: (f64::from(rate) * 2f64.powi(32)) as u32,
            salt: context.name.bytes().fold(0xcbf2_9ce4_8422_2325, mix),
        })
    }

    fn apply(&self, pass: &Pass, source: &[f32], target: &mut [f32]) {
        let width = self.shape.len();
        let examples = source.chunks_exact(width).zip(target.chunks_exact_mut(width));
        let step = SplitMix::new(pass.seed ^ self.salt).bits();
        for ((source, target), key) in examples.zip(pass.keys) {
            let key = SplitMix::new(step.wrapping_add(*key)).bits();
            mask(key, self.threshold, self.scale, source, target);
        }
    }
}

vectorised! {
    /// Copies values, each scaled or set to zero.
    ///
    /// # Source
    /// The 32-bit mixer `lowbias32` of Wellons 2018, "Prospecting for hash functions", keyed before each round.
    fn mask(key: u64, threshold: u32, scale: f32, source: &[f32], target: &mut [f32]) {
        let (low, high) = (key as u32, (key >> 32) as u32);
        for (element, (target, source)) in target.iter_mut().zip(source).enumerate() {
            let mut hash = (element as u32) ^ low;
            hash = (hash ^ (hash >> 16)).wrapping_mul(0x7feb_352d) ^ high;
            hash = (hash ^ (hash >> 15)).wrapping_mul(0x846c_a68b);
            hash ^= hash >> 16;
            // A product, not a choice, so that NaN stays visible.
            *target = source * if hash < threshold { 0.0 } else { scale };
        }
    }
}

impl Layer for Dropout {
    fn kind(&self) -> &'static str {
        "dropout"
    }

    fn output(&self) -> Shape {
        self.shape
    }

    fn forward(&self, Forward { pass, input, output, .. }: Forward) {
        if pass.purpose == Purpose::Evaluate {
            output.copy_from_slice(input);
        } else {
            self.apply(pass, input, output);
        }
    }

    fn backward(&self, Backward { pass, upstream, downstream, .. }: Backward) {
        if let Some(downstream) = downstream {
            self.apply(pass, upstream, downstream);
        }
    }

    /// Nothing is dropped outside of training.
    fn relevance(&self) -> Option<RelevanceRule> {
        Some(RelevanceRule::Through)
    }
}
