//! How far two clouds of points are from each other.

use nalgebra::{DMatrix, DVector, SymmetricEigen};
use rayon::prelude::*;

/// Neighbours that decide how large the surroundings of a point are.
const NEIGHBOURS: usize = 5;

/// The Fréchet distance of two normal distributions with the means and covariances of these rows.
///
/// # Source
/// Heusel et al. 2017, "GANs trained by a two time-scale update rule", equation 6: |m₁ − m₂|² + tr(S₁ + S₂ − 2(S₁S₂)^½).
pub fn frechet(one: &[f32], other: &[f32], width: usize) -> f64 {
    let ((mean, covariance), (other_mean, other_covariance)) = (moments(one, width), moments(other, width));
    let root = root(&covariance);
    // The traces of (S₁S₂)^½ and of (S₁^½ S₂ S₁^½)^½ are the same, and the second is symmetric.
    let product = &root * &other_covariance * &root;
    let shared: f64 =
        SymmetricEigen::new(product).eigenvalues.iter().map(|value| value.max(0.0).sqrt()).sum();
    (mean - other_mean).norm_squared() + covariance.trace() + other_covariance.trace() - 2.0 * shared
}

fn moments(rows: &[f32], width: usize) -> (DVector<f64>, DMatrix<f64>) {
    let count = rows.len() / width;
    let rows = DMatrix::from_row_iterator(count, width, rows.iter().map(|value| f64::from(*value)));
    let mean = DVector::from_iterator(width, rows.column_iter().map(|column| column.mean()));
    let centred = DMatrix::from_fn(count, width, |row, column| rows[(row, column)] - mean[column]);
    (mean, centred.transpose() * &centred / (count.max(2) - 1) as f64)
}

fn root(matrix: &DMatrix<f64>) -> DMatrix<f64> {
    let SymmetricEigen { eigenvectors, eigenvalues } = SymmetricEigen::new(matrix.clone());
    let roots = DMatrix::from_diagonal(&eigenvalues.map(|value| value.max(0.0).sqrt()));
    &eigenvectors * roots * eigenvectors.transpose()
}

fn squared(one: &[f32], other: &[f32]) -> f32 {
    one.iter().zip(other).map(|(one, other)| (one - other) * (one - other)).sum()
}

/// The distance of every row to the nearest of others.
pub fn nearest(rows: &[f32], others: &[f32], width: usize) -> Vec<f32> {
    let least = |row: &[f32]| {
        others.chunks_exact(width).map(|other| squared(row, other)).fold(f32::INFINITY, f32::min).sqrt()
    };
    rows.par_chunks_exact(width).map(least).collect()
}

/// The share of real rows that have a generated one in their surroundings, which reach to the fifth of their real neighbours.
///
/// # Source
/// Naeem et al. 2020, "Reliable fidelity and diversity metrics for generative models", section 3.2.
pub fn coverage(real: &[f32], made: &[f32], width: usize) -> f64 {
    let rows: Vec<&[f32]> = real.chunks_exact(width).collect();
    let reach = |(place, row): (usize, &&[f32])| {
        let others = rows.iter().enumerate().filter(|(other, _)| *other != place);
        let mut distances: Vec<f32> = others.map(|(_, other)| squared(row, other)).collect();
        distances.sort_by(f32::total_cmp);
        distances.get(NEIGHBOURS - 1).or(distances.last()).copied().unwrap_or(0.0).sqrt()
    };
    let reaches: Vec<f32> = rows.par_iter().enumerate().map(reach).collect();
    let covered = nearest(real, made, width).into_iter().zip(reaches).filter(|(made, reach)| made <= reach);
    covered.count() as f64 / rows.len().max(1) as f64
}

/// The correlations of all pairs of columns, with zeros for columns that stand still.
pub fn correlations(rows: &[f32], width: usize) -> DMatrix<f64> {
    let (_, covariance) = moments(rows, width);
    DMatrix::from_fn(width, width, |row, column| {
        let scale = (covariance[(row, row)] * covariance[(column, column)]).sqrt();
        if scale > 1e-12 { covariance[(row, column)] / scale } else { 0.0 }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use muffle_nn::initialise::SplitMix;

    fn cloud(count: usize, middle: [f32; 2], scale: [f32; 2], seed: u64) -> Vec<f32> {
        let mut random = SplitMix::new(seed);
        (0..count).flat_map(|_| [0, 1].map(|place| middle[place] + scale[place] * random.normal())).collect()
    }

    /// Normal clouds have a distance by hand: 3² + 4² of the means, (2 − 1)² of the deviations of the first value.
    #[test]
    fn the_distance_of_normal_clouds_is_the_formula() {
        let one = cloud(20_000, [0.0, 0.0], [1.0, 1.0], 1);
        let other = cloud(20_000, [3.0, 4.0], [2.0, 1.0], 2);
        let found = frechet(&one, &other, 2);
        assert!((found - 26.0).abs() < 0.4, "{found}");
        assert!(frechet(&one, &one, 2).abs() < 1e-9);
    }

    #[test]
    fn a_cloud_is_covered_by_itself_and_by_no_single_point() {
        let real = cloud(200, [0.0, 0.0], [1.0, 1.0], 1);
        let like = cloud(200, [0.0, 0.0], [1.0, 1.0], 2);
        assert!(coverage(&real, &like, 2) > 0.9);
        assert!(coverage(&real, &[0.0, 0.0].repeat(200), 2) < 0.2);
        assert_eq!(nearest(&[0.0, 0.0], &[3.0, 4.0, 6.0, 8.0], 2), [5.0]);
    }

    #[test]
    fn correlations_by_hand() {
        let found = correlations(&[1.0, -2.0, 2.0, -4.0, 3.0, -6.0], 2);
        assert!((found[(0, 1)] + 1.0).abs() < 1e-9 && (found[(0, 0)] - 1.0).abs() < 1e-9);
    }
}
