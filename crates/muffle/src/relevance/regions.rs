//! Regions: features of like relevance, joined.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// When to stop joining regions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Until {
    /// When no two of them are nearer than this: the γ of the paper.
    Distance(f64),
    /// When so many are left.
    Count(usize),
}

/// Features in regions, which are numbered by rising relevance.
#[derive(Clone, Debug, PartialEq)]
pub struct Regions {
    /// The region of each feature.
    pub of: Vec<usize>,
    /// The mean relevance of each region.
    pub means: Vec<f64>,
    /// How many features each region has.
    pub sizes: Vec<usize>,
}

/// A region on the way: features that are neighbours in value.
#[derive(Clone, Copy)]
struct Cluster {
    sum: f64,
    size: usize,
    /// First place behind it, where the next region begins.
    end: usize,
    /// Where the region before it begins.
    before: usize,
    /// How often it has grown: what was noted of it earlier is out of date.
    grown: u32,
}

impl Cluster {
    fn mean(&self) -> f64 {
        self.sum / self.size as f64
    }
}

impl Regions {
    /// Joins the two nearest regions again and again, beginning with a region for every feature. The distance of two regions is
    /// the mean over all pairs of their features of the absolute difference in relevance (average linkage).
    ///
    /// On a line a region holds all features between two values, and of two such regions the distance is the difference of
    /// their means: only neighbours can be nearest, and a heap over them takes O(d log d) steps for d features. Where
    /// distances are equal, the lower pair is joined first.
    ///
    /// # Source
    /// Wang et al. 2023, "Preserving differential privacy in deep learning based on feature relevance region segmentation",
    /// Algorithm 1; the paper keeps a matrix of all distances.
    ///
    /// # Panics
    /// Without values, or if one is not a finite number.
    pub fn new(values: &[f64], until: Until) -> Regions {
        assert!(!values.is_empty() && values.iter().all(|value| value.is_finite()), "finite relevances");
        let mut order: Vec<usize> = (0..values.len()).collect();
        order.sort_by(|left, right| values[*left].total_cmp(&values[*right]).then(left.cmp(right)));
        let cluster = |(place, feature): (usize, &usize)| Cluster {
            sum: values[*feature],
            size: 1,
            end: place + 1,
            before: place.saturating_sub(1),
            grown: 0,
        };
        // By the place where a region begins; places inside regions are out of use.
        let mut clusters: Vec<Cluster> = order.iter().enumerate().map(cluster).collect();
        let mut heap = BinaryHeap::new();
        (1..clusters.len()).for_each(|right| heap.push(pair(&clusters, right - 1, right)));
        let mut left_over = clusters.len();
        while let Some(Reverse((distance, left, noted))) = heap.pop() {
            let enough = match until {
                Until::Distance(limit) => f64::from_bits(distance) >= limit,
                Until::Count(count) => left_over <= count,
            };
            let right = clusters[left].end;
            // Of a pair that has changed since, a newer note is in the heap.
            if right == clusters.len() || noted != [clusters[left].grown, clusters[right].grown] {
                continue;
            }
            if enough {
                break;
            }
            let Cluster { sum, size, end, .. } = clusters[right];
            let joined = &mut clusters[left];
            (joined.sum, joined.size, joined.end) = (joined.sum + sum, joined.size + size, end);
            joined.grown += 1;
            // What was noted of the one that is gone must not be believed.
            clusters[right].grown = u32::MAX;
            left_over -= 1;
            if end < clusters.len() {
                clusters[end].before = left;
                heap.push(pair(&clusters, left, end));
            }
            if left > 0 {
                heap.push(pair(&clusters, clusters[left].before, left));
            }
        }
        Regions::collect(&order, &clusters)
    }

    fn collect(order: &[usize], clusters: &[Cluster]) -> Regions {
        let mut regions = Regions { of: vec![0; order.len()], means: Vec::new(), sizes: Vec::new() };
        let mut begin = 0;
        while begin < order.len() {
            let cluster = clusters[begin];
            order[begin..cluster.end].iter().for_each(|feature| regions.of[*feature] = regions.means.len());
            regions.means.push(cluster.mean());
            regions.sizes.push(cluster.size);
            begin = cluster.end;
        }
        regions
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.means.len()
    }

    /// The weight α of each region, its share in the relevance over its share in the features: one on average over the features;
    /// all alike if there is no relevance.
    ///
    /// # Source
    /// Wang et al. 2023, equation (14): α_k = |R̄_k| / Σ_k μ_k|R̄_k| with μ_k = |C_k|/d.
    pub fn weights(&self) -> Vec<f64> {
        let features = self.of.len() as f64;
        let parts = self.means.iter().zip(&self.sizes);
        let mean: f64 = parts.map(|(mean, size)| *size as f64 / features * mean.abs()).sum();
        self.means.iter().map(|value| if mean > 0.0 { value.abs() / mean } else { 1.0 }).collect()
    }

    /// The weight of each feature's region.
    pub fn weight_of_features(&self) -> Vec<f64> {
        let weights = self.weights();
        self.of.iter().map(|region| weights[*region]).collect()
    }
}

