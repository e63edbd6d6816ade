//! The upper triangle of a symmetric matrix says all there is to say.

use nalgebra::DMatrix;

/// The upper triangle, the diagonal included, column by column.
pub(crate) fn of(matrix: &DMatrix<f64>) -> Vec<f64> {
    (0..matrix.ncols()).flat_map(|column| (0..=column).map(move |row| matrix[(row, column)])).collect()
}

/// The symmetric matrix with this triangle.
pub(crate) fn mirrored(triangle: &[f64], size: usize) -> DMatrix<f64> {
    let entry = |row: usize, column: usize| triangle[column * (column + 1) / 2 + row];
    DMatrix::from_fn(size, size, |row, column| entry(row.min(column), row.max(column)))
}
