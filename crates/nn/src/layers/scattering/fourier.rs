//! Fourier transforms of many small planes at once: the same place of all planes lies side by side, so that loops over planes are
//! vectors.

use super::butterfly::{Butterfly, WrittenOut};
use crate::kernel::instructions::vectorised;
use std::f64::consts::TAU;

/// Planes that are transformed together.
pub(super) const LANES: usize = 8;

/// One real number of every plane.
pub(super) type Lane = [f32; LANES];

/// One complex number of every plane.
pub(super) type Complex = [Lane; 2];

/// Transforms of one length, of any size with small prime factors.
///
/// # Source
/// Stockham's sorted form: every stage reads in one order and writes in the next, so nothing is permuted at the end.
pub(super) struct Fourier {
    length: usize,
    stages: Vec<Stage>,
}

/// One stage: so many numbers are combined at a time.
struct Stage {
    radix: usize,
    /// exp(-2πi·row·column/radix), row by row.
    roots: Vec<[f32; 2]>,
    /// exp(-2πi·place·column/rest): for every place, a factor for every column.
    twiddles: Vec<[f32; 2]>,
    /// Numbers between two that are combined by the stage before.
    stride: usize,
}

/// exp(-2πi·numerator/denominator).
fn root(numerator: usize, denominator: usize) -> [f32; 2] {
    let angle = TAU * (numerator % denominator) as f64 / denominator as f64;
    [angle.cos() as f32, -angle.sin() as f32]
}

impl Fourier {
    /// Transforms of this length.
    pub fn new(length: usize) -> Fourier {
        let (mut rest, mut stride, mut stages) = (length, 1, Vec::new());
        while rest > 1 {
            let radix =
                (2..=rest).rev().filter(|radix| *radix <= 5).find(|radix| rest.is_multiple_of(*radix));
            let radix =
                radix.unwrap_or_else(|| (2..=rest).find(|radix| rest.is_multiple_of(*radix)).unwrap_or(rest));
            let columns = 0..radix;
            stages.push(Stage {
                radix,
                roots: columns
                    .clone()
                    .flat_map(|row| (0..radix).map(move |column| root(row * column, radix)))
                    .collect(),
                twiddles: (0..rest / radix)
                    .flat_map(|place| columns.clone().map(move |column| root(place * column, rest)))
                    .collect(),
                stride,
            });
            (rest, stride) = (rest / radix, stride * radix);
        }
        Fourier { length, stages }
    }

    /// Numbers of a transform.
    pub fn len(&self) -> usize {
        self.length
    }
}

/// A plane's two directions.
pub(super) struct Plane {
    rows: Fourier,
    columns: Fourier,
}

impl Plane {
    /// Planes of this size.
    pub fn new(height: usize, width: usize) -> Plane {
        Plane { rows: Fourier::new(width), columns: Fourier::new(height) }
    }

    /// Rows.
    pub fn height(&self) -> usize {
        self.columns.len()
    }

    /// Columns.
    pub fn width(&self) -> usize {
        self.rows.len()
    }

    /// Σ value·exp(-2πi·…) over the plane, in place.
    pub fn forward(&self, values: &mut [Complex], work: &mut [Complex]) {
        transform(self, values, work);
    }

    /// Σ value·exp(+2πi·…) over the plane, in place: the inverse but for a division by the number of values.
    pub fn backward(&self, values: &mut [Complex], work: &mut [Complex]) {
        conjugate(values);
        transform(self, values, work);
        conjugate(values);
    }
}

vectorised! {
    /// The transform along both directions.
    fn transform(plane: &Plane, values: &mut [Complex], work: &mut [Complex]) {
        let (height, width) = (plane.height(), plane.width());
        for row in values.chunks_exact_mut(width) {
            along(&plane.rows, row, work);
        }
        let (column, work) = work.split_at_mut(height);
        for x in 0..width {
            for (y, value) in column.iter_mut().enumerate() {
                *value = values[y * width + x];
            }
            along(&plane.columns, column, work);
            for (y, value) in column.iter().enumerate() {
                values[y * width + x] = *value;
            }
        }
    }

    fn conjugate(values: &mut [Complex]) {
        for [_, imaginary] in values {
            imaginary.iter_mut().for_each(|value| *value = -*value);
        }
    }
}

/// One transform in place.
#[inline(always)]
fn along(fourier: &Fourier, values: &mut [Complex], work: &mut [Complex]) {
    let work = &mut work[..values.len()];
    let mut swapped = false;
    for stage in &fourier.stages {
        match swapped {
            false => stage.combine(values, work),
            true => stage.combine(work, values),
        }
        swapped = !swapped;
    }
    if swapped {
        values.copy_from_slice(work);
    }
}

