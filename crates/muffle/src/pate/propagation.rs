//! Answers that spread over the public pool, from neighbour to neighbour.

use crate::data::View;
use crate::error::Result;
use crate::features::Features;
use crate::train::Evaluator;
use muffle_nn::Examples;
use muffle_nn::kernel::matrix::{Matrix, product};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// How often every record listens to its neighbours: what comes from further away than this counts little at the usual reach.
const ROUNDS: usize = 60;

/// Records whose neighbours are looked for together.
const TOGETHER: usize = 256;

/// How answers spread over the pool before the student begins: a record has the class of those that it is like. The student then
/// begins with the classes of the surest records, in place of answers alone.
///
/// # Source
/// Zhou, Bousquet, Lal, Weston and Schölkopf 2004, "Learning with local and global consistency"; each record has a scale of its own as in
/// Zelnik-Manor and Perona 2004, "Self-tuning spectral clustering".
///
/// # Guarantee
/// The pool is public and the answers are released: all of it is post-processing (R9).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Propagation {
    /// What is made of records before they are compared; they are compared as they are if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub features: Option<Features>,
    /// So many records, the nearest, are neighbours of a record.
    #[serde(default = "neighbours")]
    pub neighbours: usize,
    /// The share of what the neighbours say in what a record says; the rest is its own answer.
    #[serde(default = "reach")]
    pub reach: f64,
    /// The share of the pool, the surest records, whose classes the student begins with.
    #[serde(default = "share")]
    pub share: f64,
}

fn neighbours() -> usize {
    10
}

fn reach() -> f64 {
    0.95
}

fn share() -> f64 {
    0.9
}

/// What is thought of a record: the most likely class, and its probability.
pub(super) type Opinion = (u32, f64);

impl Propagation {
    /// Checks the range of every number by itself.
    pub(super) fn check(&self) -> std::result::Result<(), String> {
        if self.neighbours == 0 {
            return Err("neighbours = 0 is outside 1 and above".to_string());
        }
        for (key, value) in [("reach", self.reach), ("share", self.share)] {
            if !(value > 0.0 && value < 1.0) {
                return Err(format!("{key} = {value} is outside (0, 1)"));
            }
        }
        Ok(())
    }

    /// What the answers say of every record of the pool.
    pub(super) fn opinions(
        &self,
        pool: &View,
        answers: &[(usize, u32)],
        classes: usize,
        threads: Option<usize>,
    ) -> Result<Vec<Opinion>> {
        let graph = Graph::new(&self.values(pool, threads)?, pool.len(), self.neighbours);
        Ok(graph.spread(answers, classes, self.reach as f32))
    }

    /// From which probability on an opinion is among the surest ones.
    pub(super) fn sure(&self, opinions: &[Opinion]) -> f64 {
        let mut probabilities: Vec<f64> = opinions.iter().map(|(_, probability)| *probability).collect();
        probabilities.sort_by(f64::total_cmp);
        let doubtful = ((1.0 - self.share) * probabilities.len() as f64) as usize;
        probabilities.get(doubtful).copied().unwrap_or(0.0)
    }

    /// What is compared, record after record.
    fn values(&self, pool: &View, threads: Option<usize>) -> Result<Vec<f32>> {
        let input = pool.dataset().input();
        let Some(features) = &self.features else {
            let mut values = vec![0.0; pool.len() * input.len()];
            let rows = values.par_chunks_mut(input.len()).enumerate();
            rows.for_each(|(record, values)| pool.read(record, values));
            return Ok(values);
        };
        let mut evaluator = Evaluator::new(Arc::new(features.network(input)?), threads)?;
        evaluator.outputs(&features.parameters(input)?, pool)
    }
}

/// Which records are neighbours, and how much they hear of each other.
struct Graph {
    /// For every record the others that it hears, each with a weight.
    edges: Vec<Vec<(usize, f32)>>,
}

impl Graph {
    /// Of so many records with these values, each beside so many others. Two are neighbours if one of them is near to the other.
    fn new(values: &[f32], records: usize, neighbours: usize) -> Graph {
        let nearest = nearest(values, records, neighbours);
        // The square of how far the last neighbour is.
        let scale = |record: usize| nearest[record].last().map_or(0.0, |(_, squared)| *squared);
        let mut edges: Vec<Vec<(usize, f32)>> = vec![Vec::new(); records];
        for (record, others) in nearest.iter().enumerate() {
            for &(other, squared) in others {
                let scale = (scale(record) * scale(other)).sqrt();
                let weight = if scale > 0.0 { (-squared / scale).exp() } else { 1.0 };
                edges[record].push((other, weight));
                edges[other].push((record, weight));
            }
        }
        for edges in &mut edges {
            edges.sort_by_key(|edge| edge.0);
            edges.dedup_by_key(|edge| edge.0);
        }
        let degrees: Vec<f32> = edges
            .iter()
            .map(|edges| edges.iter().map(|edge| edge.1).sum::<f32>().max(f32::MIN_POSITIVE))
            .collect();
        for (record, edges) in edges.iter_mut().enumerate() {
            edges
                .iter_mut()
                .for_each(|(other, weight)| *weight /= (degrees[record] * degrees[*other]).sqrt());
        }
        Graph { edges }
    }

