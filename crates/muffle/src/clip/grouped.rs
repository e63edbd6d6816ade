//! One threshold for each group of tensors.

use super::{Bounds, Clip, factor};

/// Scales each group of tensors of a record's gradient as a whole.
///
/// # Source
/// Rule R5; with one group for each layer, Liu et al. 2021 (grouped gradient clipping) with public thresholds.
///
/// # Guarantee
/// Adding or removing one record changes the sum by at most √Σ C² in L2 norm (R5).
#[derive(Clone, Debug, PartialEq)]
pub struct Grouped {
    bounds: Bounds,
}

impl Grouped {
    /// Tensor `t` belongs to group `group_of_tensor[t]`, and group `g` has threshold `thresholds[g]`.
    ///
    /// # Panics
    /// As [`Bounds::listed`].
    pub fn new(group_of_tensor: Vec<usize>, thresholds: Vec<f64>) -> Grouped {
        Grouped { bounds: Bounds::listed(group_of_tensor, thresholds) }
    }
}

impl Clip for Grouped {
    fn bounds(&self) -> &Bounds {
        &self.bounds
    }

    fn factors(&self, squared_norms: &[f64], factors: &mut [f32]) {
        for (group, threshold) in self.bounds.thresholds().iter().enumerate() {
            let own = |tensor: &usize| self.bounds.group(*tensor) == group;
            let tensors = || (0..squared_norms.len()).filter(own);
            let squared_norm = tensors().map(|tensor| squared_norms[tensor]).sum();
            let factor = factor(squared_norm, *threshold);
            tensors().for_each(|tensor| factors[tensor] = factor);
        }
    }
}
