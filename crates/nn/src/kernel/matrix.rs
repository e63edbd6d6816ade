//! Dense matrix products on the calling thread, through the kernels of the `gemm` crate.

/// A read-only matrix: a slice with the distances between neighbours in a row and in a column.
#[derive(Clone, Copy)]
pub struct Matrix<'a> {
    values: &'a [f32],
    rows: usize,
    columns: usize,
    row_stride: usize,
    column_stride: usize,
}

impl<'a> Matrix<'a> {
    /// Rows of `columns` values, one after the other.
    pub fn rows(values: &'a [f32], rows: usize, columns: usize) -> Self {
        Matrix::strided(values, rows, columns, columns)
    }

    /// Rows of `columns` values that start `row_stride` apart.
    pub fn strided(values: &'a [f32], rows: usize, columns: usize, row_stride: usize) -> Self {
        assert!(columns <= row_stride || rows <= 1, "rows of {columns} overlap at stride {row_stride}");
        assert!(
            rows == 0 || columns == 0 || (rows - 1) * row_stride + columns <= values.len(),
            "a {rows} x {columns} matrix in a slice of {}",
            values.len()
        );
        Matrix { values, rows, columns, row_stride, column_stride: 1 }
    }

    /// The same values with rows and columns exchanged.
    pub fn transposed(self) -> Self {
        Matrix {
            rows: self.columns,
            columns: self.rows,
            row_stride: self.column_stride,
            column_stride: self.row_stride,
            ..self
        }
    }

    /// The same values, at most `count` columns at a time.
    pub fn blocks_of_columns(self, count: usize) -> impl Iterator<Item = Matrix<'a>> {
        (0..self.columns).step_by(count).map(move |first| Matrix {
            values: &self.values[first * self.column_stride..],
            columns: count.min(self.columns - first),
            ..self
        })
    }
}

/// Terms that the kernels sum up in one go; longer sums they would cut into pieces that depend on the number of rows.
const DEPTH: usize = 512;

/// Values of an output for which the kernels turn to other ways, which sum in another order.
const NARROW: usize = 256;

/// `output = left · right`, or `output += left · right` if `add`; output rows start `output_stride` apart.
///
/// # Guarantee
/// A row of the output has the same bits whichever rows stand beside it and however many. Of a sum that is added to the output, every
/// `DEPTH` of terms are summed before.
pub fn product(left: Matrix, right: Matrix, add: bool, output: &mut [f32], output_stride: usize) {
    let (rows, columns, depth) = (left.rows, right.columns, left.columns);
    assert_eq!(depth, right.rows, "{rows} x {depth} times {} x {columns}", right.rows);
    if rows == 0 || columns == 0 {
        return;
    }
    if columns == 1 {
        return single_column(left, right, add, output, output_stride);
    }
    let narrow = rows == 1 || rows * columns <= NARROW;
    let blocks = left.blocks_of_columns(DEPTH).zip(right.transposed().blocks_of_columns(DEPTH));
    for (block, (left, right)) in blocks.enumerate() {
        let (right, add) = (right.transposed(), add || block > 0);
        if narrow {
            narrow_product(left, right, add, output, output_stride);
        } else {
            short_product(left, right, add, output, output_stride);
        }
    }
}

/// A product with one column, for which the kernels have other ways too: taken like one of two columns.
fn single_column(left: Matrix, right: Matrix, add: bool, output: &mut [f32], output_stride: usize) {
    let twice =
        |values: &mut dyn Iterator<Item = f32>| values.flat_map(|value| [value; 2]).collect::<Vec<f32>>();
    let right = twice(&mut (0..right.rows).map(|term| right.values[term * right.row_stride]));
    let mut both = twice(&mut output.iter().step_by(output_stride).take(left.rows).copied());
    product(left, Matrix::rows(&right, left.columns, 2), add, &mut both, 2);
    let rows = output.iter_mut().step_by(output_stride).zip(both.iter().step_by(2));
    rows.for_each(|(output, sum)| *output = *sum);
}

/// A product of few values, laid out such that the kernels take it like one of many: with the left matrix column by column, and
/// with at least two rows.
fn narrow_product(left: Matrix, right: Matrix, add: bool, output: &mut [f32], output_stride: usize) {
    let rows = left.rows.max(2);
    let at = |row: usize, term: usize| row * left.row_stride + term * left.column_stride;
    let mut columns = Vec::with_capacity(rows * left.columns);
    for term in 0..left.columns {
        columns.extend((0..rows).map(|row| left.values[at(row.min(left.rows - 1), term)]));
    }
    let by_column = Matrix::rows(&columns, left.columns, rows).transposed();
    if left.rows > 1 {
        return short_product(by_column, right, add, output, output_stride);
    }
    let width = right.columns;
    let mut twice = [&output[..width], &output[..width]].concat();
    short_product(by_column, right, add, &mut twice, width);
    output[..width].copy_from_slice(&twice[..width]);
}

/// A product with sums of at most [`DEPTH`] terms.
fn short_product(left: Matrix, right: Matrix, add: bool, output: &mut [f32], output_stride: usize) {
    let (rows, columns, depth) = (left.rows, right.columns, left.columns);
    assert!(columns <= output_stride || rows == 1, "output rows overlap");
    assert!((rows - 1) * output_stride + columns <= output.len(), "output too short");
    // The kernels want the rows of the output close and its columns far apart: the transposed product is taken.
    let (left, right) = (right.transposed(), left.transposed());
    // SAFETY: `Matrix` checked that its elements lie in its slice; the output was checked above, its rows do not
    // overlap, and it cannot alias the read-only operands.
    unsafe {
        gemm_f32::gemm::f32::get_gemm_fn()(
            columns,
            rows,
            depth,
            output.as_mut_ptr(),
            output_stride as isize,
            1,
            add,
            left.values.as_ptr(),
            left.column_stride as isize,
            left.row_stride as isize,
            right.values.as_ptr(),
            right.column_stride as isize,
            right.row_stride as isize,
            1.0,
            1.0,
            false,
            false,
            false,
            gemm_common::Parallelism::None,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn multiplies_by_hand() {
        let left = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        let right = [1.0, 0.0, 2.0, 1.0, 0.0, 3.0];
        let mut output = [9.0; 6];
        product(Matrix::rows(&left, 2, 3), Matrix::rows(&right, 3, 2), false, &mut output, 3);
        assert_eq!(output, [5.0, 11.0, 9.0, 14.0, 23.0, 9.0]);
        product(Matrix::rows(&left, 3, 2).transposed(), Matrix::rows(&right, 3, 2), true, &mut output, 3);
        assert_eq!(output, [5.0 + 7.0, 11.0 + 18.0, 9.0, 14.0 + 10.0, 23.0 + 22.0, 9.0]);
    }
}
