//! Sums of products of records, in double precision.

mod product;
pub(crate) mod triangle;

use nalgebra::DMatrix;
use product::add_product;
use rayon::prelude::*;

/// Records added at a time: enough for products to run at full speed, few enough to stay small in memory.
pub(crate) const BLOCK: usize = 1024;

/// Columns of a sum that one thread works on at a time.
const STRIP: usize = 64;

/// The upper triangle of XᵀX; what lies below has no meaning.
///
/// # Guarantee
/// n records of a length of at most 1, added in blocks of [`BLOCK`], round by at most n·(1024 + n/1024)·2⁻⁵³, for a million 2·10⁻⁷.
/// The sum does not depend on the number of threads.
pub(crate) struct SecondMoments(DMatrix<f64>);

impl SecondMoments {
    /// Of no records yet, of so many values each.
    pub fn new(width: usize) -> SecondMoments {
        SecondMoments(DMatrix::zeros(width, width))
    }

    /// Adds records, one column each.
    pub fn add(&mut self, records: &DMatrix<f64>) {
        let (width, count) = records.shape();
        let transposed = records.transpose();
        self.0.as_mut_slice().par_chunks_mut(STRIP * width).enumerate().for_each(|(strip, values)| {
            let (begin, columns) = (strip * STRIP, values.len() / width);
            let rows = begin + columns;
            add_product(values, rows, records, &transposed.as_slice()[begin * count..], columns);
        });
    }

    /// The matrix, of which the upper triangle counts.
    pub fn upper(&self) -> &DMatrix<f64> {
        &self.0
    }
}

/// Adds the products of two sets of columns, `sum += left · rightᵀ`, with a column of each for every record.
///
/// # Guarantee
/// Rounds as [`SecondMoments`] does.
pub(crate) fn add_products(sum: &mut DMatrix<f64>, left: &DMatrix<f64>, right: &DMatrix<f64>) {
    let (rows, columns) = sum.shape();
    add_product(sum.as_mut_slice(), rows, left, right.transpose().as_slice(), columns);
}
