//! Sums of which one record can move only so far.

use super::counted::Counted;
use crate::chunk::CHUNK;
use crate::clip::Bounds;
use muffle_nn::Engine;
use rayon::prelude::*;

/// A sum of gradients in which every record has a bounded part, perhaps with counts of the same records beside it. It is not
/// private yet and shows nothing of itself; [`Mechanism::release`](super::Mechanism::release) takes its noise from the bound.
#[must_use = "a bounded sum is of use only to a release"]
pub struct Bounded<'a> {
    pub(super) engine: &'a mut Engine,
    pub(super) bound: Bound,
    pub(super) counted: Option<Counted>,
}

/// The most that one record changes a sum of gradients.
pub(super) enum Bound {
    /// In L2 norm, by groups of tensors.
    Groups(Bounds),
    /// In L2 norm, with every coordinate in a unit of its own.
    Units { units: Vec<f32>, threshold: f64 },
    /// In L1 norm.
    L1(f64),
}

impl<'a> Bounded<'a> {
    pub(super) fn new(engine: &'a mut Engine, bound: Bound) -> Bounded<'a> {
        Bounded { engine, bound, counted: None }
    }

    pub(super) fn with_counts(self, counted: Counted) -> Bounded<'a> {
        Bounded { counted: Some(counted), ..self }
    }
}

impl Bound {
    /// Panics unless the bound fits the network.
    pub fn check(&self, engine: &Engine) {
        match self {
            Bound::Groups(bounds) => bounds.check_tensors(engine.network().parameters().len()),
            Bound::Units { units, .. } => {
                assert_eq!(units.len(), engine.network().parameter_len(), "one unit for every parameter");
                let good = |unit: &f32| unit.is_normal() && *unit > 0.0;
                assert!(
                    extremes(engine, units).iter().all(good),
                    "limits and units are positive finite numbers"
                );
            }
            Bound::L1(_) => {}
        }
    }
}

/// The smallest and the largest of the units, on all threads; if one is not a positive number, then one of the two is not.
pub(super) fn extremes(engine: &Engine, units: &[f32]) -> [f32; 2] {
    // Positive numbers are in the order of their bits; infinity, NaN and whatever has a sign come behind them.
    let both = |[least, most]: [u32; 2], [first, second]: [u32; 2]| [least.min(first), most.max(second)];
    let bits = |units: &[f32]| units.iter().map(|unit| [unit.to_bits(); 2]).fold([u32::MAX, 0], both);
    let found = engine.pool().install(|| units.par_chunks(CHUNK).map(bits).reduce(|| [u32::MAX, 0], both));
    if units.is_empty() { [1.0; 2] } else { found.map(f32::from_bits) }
}
