//! What a clip rule promises.

use super::{Allocation, MARGIN};

/// Groups of tensors with the threshold of each.
#[derive(Clone, Debug, PartialEq)]
pub struct Bounds {
    groups: Groups,
    thresholds: Vec<f64>,
}

/// The group of each tensor.
#[derive(Clone, Debug, PartialEq)]
enum Groups {
    /// All tensors are one group.
    Whole,
    /// Written out.
    Listed(Vec<usize>),
}

impl Bounds {
    /// One threshold for the gradient as a whole.
    ///
    /// # Panics
    /// If the threshold is not a positive finite number.
    pub fn whole(threshold: f64) -> Bounds {
        Bounds { groups: Groups::Whole, thresholds: checked(vec![threshold]) }
    }

    /// Tensor `t` belongs to group `group_of_tensor[t]`, and group `g` has threshold `thresholds[g]`.
    ///
    /// # Panics
    /// If a threshold is not a positive finite number, a tensor names a group that does not exist, or a group has no
    /// tensor.
    pub fn listed(group_of_tensor: Vec<usize>, thresholds: Vec<f64>) -> Bounds {
        let groups = thresholds.len();
        if let Some(group) = group_of_tensor.iter().find(|&&group| group >= groups) {
            panic!("a tensor is in group {group}, but there are {groups} groups, counted from 0");
        }
        if let Some(group) = (0..groups).find(|group| !group_of_tensor.contains(group)) {
            panic!("group {group} has no tensor");
        }
        Bounds { groups: Groups::Listed(group_of_tensor), thresholds: checked(thresholds) }
    }

    /// The threshold of each group.
    pub fn thresholds(&self) -> &[f64] {
        &self.thresholds
    }

    /// The group of a tensor.
    pub fn group(&self, tensor: usize) -> usize {
        match &self.groups {
            Groups::Whole => 0,
            Groups::Listed(groups) => groups[tensor],
        }
    }

    /// The threshold of the group of each tensor.
    pub fn by_tensor(&self, tensors: usize) -> Vec<f64> {
        (0..tensors).map(|tensor| self.thresholds[self.group(tensor)]).collect()
    }

    /// The most that one record changes the sum, in L2 norm.
    ///
    /// # Source
    /// Rule R5: √Σ C² over the groups.
    pub fn sensitivity(&self) -> f64 {
        self.thresholds.iter().map(|threshold| threshold * threshold).sum::<f64>().sqrt()
    }

    /// Standard deviation of the noise on each tensor, so that the whole is one Gaussian mechanism with this multiplier.
    ///
    /// `lens` are the numbers of values in the tensors.
    ///
    /// # Guarantee
    /// Σ C²/τ² over the groups is 1/`noise_multiplier`², whatever the allocation (R5).
    ///
    /// # Panics
    /// If the rule was made for another number of tensors.
    pub fn deviations(&self, allocation: Allocation, noise_multiplier: f64, lens: &[usize]) -> Vec<f64> {
        self.check_tensors(lens.len());
        let mut dimensions = vec![0; self.thresholds.len()];
        lens.iter().enumerate().for_each(|(tensor, len)| dimensions[self.group(tensor)] += len);
        let multipliers = allocation.deviations(&self.thresholds, &dimensions);
        (0..lens.len()).map(|tensor| noise_multiplier * multipliers[self.group(tensor)]).collect()
    }

    /// Whether factors keep one record within all thresholds, and at least half a [`MARGIN`] below; `false` also for
    /// numbers that are not finite.
    pub fn hold(&self, squared_norms: &[f64], factors: &[f32]) -> bool {
        (0..self.thresholds.len()).all(|group| {
            let square = |(tensor, (norm, factor)): (usize, (&f64, &f32))| {
                let own = self.group(tensor) == group;
                if own { f64::from(*factor).powi(2) * norm } else { 0.0 }
            };
            let total: f64 = squared_norms.iter().zip(factors).enumerate().map(square).sum();
            total <= (0.5 * (1.0 + MARGIN) * self.thresholds[group]).powi(2)
        })
    }

    /// Panics if the groups were listed for another number of tensors.
    pub(crate) fn check_tensors(&self, tensors: usize) {
        if let Groups::Listed(groups) = &self.groups {
            assert_eq!(groups.len(), tensors, "groups are listed for as many tensors as the network has");
        }
    }
}

fn checked(thresholds: Vec<f64>) -> Vec<f64> {
    for threshold in &thresholds {
        // In single precision, like the sums that it bounds.
        let single = *threshold as f32;
        assert!(
            single.is_normal() && single > 0.0,
            "a clip threshold of {threshold} is not a positive finite number"
        );
    }
    thresholds
}
