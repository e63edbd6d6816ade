//! The Fourier transform of a composed loss, with a bound on its rounding error.
//!
//! Each measure is split into its heaviest atom and the rest, and shifted so that the atom sits at index zero:
//! its transform is a constant a plus the transform of the rest. Then `(a + r)^n = a^n (1 + r/a)^n`, and what is
//! transformed back is `a^n ((1 + r/a)^n − 1)`. When nearly all mass is in one atom (rare large losses, as with a
//! tiny sample rate) all rounding is relative to the small rest instead of to one.
//!
//! * Every output of a fast transform of length N is a sum of inputs, each multiplied by at most log₂ N rounded
//!   twiddle factors and passed through as many additions: its error is at most `c·u·log₂ N · Σ|input|`.
//! * An error e in r changes `(a + r)^n` by at most a factor `exp(n e/|a + r|)`; logarithm and exponential add a
//!   few `u·n·|ln(1 + r/a)|`.
//! * The inverse transform has a relative error of `c·u·log₂ N` in the Euclidean norm (Higham 2002, Theorem 24.2).
//!   By Cauchy's inequality and Parseval's identity an error with coefficients E_k changes any sum of outputs with
//!   weights in [0, 1] by at most `√Σ|E_k|²`.

use realfft::RealFftPlanner;
use realfft::num_complex::Complex;
use std::cell::RefCell;

/// Coefficients below this logarithm are left out.
const NEGLIGIBLE: f64 = -90.0;
/// Below this logarithm the atom is not worth keeping apart.
const LIGHT: f64 = -40.0;

thread_local! {
    /// Twiddle factors are worth keeping between transforms of the same length.
    static PLANNER: RefCell<RealFftPlanner<f64>> = RefCell::new(RealFftPlanner::new());
}

/// A product of powers of transforms, as logarithms.
pub(super) struct Spectrum {
    size: usize,
    /// Logarithm of each coefficient over the atom; what is left out is marked by −∞.
    logs: Vec<Complex<f64>>,
    /// Bound on the error of each logarithm.
    errors: Vec<f64>,
    /// Logarithm of the composed atom, and its index.
    log_atom: f64,
    atom_index: i128,
}

impl Spectrum {
    pub(super) fn new(size: usize) -> Spectrum {
        let half = size / 2 + 1;
        Spectrum {
            size,
            logs: vec![Complex::new(0.0, 0.0); half],
            errors: vec![0.0; half],
            log_atom: 0.0,
            atom_index: 0,
        }
    }

    /// Multiplies by the `count`-th power of the transform of a measure of total mass one whose first mass has
    /// index `first`.
    pub(super) fn multiply(&mut self, first: i64, masses: &[f64], count: f64, input_error: f64) {
        let by_mass = |left: &(usize, &f64), right: &(usize, &f64)| left.1.total_cmp(right.1);
        let Some((pivot, &atom)) = masses.iter().enumerate().max_by(by_mass) else {
            return;
        };
        let log_atom_before = self.log_atom;
        self.log_atom += count * atom.ln();
        self.atom_index += count as i128 * i128::from(first + pivot as i64);
        let mut rest = vec![0.0; self.size];
        let mut rest_mass = 0.0;
        for (place, mass) in masses.iter().enumerate().filter(|(place, _)| *place != pivot) {
            rest[(place as i64 - pivot as i64).rem_euclid(self.size as i64) as usize] += mass / atom;
            rest_mass += mass / atom;
        }
        let error = input_error * rest_mass;
        PLANNER.with_borrow_mut(|planner| {
            let forward = planner.plan_fft_forward(self.size);
            let mut transformed = forward.make_output_vec();
            forward
                .process(&mut rest, &mut transformed)
                .expect("buffers come from the plan");
            for ((log, total_error), ratio) in self.logs.iter_mut().zip(&mut self.errors).zip(&transformed) {
                // Further factors are at most one, so what is negligible stays so.
                if log_atom_before + log.re + *total_error < NEGLIGIBLE {
                    log.re = f64::NEG_INFINITY;
                    continue;
                }
                // ln(1 + ratio), exact for small ratios.
                let real = 0.5 * (2.0 * ratio.re + ratio.norm_sqr()).ln_1p();
                let angle = ratio.im.atan2(1.0 + ratio.re);
                *log += Complex::new(count * real, count * angle);
                let rounding = 8.0 * f64::EPSILON * (real.abs() + angle.abs());
                *total_error += count * (error * (-real).exp() + rounding);
            }
        });
    }

