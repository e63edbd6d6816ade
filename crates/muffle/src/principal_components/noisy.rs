//! Symmetric Gaussian noise.

use crate::noise::{GaussianNoise, Key, Purpose, Stream, coarsen};
use nalgebra::DMatrix;

/// Adds independent noise to every entry of the upper triangle and mirrors it.
pub(super) fn add(mut matrix: DMatrix<f64>, standard_deviation: f64, key: &Key) -> DMatrix<f64> {
    let noise = GaussianNoise::new(key, Stream::new(Purpose::StatisticNoise, 0));
    let mut normals = vec![0.0f32; matrix.nrows()];
    for column in 0..matrix.ncols() {
        // The triangle column by column: 0, then 1 and 2, then 3 to 5.
        let normals = &mut normals[..=column];
        noise.fill((column * (column + 1) / 2) as u64, standard_deviation as f32, normals);
        for (row, normal) in normals.iter().enumerate() {
            let value = coarsen(matrix[(row, column)] + f64::from(*normal), standard_deviation);
            matrix[(row, column)] = value;
            matrix[(column, row)] = value;
        }
    }
    matrix
}
