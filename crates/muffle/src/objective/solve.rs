//! The least of a noisy quadratic.

use super::coefficients::Coefficients;
use nalgebra::{DMatrix, SymmetricEigen};

/// What rounding leaves of an eigenvalue of zero, over the largest.
const ROUNDING: f64 = 1e-9;

/// The rows w that make Σ(t − w·h)² + `ridge`·‖w‖² least, for coefficients with noise.
///
/// Noise can turn a sum of squares into something without a least value. The nearest matrix that has one takes its place: its
/// negative eigenvalues become zero.
///
/// # Source
/// Zhang et al. 2012, "Functional mechanism", section 6 (regularisation and spectral trimming).
pub fn solve(coefficients: &Coefficients, ridge: f64) -> DMatrix<f64> {
    let SymmetricEigen { eigenvectors, eigenvalues } = SymmetricEigen::new(coefficients.quadratic.clone());
    let mut along = &coefficients.linear * &eigenvectors;
    let floor = ROUNDING * eigenvalues.max().max(0.0);
    for (mut column, eigenvalue) in along.column_iter_mut().zip(eigenvalues.iter()) {
        match eigenvalue.max(0.0) + ridge {
            // A direction that no record has.
            scale if scale <= floor => column.fill(0.0),
            scale => column /= scale,
        }
    }
    along * eigenvectors.transpose()
}