impl Stage {
    #[inline(always)]
    fn combine(&self, from: &[Complex], to: &mut [Complex]) {
        match self.radix {
            2 => self.combine_by::<2>(from, to),
            3 => self.combine_by::<3>(from, to),
            4 => self.combine_by::<4>(from, to),
            5 => self.combine_by::<5>(from, to),
            _ => self.combine_any(from, to),
        }
    }

    /// With a number of terms that is known when this is compiled, so that they stay in registers.
    #[inline(always)]
    fn combine_by<const RADIX: usize>(&self, from: &[Complex], to: &mut [Complex])
    where
        WrittenOut: Butterfly<RADIX>,
    {
        let part = from.len() / RADIX;
        for (place, twiddles) in self.twiddles.as_chunks::<RADIX>().0.iter().enumerate() {
            for inner in 0..self.stride {
                let first = inner + self.stride * place;
                let sums = WrittenOut::transform(std::array::from_fn(|term| from[first + part * term]));
                let first = inner + self.stride * RADIX * place;
                for (column, (sum, twiddle)) in sums.iter().zip(twiddles).enumerate() {
                    // Factors of the first place and of the first column are one.
                    let is_one = place == 0 || column == 0;
                    to[first + self.stride * column] = if is_one { *sum } else { times(sum, *twiddle) };
                }
            }
        }
    }

    fn combine_any(&self, from: &[Complex], to: &mut [Complex]) {
        let (radix, part) = (self.radix, from.len() / self.radix);
        let mut terms = vec![[[0.0; LANES]; 2]; radix];
        for (place, twiddles) in self.twiddles.chunks_exact(radix).enumerate() {
            for inner in 0..self.stride {
                let first = inner + self.stride * place;
                terms.iter_mut().enumerate().for_each(|(term, value)| *value = from[first + part * term]);
                let first = inner + self.stride * radix * place;
                for (column, twiddle) in twiddles.iter().enumerate() {
                    let sum = combination(&terms, &self.roots[radix * column..][..radix]);
                    to[first + self.stride * column] = times(&sum, *twiddle);
                }
            }
        }
    }
}

/// Σ term·root.
#[inline(always)]
fn combination(terms: &[Complex], roots: &[[f32; 2]]) -> Complex {
    let mut sum = terms[0];
    for (term, root) in terms.iter().zip(roots).skip(1) {
        let [real, imaginary] = times(term, *root);
        for lane in 0..LANES {
            sum[0][lane] += real[lane];
            sum[1][lane] += imaginary[lane];
        }
    }
    sum
}

#[inline(always)]
fn times(value: &Complex, [real, imaginary]: [f32; 2]) -> Complex {
    let mut product = [[0.0; LANES]; 2];
    for lane in 0..LANES {
        product[0][lane] = value[0][lane] * real - value[1][lane] * imaginary;
        product[1][lane] = value[0][lane] * imaginary + value[1][lane] * real;
    }
    product
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every lane has the transform of its plane, for lengths with all kinds of factors.
    #[test]
    fn the_transform_is_the_sum_it_stands_for() {
        for (height, width) in [(4, 6), (5, 7), (9, 22), (1, 8), (15, 20)] {
            let plane = Plane::new(height, width);
            let value = |place: usize, part: usize, lane: usize| {
                ((place * 7 + part * 3 + lane * 5) % 11) as f32 - 5.0
            };
            let mut values: Vec<Complex> = (0..height * width)
                .map(|place| [0, 1].map(|part| std::array::from_fn(|lane| value(place, part, lane))))
                .collect();
            let before = values.clone();
            let mut work = vec![[[0.0; LANES]; 2]; 2 * height.max(width)];
            plane.forward(&mut values, &mut work);
            for lane in [0, LANES - 1] {
                for (place, found) in values.iter().enumerate() {
                    let (u, v) = (place / width, place % width);
                    let mut sum = [0.0_f64; 2];
                    for (place, value) in before.iter().enumerate() {
                        let (y, x) = (place / width, place % width);
                        let angle = -TAU * ((u * y) as f64 / height as f64 + (v * x) as f64 / width as f64);
                        let [real, imaginary] = [0, 1].map(|part: usize| f64::from(value[part][lane]));
                        sum[0] += real * angle.cos() - imaginary * angle.sin();
                        sum[1] += real * angle.sin() + imaginary * angle.cos();
                    }
                    for part in 0..2 {
                        let error = (f64::from(found[part][lane]) - sum[part]).abs();
                        assert!(error < 1e-4, "{height}x{width}: {error}");
                    }
                }
            }
            plane.backward(&mut values, &mut work);
            let scale = (height * width) as f32;
            let back = values.iter().zip(&before);
            assert!(back.flat_map(|(one, other)| [0, 1].map(|part| (one[part][3] / scale - other[part][3]).abs())).all(|error| error < 1e-4));
        }
    }
}
