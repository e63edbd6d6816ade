//! Sums of which one record can move only so far.

use super::counted::Counted;
use super::grid::Grid;
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
    /// In L2 norm, with every coordinate in a unit of its own: that of the engine's grid.
    Units { threshold: f64 },
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

/// The grid of each group of tensors.
pub(super) fn grids(bounds: &Bounds, lens: &[usize]) -> Vec<Grid> {
    bounds.check_tensors(lens.len());
    let mut dimensions = vec![0; bounds.thresholds().len()];
    lens.iter().enumerate().for_each(|(tensor, len)| dimensions[bounds.group(tensor)] += len);
    bounds.thresholds().iter().zip(&dimensions).map(|(threshold, len)| Grid::l2(*threshold, *len)).collect()
}

/// Neighbouring tensors of one group: where they end, the first of them, and the grid of their group.
pub(super) fn stretches(bounds: &Bounds, lens: &[usize]) -> Vec<(usize, usize, Grid)> {
    let grids = grids(bounds, lens);
    let mut stretches: Vec<(usize, usize, Grid)> = Vec::new();
    let mut end = 0;
    for (tensor, len) in lens.iter().enumerate() {
        end += len;
        match stretches.last_mut() {
            Some((last, first, _)) if bounds.group(*first) == bounds.group(tensor) => *last = end,
            _ => stretches.push((end, tensor, grids[bounds.group(tensor)])),
        }
    }
    stretches
}

/// The smallest and the largest of the units, on all threads; if one is not a positive number, then one of the two is not.
pub(super) fn extremes(engine: &Engine, units: &[f32]) -> [f32; 2] {
    // Positive numbers are in the order of their bits; infinity, NaN and whatever has a sign come behind them.
    let both = |[least, most]: [u32; 2], [first, second]: [u32; 2]| [least.min(first), most.max(second)];
    let bits = |units: &[f32]| units.iter().map(|unit| [unit.to_bits(); 2]).fold([u32::MAX, 0], both);
    let found = engine.pool().install(|| units.par_chunks(CHUNK).map(bits).reduce(|| [u32::MAX, 0], both));
    if units.is_empty() { [1.0; 2] } else { found.map(f32::from_bits) }
}
