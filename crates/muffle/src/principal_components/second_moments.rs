//! XᵀX of records of unit length.

use super::unit::scale_to_unit;
use crate::data::View;
use crate::moments::{BLOCK, SecondMoments};
use muffle_nn::Examples;
use nalgebra::DMatrix;
use rayon::prelude::*;

/// The sums of products of the values of records.
///
/// # Guarantee
/// Adding or removing one record changes their upper triangle by at most 1 in L2 norm, rounding included: the margin of a record's
/// length leaves 2·10⁻⁵. The result does not depend on the number of threads.
pub(super) fn of(view: &View, inputs: usize) -> SecondMoments {
    let mut sum = SecondMoments::new(inputs);
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
        sum.add(&records);
    }
    sum
}
