//! Wavelets on spectra, moduli, and what they carry back.

use super::fourier::{Complex, LANES, Lane, Plane};
use crate::kernel::instructions::vectorised;

vectorised! {
    /// The spectrum of a filtered plane.
    pub(super) fn filter(spectrum: &[Complex], wavelet: &[f32], filtered: &mut [Complex]) {
        for ((filtered, value), weight) in filtered.iter_mut().zip(spectrum).zip(wavelet) {
            for (filtered, value) in filtered.as_flattened_mut().iter_mut().zip(value.as_flattened()) {
                *filtered = weight * value;
            }
        }
    }

    /// Adds what a filtered plane carries back to the spectrum.
    pub(super) fn unfilter(filtered: &[Complex], wavelet: &[f32], spectrum: &mut [Complex]) {
        for ((value, filtered), weight) in spectrum.iter_mut().zip(filtered).zip(wavelet) {
            for (value, filtered) in value.as_flattened_mut().iter_mut().zip(filtered.as_flattened()) {
                *value += weight * filtered;
            }
        }
    }

    /// The spectrum of a filtered plane of which every other row and column is left.
    pub(super) fn filter_coarse(spectrum: &[Complex], wavelet: &[f32], half: &Plane, filtered: &mut [Complex]) {
        let (height, width) = (half.height(), half.width());
        for (row, filtered) in filtered.chunks_exact_mut(width).enumerate() {
            for (column, filtered) in filtered.iter_mut().enumerate() {
                let first = row * 2 * width + column;
                let mut sum = [[0.0; LANES]; 2];
                for place in [first, first + width, first + 2 * height * width, first + 2 * height * width + width] {
                    for (sum, value) in sum.as_flattened_mut().iter_mut().zip(spectrum[place].as_flattened()) {
                        *sum += wavelet[place] * value;
                    }
                }
                *filtered = sum;
            }
        }
    }

    /// Adds what such a plane carries back to the spectrum.
    pub(super) fn unfilter_coarse(filtered: &[Complex], wavelet: &[f32], half: &Plane, spectrum: &mut [Complex]) {
        let (height, width) = (half.height(), half.width());
        for (place, (value, weight)) in spectrum.iter_mut().zip(wavelet).enumerate() {
            let (row, column) = (place / (2 * width) % height, place % width);
            let filtered = &filtered[row * width + column];
            for (value, filtered) in value.as_flattened_mut().iter_mut().zip(filtered.as_flattened()) {
                *value += weight * filtered;
            }
        }
    }

    /// The modulus of every value.
    pub(super) fn moduli(values: &[Complex], moduli: &mut [Lane]) {
        for (modulus, [real, imaginary]) in moduli.iter_mut().zip(values) {
            for lane in 0..LANES {
                modulus[lane] = (real[lane] * real[lane] + imaginary[lane] * imaginary[lane]).sqrt();
            }
        }
    }

    /// Values become what the gradients at their moduli carry back to them; nothing where there is no direction.
    pub(super) fn direct(values: &mut [Complex], gradients: &[Lane]) {
        for ([real, imaginary], gradient) in values.iter_mut().zip(gradients) {
            for lane in 0..LANES {
                let modulus = (real[lane] * real[lane] + imaginary[lane] * imaginary[lane]).sqrt();
                let factor = if modulus > 0.0 { gradient[lane] / modulus } else { 0.0 };
                real[lane] *= factor;
                imaginary[lane] *= factor;
            }
        }
    }
}

/// Real values as complex ones.
pub(super) fn complex(reals: &[Lane], values: &mut [Complex]) {
    values.iter_mut().zip(reals).for_each(|(value, real)| *value = [*real, [0.0; LANES]]);
}

/// The real parts.
pub(super) fn reals(values: &[Complex], reals: &mut [Lane]) {
    reals.iter_mut().zip(values).for_each(|(real, value)| *real = value[0]);
}
