//! XᵀX of records of unit length.

use super::product::add_product;
use super::unit::scale_to_unit;
use crate::data::View;
use muffle_nn::Examples;
use nalgebra::DMatrix;
use rayon::prelude::*;

/// Records added at a time: enough for products to run at full speed, few enough to stay small in memory.
const BLOCK: usize = 1024;

/// Columns of the result that one thread works on at a time.
const STRIP: usize = 64;

/// The upper triangle of XᵀX; what lies below has no meaning.
///
/// # Guarantee
/// Adding or removing one record changes the triangle by at most 1 in L2 norm, rounding included. Records add in double
/// precision, in blocks: n of them round by at most n·(1024 + n/1024)·2⁻⁵³, for a million 2·10⁻⁷, and the margin of a
/// record's length leaves 2·10⁻⁵. The result does not depend on the number of threads.
pub(super) fn of(view: &View, inputs: usize) -> DMatrix<f64> {
    let mut sum = DMatrix::zeros(inputs, inputs);
    for first in (0..view.len()).step_by(BLOCK) {
        let count = BLOCK.min(view.len() - first);
        // One column for each record.
        let mut records = DMatrix::<f64>::zeros(inputs, count);
        records.as_mut_slice().par_chunks_mut(inputs).enumerate().for_each_init(
            || vec![0.0f32; inputs],
            |record, (index, column)| {
                view.read(first + index, record);
                scale_to_unit(record);
                column.iter_mut().zip(record).for_each(|(value, single)| *value = f64::from(*single));
            },
        );
        let transposed = records.transpose();
        sum.as_mut_slice().par_chunks_mut(STRIP * inputs).enumerate().for_each(|(strip, values)| {
            let (begin, columns) = (strip * STRIP, values.len() / inputs);
            let rows = begin + columns;
            add_product(values, rows, &records, &transposed.as_slice()[begin * count..], columns);
        });
    }
    sum
}