/// What the heap notes of two neighbours: their distance, as bits, which are ordered as numbers from zero on are, where the first
/// begins, and how often each has grown.
fn pair(clusters: &[Cluster], left: usize, right: usize) -> Reverse<(u64, usize, [u32; 2])> {
    let distance = (clusters[right].mean() - clusters[left].mean()).max(0.0);
    Reverse((distance.to_bits(), left, [clusters[left].grown, clusters[right].grown]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use muffle_nn::initialise::SplitMix;

    /// Of 1, 2, 6, 6.5 and 20: 0.5 apart are 6 and 6.5, then 1 and 2, then 1.5 and 6.25, 4.75 apart; 3.875 and 20 remain.
    #[test]
    fn regions_by_hand() {
        let values = [6.0, 1.0, 20.0, 2.0, 6.5];
        let found = Regions::new(&values, Until::Distance(0.5));
        assert_eq!((found.count(), found.of), (5, vec![2, 0, 4, 1, 3]), "a distance of γ itself is kept");
        let found = Regions::new(&values, Until::Distance(0.6));
        assert_eq!((found.of, found.sizes), (vec![2, 0, 3, 1, 2], vec![1, 1, 2, 1]));
        let found = Regions::new(&values, Until::Distance(4.75));
        assert_eq!((found.of.clone(), found.means.clone()), (vec![1, 0, 2, 0, 1], vec![1.5, 6.25, 20.0]));
        assert_eq!(Regions::new(&values, Until::Count(3)), found);
        let found = Regions::new(&values, Until::Distance(4.8));
        assert_eq!((found.of, found.means), (vec![0, 0, 1, 0, 0], vec![3.875, 20.0]));
        assert_eq!(Regions::new(&values, Until::Distance(17.0)).count(), 1);
    }

    /// Means 1.5, 6.25 and 20 of 2, 2 and 1 features: Σμ|R̄| = 0.6 + 2.5 + 4 = 7.1. A negative mean counts by its size.
    #[test]
    fn weights_by_hand() {
        let found = Regions::new(&[6.0, 1.0, 20.0, 2.0, 6.5], Until::Count(3));
        let near = |left: f64, right: f64| (left - right).abs() < 1e-12;
        let expected = [1.5 / 7.1, 6.25 / 7.1, 20.0 / 7.1];
        assert!(found.weights().iter().zip(expected).all(|(left, right)| near(*left, right)));
        assert!(near(found.weight_of_features().iter().sum::<f64>(), 5.0));
        let negative = Regions::new(&[-3.0, 1.0], Until::Count(2));
        assert_eq!(negative.weights(), [1.5, 0.5]);
        assert_eq!(Regions::new(&[0.0, 0.0], Until::Count(2)).weights(), [1.0, 1.0]);
    }

    /// The textbook's way: a matrix of distances between all pairs of features, no order, no heap.
    fn by_matrix(values: &[f64], until: Until) -> Vec<Vec<usize>> {
        let mut regions: Vec<Vec<usize>> = (0..values.len()).map(|feature| vec![feature]).collect();
        let linkage = |left: &[usize], right: &[usize]| {
            let pairs =
                left.iter().flat_map(|one| right.iter().map(|other| (values[*one] - values[*other]).abs()));
            pairs.sum::<f64>() / (left.len() * right.len()) as f64
        };
        loop {
            let pairs =
                (0..regions.len()).flat_map(|left| (left + 1..regions.len()).map(move |right| (left, right)));
            let nearest = pairs
                .map(|(left, right)| (linkage(&regions[left], &regions[right]), left, right))
                .min_by(|one, other| one.0.total_cmp(&other.0));
            let Some((distance, left, right)) = nearest else { break };
            let enough = match until {
                Until::Distance(limit) => distance >= limit,
                Until::Count(count) => regions.len() <= count,
            };
            if enough {
                break;
            }
            let gone = regions.remove(right);
            regions[left].extend(gone);
        }
        regions.iter_mut().for_each(|region| region.sort_unstable());
        regions.sort();
        regions
    }

    #[test]
    fn a_heap_over_neighbours_finds_what_the_matrix_finds() {
        let mut generator = SplitMix::new(5);
        for (size, until) in [
            (1, Until::Count(1)),
            (40, Until::Count(6)),
            (60, Until::Distance(0.1)),
            (60, Until::Distance(0.5)),
            (50, Until::Count(1)),
        ] {
            let values: Vec<f64> = (0..size).map(|_| f64::from(generator.normal())).collect();
            let found = Regions::new(&values, until);
            let mut regions = vec![Vec::new(); found.count()];
            found.of.iter().enumerate().for_each(|(feature, region)| regions[*region].push(feature));
            regions.sort();
            assert_eq!(regions, by_matrix(&values, until), "{size} {until:?}");
        }
    }

    #[test]
    fn equal_values_are_one_region() {
        let found = Regions::new(&[2.0, 1.0, 2.0, 1.0, 2.0], Until::Distance(1e-9));
        assert_eq!((found.of, found.sizes), (vec![1, 0, 1, 0, 1], vec![2, 3]));
    }
}
