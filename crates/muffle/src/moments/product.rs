//! A product of matrices in double precision.

use nalgebra::DMatrix;

/// Adds the first rows of a product to a sum: `sum[..rows, ..columns] += left[..rows, ..] · right`.
///
/// `sum` has as many rows as `left`, `right` as many rows as `left` has columns; all are stored column after column.
pub(crate) fn add_product(sum: &mut [f64], rows: usize, left: &DMatrix<f64>, right: &[f64], columns: usize) {
    let (height, inner) = left.shape();
    assert!(rows <= height && sum.len() >= height * columns && right.len() >= inner * columns);
    // Sizes of slices in memory fit into `isize`.
    let (down, right_down) = (height as isize, inner as isize);
    // SAFETY: element (i, j) of a factor lies at i + j·height of its slice, and the assertion holds all i < rows, j < columns of
    // the sum and of the factors within their slices; the sum is borrowed alone.
    unsafe {
        matrixmultiply::dgemm(
            rows,
            inner,
            columns,
            1.0,
            left.as_slice().as_ptr(),
            1,
            down,
            right.as_ptr(),
            1,
            right_down,
            1.0,
            sum.as_mut_ptr(),
            1,
            down,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::add_product;
    use nalgebra::DMatrix;

    #[test]
    fn a_product_is_added_to_the_first_rows_only() {
        for (height, inner, columns, rows) in [(1, 1, 1, 1), (5, 3, 2, 4), (17, 33, 9, 17), (40, 7, 12, 0)] {
            let left =
                DMatrix::from_fn(height, inner, |row, column| (row * 7 + column * 3) as f64 % 11.0 - 5.0);
            let right =
                DMatrix::from_fn(inner, columns, |row, column| (row * 5 + column) as f64 % 13.0 - 6.0);
            let mut sum = DMatrix::from_element(height, columns, 0.5);
            add_product(sum.as_mut_slice(), rows, &left, right.as_slice(), columns);
            let product = &left * &right;
            let expected = |row, column| 0.5 + if row < rows { product[(row, column)] } else { 0.0 };
            assert_eq!(sum, DMatrix::from_fn(height, columns, expected));
        }
    }
}