    /// Lets answers spread. A record that none reaches has no opinion: a probability of 0.
    fn spread(&self, answers: &[(usize, u32)], classes: usize, reach: f32) -> Vec<Opinion> {
        let mut own = vec![0.0; self.edges.len() * classes];
        answers.iter().for_each(|(record, class)| own[record * classes + *class as usize] = 1.0 - reach);
        let mut said = own.clone();
        for _ in 0..ROUNDS {
            let mut next = own.clone();
            next.par_chunks_exact_mut(classes).zip(&self.edges).for_each(|(next, edges)| {
                for (other, weight) in edges {
                    let heard = &said[other * classes..][..classes];
                    next.iter_mut().zip(heard).for_each(|(next, heard)| *next += reach * weight * heard);
                }
            });
            said = next;
        }
        said.chunks_exact(classes).map(most_likely).collect()
    }
}

/// The class for which most speaks, and its share.
fn most_likely(said: &[f32]) -> Opinion {
    let better = |best: usize, class: usize| if said[class] > said[best] { class } else { best };
    let class = (0..said.len()).fold(0, better);
    let sum: f32 = said.iter().sum();
    (class as u32, if sum > 0.0 { f64::from(said[class] / sum) } else { 0.0 })
}

/// The nearest others of every record, nearest first, each with the square of its distance.
fn nearest(values: &[f32], records: usize, count: usize) -> Vec<Vec<(usize, f32)>> {
    let (width, count) = (values.len() / records.max(1), count.min(records.saturating_sub(1)));
    let squares: Vec<f32> =
        values.par_chunks_exact(width).map(|row| row.iter().map(|value| value * value).sum()).collect();
    let all = Matrix::rows(values, records, width).transposed();
    let find = |(block, rows): (usize, &[f32])| {
        let mut products = vec![0.0; rows.len() / width * records];
        product(Matrix::rows(rows, rows.len() / width, width), all, false, &mut products, records);
        let find = |(place, products): (usize, &[f32])| {
            let record = block * TOGETHER + place;
            let squared = |other: usize| (squares[record] + squares[other] - 2.0 * products[other]).max(0.0);
            let mut others: Vec<(usize, f32)> =
                (0..records).filter(|&other| other != record).map(|other| (other, squared(other))).collect();
            let nearer = |left: &(usize, f32), right: &(usize, f32)| {
                left.1.total_cmp(&right.1).then(left.0.cmp(&right.0))
            };
            if count < others.len() {
                others.select_nth_unstable_by(count, nearer);
                others.truncate(count);
                // Room for all others, kept for every record, would take gigabytes.
                others.shrink_to_fit();
            }
            others.sort_by(nearer);
            others
        };
        products.chunks_exact(records).enumerate().map(find).collect::<Vec<_>>()
    };
    values.par_chunks(TOGETHER * width).enumerate().map(find).collect::<Vec<_>>().concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two rows of points, far apart: 0 to 29 and 100 to 129.
    fn rows() -> Vec<f32> {
        (0..30).chain(100..130).map(|place| place as f32).collect()
    }

    #[test]
    fn the_nearest_are_found_across_blocks() {
        let values: Vec<f32> = (0..2 * TOGETHER).map(|place| place as f32).collect();
        let found = nearest(&values, values.len(), 2);
        assert_eq!(found[0], [(1, 1.0), (2, 4.0)]);
        assert_eq!(found[TOGETHER], [(TOGETHER - 1, 1.0), (TOGETHER + 1, 1.0)]);
        // Fewer records than neighbours are asked for: all others.
        assert_eq!(nearest(&[0.0, 3.0], 2, 10), [[(1, 9.0)], [(0, 9.0)]]);
    }

    /// One answer each reaches its whole row, and a wrong one is outvoted by the right ones around it.
    #[test]
    fn answers_spread_along_their_neighbours() {
        let graph = Graph::new(&rows(), 60, 4);
        let opinions = graph.spread(&[(3, 0), (33, 1)], 2, 0.95);
        assert!((0..60).all(|record| opinions[record].0 == u32::from(record >= 30)), "{opinions:?}");
        let answers: Vec<(usize, u32)> = (0..30).map(|record| (record, u32::from(record == 12))).collect();
        let opinions = graph.spread(&answers, 2, 0.95);
        assert_eq!(opinions[12].0, 0, "{opinions:?}");
        // Nobody has heard anything in the other row.
        assert_eq!(opinions[45].1, 0.0);
    }

    #[test]
    fn equal_records_are_neighbours_without_a_scale() {
        let opinions = Graph::new(&[1.0; 6], 6, 2).spread(&[(0, 1)], 2, 0.9);
        assert!(
            opinions.iter().all(|(class, probability)| (*class, *probability) == (1, 1.0)),
            "{opinions:?}"
        );
    }

    #[test]
    fn the_surest_share_is_taken() {
        let opinions: Vec<Opinion> = (0..10).map(|tenths| (0, f64::from(tenths) / 10.0)).collect();
        let rule = Propagation { features: None, neighbours: 1, reach: 0.5, share: 0.75 };
        assert_eq!(rule.sure(&opinions), 0.2);
    }
}
