//! Loops over values, compiled for several instruction sets and picked at run time.

use crate::kernel::instructions::vectorised;

vectorised! {
    /// `target += source`.
    pub fn add(target: &mut [f32], source: &[f32]) {
        assert_eq!(target.len(), source.len());
        for (target, source) in target.iter_mut().zip(source) {
            *target += source;
        }
    }

    /// `target += source`, in double precision.
    pub fn add_double(target: &mut [f64], source: &[f64]) {
        assert_eq!(target.len(), source.len());
        for (target, source) in target.iter_mut().zip(source) {
            *target += source;
        }
    }

    /// `target += factor · source`.
    pub fn add_scaled(target: &mut [f32], factor: f32, source: &[f32]) {
        assert_eq!(target.len(), source.len());
        for (target, source) in target.iter_mut().zip(source) {
            *target += factor * source;
        }
    }

    /// `target += factors[0] · sources[0] + factors[1] · sources[1]`, with one read and write of the target for both.
    pub fn add_two_scaled(target: &mut [f32], factors: [f32; 2], sources: [&[f32]; 2]) {
        let [first, second] = sources;
        assert_eq!(target.len(), first.len());
        assert_eq!(target.len(), second.len());
        for ((target, first), second) in target.iter_mut().zip(first).zip(second) {
            *target += factors[0] * first + factors[1] * second;
        }
    }

    /// `target = factor · source`.
    pub fn scale_into(target: &mut [f32], factor: f32, source: &[f32]) {
        assert_eq!(target.len(), source.len());
        for (target, source) in target.iter_mut().zip(source) {
            *target = factor * source;
        }
    }

    /// Sum, in partial sums so that the loop runs as wide as the machine.
    pub fn sum(values: &[f32]) -> f32 {
        let (chunks, rest) = values.as_chunks::<32>();
        let mut sums = [0.0f32; 32];
        for chunk in chunks {
            for (sum, value) in sums.iter_mut().zip(chunk) {
                *sum += value;
            }
        }
        sums.iter().sum::<f32>() + rest.iter().sum::<f32>()
    }

    /// Sum of squares, each in single precision and their sums in double precision after every sixteen.
    fn short_sums_of_squares(values: &[f32]) -> f64 {
        let mut total = 0.0;
        for block in values.chunks(16 * 32) {
            let (chunks, rest) = block.as_chunks::<32>();
            let mut sums = [0.0f32; 32];
            for chunk in chunks {
                for (sum, value) in sums.iter_mut().zip(chunk) {
                    *sum += value * value;
                }
            }
            for (sum, value) in sums.iter_mut().zip(rest) {
                *sum += value * value;
            }
            total += sums.iter().map(|sum| f64::from(*sum)).sum::<f64>();
        }
        total
    }

    /// Sum of squares in double precision, for numbers so small or so large that their squares are none in single precision.
    fn squares_in_double_precision(values: &[f32]) -> f64 {
        let (chunks, rest) = values.as_chunks::<32>();
        let mut sums = [0.0f64; 32];
        for chunk in chunks {
            for (sum, value) in sums.iter_mut().zip(chunk) {
                *sum += f64::from(*value) * f64::from(*value);
            }
        }
        sums.iter().sum::<f64>() + rest.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>()
    }

    /// Inner product, in double precision.
    pub fn dot_double(left: &[f32], right: &[f32]) -> f64 {
        assert_eq!(left.len(), right.len());
        let (left_chunks, left_rest) = left.as_chunks::<32>();
        let (right_chunks, right_rest) = right.as_chunks::<32>();
        let mut sums = [0.0f64; 32];
        for (left, right) in left_chunks.iter().zip(right_chunks) {
            for ((sum, left), right) in sums.iter_mut().zip(left).zip(right) {
                *sum += f64::from(*left) * f64::from(*right);
            }
        }
        let rest = left_rest.iter().zip(right_rest);
        sums.iter().sum::<f64>() + rest.map(|(left, right)| f64::from(*left) * f64::from(*right)).sum::<f64>()
    }

    /// Inner product.
    pub fn dot(left: &[f32], right: &[f32]) -> f32 {
        assert_eq!(left.len(), right.len());
        let (left_chunks, left_rest) = left.as_chunks::<32>();
        let (right_chunks, right_rest) = right.as_chunks::<32>();
        let mut sums = [0.0f32; 32];
        for (left, right) in left_chunks.iter().zip(right_chunks) {
            for ((sum, left), right) in sums.iter_mut().zip(left).zip(right) {
                *sum += left * right;
            }
        }
        sums.iter().sum::<f32>() + left_rest.iter().zip(right_rest).map(|(left, right)| left * right).sum::<f32>()
    }
}

/// Sum of squares.
///
/// # Guarantee
/// At least the true sum, up to a relative 1.1e-6, at every magnitude: seventeen roundings of 2^-24 each, as long as the sum
/// is so large that what squares lose below the range of single precision does not show.
pub fn squared_norm(values: &[f32]) -> f64 {
    let sum = short_sums_of_squares(values);
    // What a square loses to underflow is less than 2^-149. A comparison that NaN fails.
    if sum > values.len() as f64 * 2f64.powi(-120) && sum.is_finite() {
        return sum;
    }
    squares_in_double_precision(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_squared_norm_is_right_at_every_magnitude_and_length() {
        for length in [1, 31, 33, 511, 4_000, 262_144] {
            for exponent in (-149..=127).step_by(12) {
                let value = |index: usize| ((1.0 + (index % 7) as f64 / 8.0) * 2f64.powi(exponent)) as f32;
                let values: Vec<f32> = (0..length).map(value).collect();
                let expected: f64 = values.iter().map(|value| f64::from(*value).powi(2)).sum();
                let error = (squared_norm(&values) / expected - 1.0).abs();
                assert!(error < 1.1e-6, "{length} values of about 2^{exponent}: {error}");
                let error = (dot_double(&values, &values) / expected - 1.0).abs();
                assert!(error < 1e-12, "{length} values of about 2^{exponent}: {error}");
            }
        }
        assert!(squared_norm(&[1.0, f32::NAN]).is_nan() && squared_norm(&[f32::INFINITY]).is_infinite());
    }
}
