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

    /// Sum of squares, in sixteen partial sums so that the loop runs as wide as the machine.
    pub fn squared_norm(values: &[f32]) -> f32 {
        let (chunks, rest) = values.as_chunks::<32>();
        let mut sums = [0.0f32; 32];
        for chunk in chunks {
            for (sum, value) in sums.iter_mut().zip(chunk) {
                *sum += value * value;
            }
        }
        sums.iter().sum::<f32>() + rest.iter().map(|value| value * value).sum::<f32>()
    }

    /// Sum of squares in double precision, for norms of vectors so long that partial sums of single precision would show.
    pub fn squared_norm_double(values: &[f32]) -> f64 {
        let (chunks, rest) = values.as_chunks::<32>();
        let mut sums = [0.0f64; 32];
        for chunk in chunks {
            for (sum, value) in sums.iter_mut().zip(chunk) {
                *sum += f64::from(*value) * f64::from(*value);
            }
        }
        sums.iter().sum::<f64>() + rest.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>()
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
