//! Symmetric Gaussian noise.

use crate::noise::{GaussianNoise, Key, Purpose, Stream};
use nalgebra::DMatrix;

/// Noisy entries are rounded to this part of the standard deviation. The noise is drawn in single precision, and below its
/// last bits those of the sum in double precision would show; this lies well above them, and well below the noise.
const GRAIN: f64 = 1.0 / 65_536.0;

/// Adds independent noise to every entry of the upper triangle and mirrors it.
pub(super) fn add(mut matrix: DMatrix<f64>, standard_deviation: f64, key: &Key) -> DMatrix<f64> {
    let noise = GaussianNoise::new(key, Stream::new(Purpose::StatisticNoise, 0));
    let mut normals = vec![0.0f32; matrix.nrows()];
    for column in 0..matrix.ncols() {
        // The triangle column by column: 0, then 1 and 2, then 3 to 5.
        let normals = &mut normals[..=column];
        noise.fill((column * (column + 1) / 2) as u64, standard_deviation as f32, normals);
        for (row, normal) in normals.iter().enumerate() {
            let mut value = matrix[(row, column)] + f64::from(*normal);
            if standard_deviation > 0.0 {
                let grain = GRAIN * standard_deviation;
                value = (value / grain).round() * grain;
            }
            matrix[(row, column)] = value;
            matrix[(column, row)] = value;
        }
    }
    matrix
}
