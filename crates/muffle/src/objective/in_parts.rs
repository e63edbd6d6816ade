//! Sums over records on all threads.

use rayon::prelude::*;

/// Records that one thread sums at a time: a sum does not depend on the number of threads.
const AT_A_TIME: usize = 16;

/// What every record of `width` values adds to a sum of `len` numbers.
pub(super) fn in_parts(
    values: &[f32],
    width: usize,
    len: usize,
    add: impl Fn(&[f32], &mut [f64]) + Sync,
) -> Vec<f64> {
    let part = |records: &[f32]| {
        let mut sum = vec![0.0; len];
        records.chunks_exact(width).for_each(|record| add(record, &mut sum));
        sum
    };
    let parts: Vec<Vec<f64>> = values.par_chunks(AT_A_TIME * width).map(part).collect();
    let mut sum = vec![0.0; len];
    parts.iter().for_each(|part| sum.iter_mut().zip(part).for_each(|(sum, value)| *sum += value));
    sum
}
