//! Sums of values that are moved into limits of their own before they are added.

use super::instructions::{InstructionSet, Task, Vector, dispatch};
use super::line::{LANES, Line};
use crate::kernel::instructions::vectorised;

vectorised! {
    /// `sums[i] += values[i]`, with the value moved into ±`limits[i]`.
    pub fn add_limited(sums: &mut [f32], values: &[f32], limits: &[f32]) {
        assert_eq!(sums.len(), values.len());
        assert_eq!(sums.len(), limits.len());
        for ((sum, value), limit) in sums.iter_mut().zip(values).zip(limits) {
            *sum += value.min(*limit).max(-limit);
        }
    }

    /// The largest of the values without their signs; what is not finite counts as largest.
    pub fn largest(values: &[f32]) -> f32 {
        // Without its sign bit a number grows with its bits, through infinity up to NaN.
        let bits = values.iter().fold(0, |largest: u32, value| largest.max(value.to_bits() & (u32::MAX >> 1)));
        f32::from_bits(bits)
    }
}

/// Pairs of vectors whose products are kept at hand; a power of two.
const PAIRS: usize = 128;

/// Rows kept at hand: with the pairs, as much as fits into the nearest cache.
const ROWS: usize = 32;

/// `sums[r, c] += Σ_k left[k, r] · right[k, c]`, with every single product moved into ±`limits[r, c]`.
///
/// All are matrices row by row: as many rows `k` in `left`, of `rows` values, as in `right`.
///
/// # Panics
/// If their sizes do not agree.
pub fn add_limited_products(left: &[f32], right: &[f32], rows: usize, limits: &[f32], sums: &mut [f32]) {
    if limits.is_empty() || left.is_empty() {
        return;
    }
    assert_eq!(sums.len(), limits.len());
    let columns = sums.len() / rows;
    assert_eq!(sums.len(), rows * columns);
    assert_eq!(left.len() / rows, right.len() / columns);
    for (left, right) in left.chunks(PAIRS * rows).zip(right.chunks(PAIRS * columns)) {
        dispatch(Products { left, right, rows, columns, limits, sums });
    }
}

struct Products<'a> {
    left: &'a [f32],
    right: &'a [f32],
    rows: usize,
    columns: usize,
    limits: &'a [f32],
    sums: &'a mut [f32],
}

impl Task for Products<'_> {
    #[inline(always)]
    fn run<I: InstructionSet>(self) {
        let Products { left, right, rows, columns, limits, sums } = self;
        let pairs = left.len() / rows;
        let mut terms = [Terms::default(); ROWS];
        let mut right_block = [Line::default(); PAIRS];
        // Limits and sums come from far, and all at once as fast as one by one.
        let (mut limit_block, mut sum_block) = ([Line::default(); ROWS], [Line::default(); ROWS]);
        for first_row in (0..rows).step_by(ROWS) {
            let block_rows = ROWS.min(rows - first_row);
            let terms = &mut terms[..block_rows];
            terms.iter_mut().for_each(|terms| terms.count = 0);
            for (pair, left) in left.chunks_exact(rows).enumerate() {
                terms.iter_mut().zip(&left[first_row..]).for_each(|(terms, value)| terms.push(pair, *value));
            }
            for first in (0..columns).step_by(LANES) {
                let width = LANES.min(columns - first);
                let begin = first_row * columns + first;
                gather(&right[first..], columns, width, &mut right_block[..pairs]);
                gather(&limits[begin..], columns, width, &mut limit_block[..block_rows]);
                gather(&sums[begin..], columns, width, &mut sum_block[..block_rows]);
                for ((terms, limit), sum) in terms.iter().zip(&limit_block).zip(&mut sum_block) {
                    terms.add::<I>(&right_block, limit, sum);
                }
                let rows = sums[begin..].chunks_mut(columns).zip(&sum_block[..block_rows]);
                rows.for_each(|(row, line)| row[..width].copy_from_slice(&line.0[..width]));
            }
        }
    }
}

/// Copies lines that begin `stride` apart, of which `width` numbers count.
#[inline(always)]
fn gather(values: &[f32], stride: usize, width: usize, lines: &mut [Line]) {
    for (values, line) in values.chunks(stride).zip(lines) {
        match values.first_chunk::<LANES>() {
            Some(whole) if width == LANES => line.0 = *whole,
            _ => line.0[..width].copy_from_slice(&values[..width]),
        }
    }
}

/// The values of one row that are not zero, as those behind a ReLU often are.
#[derive(Clone, Copy)]
struct Terms {
    count: usize,
    values: [f32; PAIRS],
    pairs: [u8; PAIRS],
}