    /// The composed masses from index `first` on, and the bound on the error of any weighted sum of them.
    pub(super) fn transform_back(mut self, first: i64, input_error: f64) -> (Vec<f64>, f64) {
        let apart = self.log_atom > LIGHT;
        let atom = self.log_atom.exp();
        let mut squares = (0.0, 0.0);
        for (log, error) in self.logs.iter_mut().zip(&self.errors) {
            let magnitude = (self.log_atom + log.re).exp();
            let error = error.min(700.0);
            if log.re == f64::NEG_INFINITY || (self.log_atom + log.re + error < NEGLIGIBLE && !apart) {
                *log = Complex::new(if apart { -atom } else { 0.0 }, 0.0);
            } else if apart {
                *log = complex_exp_m1(*log) * atom;
                squares.0 += 2.0 * (magnitude * error * error.exp()).powi(2);
            } else {
                *log = Complex::from_polar(magnitude, log.im);
                squares.0 += 2.0 * (magnitude * error * error.exp()).powi(2);
            }
            squares.1 += 2.0 * log.norm_sqr();
        }
        let error = (self.size as f64).sqrt() * NEGLIGIBLE.exp()
            + squares.0.sqrt()
            + 2.0 * input_error * squares.1.sqrt();
        // Real signals have real coefficients at both ends of the half spectrum.
        self.logs[0].im = 0.0;
        if self.size.is_multiple_of(2) {
            self.logs[self.size / 2].im = 0.0;
        }
        let mut output = PLANNER.with_borrow_mut(|planner| {
            let inverse = planner.plan_fft_inverse(self.size);
            let mut output = inverse.make_output_vec();
            inverse
                .process(&mut self.logs, &mut output)
                .expect("buffers come from the plan");
            output
        });
        let scale = 1.0 / self.size as f64;
        for value in &mut output {
            *value *= scale;
        }
        if apart {
            output[0] += atom;
        }
        for value in &mut output {
            *value = value.max(0.0);
        }
        output.rotate_left((i128::from(first) - self.atom_index).rem_euclid(self.size as i128) as usize);
        (output, error)
    }
}

/// `e^z − 1` without cancellation.
fn complex_exp_m1(z: Complex<f64>) -> Complex<f64> {
    let half_sine = (0.5 * z.im).sin();
    let growth = z.re.exp();
    Complex::new(
        z.re.exp_m1() - 2.0 * growth * half_sine * half_sine,
        growth * z.im.sin(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_of_a_coin_are_binomial() {
        let mut spectrum = Spectrum::new(64);
        spectrum.multiply(-1, &[0.25, 0.0, 0.75], 20.0, 1e-14);
        let (masses, error) = spectrum.transform_back(-20, 1e-14);
        assert!(error < 1e-12);
        let mut expected = 0.25_f64.powi(20);
        for heads in 0..=20 {
            assert!((masses[2 * heads] - expected).abs() < error.max(1e-17), "{heads}");
            expected *= 3.0 * (20 - heads) as f64 / (heads + 1) as f64;
        }
    }

    #[test]
    fn rare_losses_keep_their_digits() {
        let mut spectrum = Spectrum::new(32);
        spectrum.multiply(0, &[1.0 - 1e-14, 0.0, 1e-14], 1000.0, 1e-14);
        let (masses, error) = spectrum.transform_back(0, 1e-14);
        assert!((masses[2] / 1e-11 - 1.0).abs() < 1e-9 && (masses[4] / 4.995e-23 - 1.0).abs() < 1e-2);
        assert!(error < 1e-22);
    }
}