impl Default for Terms {
    fn default() -> Terms {
        Terms { count: 0, values: [0.0; PAIRS], pairs: [0; PAIRS] }
    }
}

impl Terms {
    #[inline(always)]
    fn push(&mut self, pair: usize, value: f32) {
        self.values[self.count % PAIRS] = value;
        self.pairs[self.count % PAIRS] = pair as u8;
        self.count += usize::from(value != 0.0);
    }

    /// Adds the limited products with lines of the other vectors to a line of sums.
    #[inline(always)]
    fn add<I: InstructionSet>(&self, right: &[Line; PAIRS], limit: &Line, sum: &mut Line) {
        let limit = load::<I>(limit);
        let negative = I::Wide::zero().subtract(limit);
        // Two sums in turn, so that one need not wait for the other.
        let mut sums = [load::<I>(sum), I::Wide::zero()];
        let term = |value: f32, pair: u8| {
            let product = I::Wide::splat(value).multiply(load::<I>(&right[usize::from(pair) % PAIRS]));
            product.minimum(limit).maximum(negative)
        };
        let (values, last) = self.values[..self.count].as_chunks::<2>();
        let (pairs, last_pair) = self.pairs[..self.count].as_chunks::<2>();
        for (values, pairs) in values.iter().zip(pairs) {
            sums[0] = sums[0].add(term(values[0], pairs[0]));
            sums[1] = sums[1].add(term(values[1], pairs[1]));
        }
        if let ([value], [pair]) = (last, last_pair) {
            sums[0] = sums[0].add(term(*value, *pair));
        }
        // SAFETY: a wide vector has as many lanes as a line.
        unsafe { sums[0].add(sums[1]).store(sum.0.as_mut_ptr()) };
    }
}

#[inline(always)]
fn load<I: InstructionSet>(line: &Line) -> I::Wide {
    const { assert!(I::Wide::WIDTH == LANES) };
    // SAFETY: a wide vector has as many lanes as a line.
    unsafe { I::Wide::load(line.0.as_ptr()) }
}

#[cfg(test)]
mod tests {
    use super::super::instructions::forced::{Forced, with};
    use super::*;

    fn check(pairs: usize, rows: usize, columns: usize) {
        // A third of the values on the left are zero.
        let value = |index: usize| ((index * 37 + pairs) % 23) as f32 - 11.0;
        let value = |index: usize| if index.is_multiple_of(3) { 0.0 } else { value(index) };
        let left: Vec<f32> = (0..pairs * rows).map(value).collect();
        let right: Vec<f32> = (0..pairs * columns).map(|index| value(index + 5)).collect();
        let limits: Vec<f32> = (0..rows * columns).map(|index| 1.0 + (index % 90) as f32).collect();
        let mut sums = vec![3.0; rows * columns];
        add_limited_products(&left, &right, rows, &limits, &mut sums);
        for row in 0..rows {
            for column in 0..columns {
                let limit = limits[row * columns + column];
                let term = |pair: usize| {
                    (left[pair * rows + row] * right[pair * columns + column]).clamp(-limit, limit)
                };
                let expected = 3.0 + (0..pairs).map(term).sum::<f32>();
                assert_eq!(sums[row * columns + column], expected, "{row}, {column}");
            }
        }
    }

    #[test]
    fn products_equal_those_of_a_plain_loop_with_any_instructions() {
        // All are whole numbers, so that sums are exact in any order.
        for [pairs, rows, columns] in [[1, 1, 1], [3, 2, 16], [129, 35, 33], [260, 5, 15], [0, 3, 3]] {
            check(pairs, rows, columns);
            with(Forced::Portable, || check(pairs, rows, columns));
            with(Forced::PortableWide, || check(pairs, rows, columns));
        }
    }

    #[test]
    fn values_stay_within_limits_and_infinity_is_at_them() {
        let mut sums = [1.0; 5];
        add_limited(&mut sums, &[0.5, -3.0, 3.0, f32::INFINITY, f32::NEG_INFINITY], &[2.0; 5]);
        assert_eq!(sums, [1.5, -1.0, 3.0, 3.0, -1.0]);
    }

    #[test]
    fn nothing_is_larger_than_what_is_not_finite() {
        assert_eq!(largest(&[]), 0.0);
        assert_eq!(largest(&[0.5, -2.0, 1.0]), 2.0);
        assert_eq!(largest(&[0.5, f32::NEG_INFINITY, 1.0]), f32::INFINITY);
        assert!(largest(&[f32::INFINITY, -f32::NAN, 1.0]).is_nan());
    }
}
