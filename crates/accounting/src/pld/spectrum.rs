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
//! * The inverse transform has a relative error of `c·u·log₂ N` in the Euclidean norm (Higham 2002, the
//!   chapter on the fast Fourier transform).
//!   By Cauchy's inequality and Parseval's identity an error with coefficients E_k changes a sum of outputs with
//!   weights w by at most `√Σ|E_k|² · √(Σw²/N)`.

use realfft::num_complex::Complex;
use realfft::{ComplexToReal, RealFftPlanner, RealToComplex};
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

/// Coefficients below this logarithm are left out.
const NEGLIGIBLE: f64 = -90.0;
/// Below this logarithm the atom is not worth keeping apart.
const LIGHT: f64 = -40.0;

/// Both transforms of one length.
#[derive(Clone)]
struct Transforms {
    forward: Arc<dyn RealToComplex<f64>>,
    inverse: Arc<dyn ComplexToReal<f64>>,
}

thread_local! {
    /// Twiddle factors are worth keeping. Each length is planned on its own: a planner that has seen other lengths may
    /// choose another algorithm, and prices would depend, in the last digits, on what was asked before.
    static TRANSFORMS: RefCell<HashMap<usize, Transforms>> = RefCell::new(HashMap::new());
}

fn transforms(size: usize) -> Transforms {
    TRANSFORMS.with_borrow_mut(|known| {
        let plan = || {
            let mut planner = RealFftPlanner::new();
            Transforms { forward: planner.plan_fft_forward(size), inverse: planner.plan_fft_inverse(size) }
        };
        known.entry(size).or_insert_with(plan).clone()
    })
}

/// What jumps add to the logarithm of each coefficient, and a bound on its error.
#[derive(Clone, Copy, Default)]
struct Jump {
    log: Complex<f64>,
    error: f64,
}

/// A product of powers of transforms, as logarithms.
pub(super) struct Spectrum {
    size: usize,
    /// Logarithm of each coefficient over the atom; what is left out is marked by −∞.
    logs: Vec<Complex<f64>>,
    /// Bound on the error of each logarithm.
    errors: Vec<f64>,
    /// If jumps were kept apart: only compositions with at least one of them are transformed back.
    jumps: Option<Vec<Jump>>,
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
            jumps: None,
            log_atom: 0.0,
            atom_index: 0,
        }
    }

    /// Multiplies by the `count`-th power of the transform of a measure of total mass at most one whose first mass has
    /// index `first`. `jumps` is a second measure to add to it, and to keep apart.
    pub(super) fn multiply(
        &mut self,
        (first, masses): (i64, &[f64]),
        jumps: Option<(i64, &[f64])>,
        count: f64,
        input_error: f64,
    ) {
        let by_mass = |left: &(usize, &f64), right: &(usize, &f64)| left.1.total_cmp(right.1);
        let Some((pivot, &atom)) = masses.iter().enumerate().max_by(by_mass) else {
            return;
        };
        let log_atom_before = self.log_atom;
        self.log_atom += count * atom.ln();
        self.atom_index += count as i128 * i128::from(first + pivot as i64);
        // The transform of masses over the atom, shifted to it, and the bound on the error of its outputs.
        let transform = |first_place: i64, masses: &mut dyn Iterator<Item = (usize, &f64)>| {
            let (mut input, mut total) = (vec![0.0; self.size], 0.0);
            for (place, mass) in masses {
                let index = first_place + place as i64 - pivot as i64;
                input[index.rem_euclid(self.size as i64) as usize] += mass / atom;
                total += mass / atom;
            }
            let forward = transforms(self.size).forward;
            let mut output = forward.make_output_vec();
            forward.process(&mut input, &mut output).expect("buffers come from the plan");
            (output, input_error * total)
        };
        let (transformed, error) =
            transform(0, &mut masses.iter().enumerate().filter(|(place, _)| *place != pivot));
        if let Some((jumps_first, jumps)) = jumps {
            let (jumps, jump_error) = transform(jumps_first - first, &mut jumps.iter().enumerate());
            let total = self.jumps.get_or_insert_with(|| vec![Jump::default(); self.logs.len()]);
            for ((total, jump), ratio) in total.iter_mut().zip(jumps).zip(&transformed) {
                total.add(jump, jump_error, ratio + 1.0, error, count);
            }
        }
        for ((log, total_error), ratio) in self.logs.iter_mut().zip(&mut self.errors).zip(&transformed) {
            // Further factors are at most one, so what is negligible stays so.
            if self.jumps.is_none() && log_atom_before + log.re + *total_error < NEGLIGIBLE {
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
    }

    /// Coefficients of the compositions with at least one jump, e^log (e^jump − 1), and the bound on √Σ|E_k|² of their
    /// errors.
    fn with_jumps(&mut self, jumps: &[Jump], input_error: f64) -> f64 {
        let mut squares = (0.0, 0.0);
        for ((log, error), jump) in self.logs.iter_mut().zip(&self.errors).zip(jumps) {
            let growth = |error: f64| error.min(700.0) * error.min(700.0).exp();
            let body = self.log_atom + log.re;
            let all = (body + jump.log.re).exp();
            let value = Complex::from_polar(body.exp(), log.im) * complex_exp_m1(jump.log);
            // |e^{x+e}(e^{y+f} − 1) − e^x(e^y − 1)|, with |e^e − 1| at most |e| e^|e|.
            let by_jump = all * growth(jump.error);
            let bound = by_jump + growth(*error) * (value.norm() + by_jump);
            squares.0 += 2.0 * bound * bound;
            squares.1 += 2.0 * value.norm_sqr();
            *log = value;
        }
        squares.0.sqrt() + 2.0 * input_error * squares.1.sqrt()
    }

    /// The composed masses from index `first` on, and the bound on `√Σ|E_k|²` of their errors.
    pub(super) fn transform_back(mut self, first: i64, input_error: f64) -> (Vec<f64>, f64) {
        if let Some(jumps) = self.jumps.take() {
            let error = self.with_jumps(&jumps, input_error);
            return (self.invert(first, 0.0), error);
        }
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
        (self.invert(first, if apart { atom } else { 0.0 }), error)
    }

    /// The inverse transform of the coefficients, which took the place of their logarithms, with `atom` added.
    fn invert(mut self, first: i64, atom: f64) -> Vec<f64> {
        // Real signals have real coefficients at both ends of the half spectrum.
        self.logs[0].im = 0.0;
        if self.size.is_multiple_of(2) {
            self.logs[self.size / 2].im = 0.0;
        }
        let inverse = transforms(self.size).inverse;
        let mut output = inverse.make_output_vec();
        inverse.process(&mut self.logs, &mut output).expect("buffers come from the plan");
        let scale = 1.0 / self.size as f64;
        for value in &mut output {
            *value *= scale;
        }
        output[0] += atom;
        for value in &mut output {
            *value = value.max(0.0);
        }
        output.rotate_left((i128::from(first) - self.atom_index).rem_euclid(self.size as i128) as usize);
        output
    }
}

impl Jump {
    /// Adds `count` times ln(1 + jump/body), where `jump_error` and `body_error` bound the errors of both.
    fn add(&mut self, jump: Complex<f64>, jump_error: f64, body: Complex<f64>, body_error: f64, count: f64) {
        let size = body.norm() - body_error;
        let ratio = jump / body;
        let ratio_error = (jump_error + ratio.norm() * body_error) / size;
        let real = 0.5 * (2.0 * ratio.re + ratio.norm_sqr()).ln_1p();
        let angle = ratio.im.atan2(1.0 + ratio.re);
        self.log += Complex::new(count * real, count * angle);
        // The logarithm is at most twice as steep in a disc of half the radius; outside of that nothing is known.
        let near = size > 0.0 && ratio_error < 0.5 * real.exp();
        let moved = if near { 2.0 * ratio_error * (-real).exp() } else { f64::INFINITY };
        self.error += count * (moved + 8.0 * f64::EPSILON * (real.abs() + angle.abs() + 2.0 * ratio.norm()));
    }
}

/// `e^z − 1` without cancellation.
fn complex_exp_m1(z: Complex<f64>) -> Complex<f64> {
    let half_sine = (0.5 * z.im).sin();
    let growth = z.re.exp();
    Complex::new(z.re.exp_m1() - 2.0 * growth * half_sine * half_sine, growth * z.im.sin())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_of_a_coin_are_binomial() {
        let mut spectrum = Spectrum::new(64);
        spectrum.multiply((-1, &[0.25, 0.0, 0.75]), None, 20.0, 1e-14);
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
        spectrum.multiply((0, &[1.0 - 1e-14, 0.0, 1e-14]), None, 1000.0, 1e-14);
        let (masses, error) = spectrum.transform_back(0, 1e-14);
        assert!((masses[2] / 1e-11 - 1.0).abs() < 1e-9 && (masses[4] / 4.995e-23 - 1.0).abs() < 1e-2);
        assert!(error < 1e-22);
    }

    #[test]
    fn jumps_are_what_the_rest_leaves() {
        // A coin with a rare third outcome: compositions that hold it, computed apart, keep their digits.
        let mut spectrum = Spectrum::new(64);
        spectrum.multiply((0, &[0.5, 0.5 - 1e-12]), Some((5, &[1e-12])), 3.0, 1e-14);
        let (masses, error) = spectrum.transform_back(0, 1e-14);
        assert!(error < 1e-23, "{error}");
        for (place, binomial) in [(5, 0.25), (6, 0.5), (7, 0.25)] {
            assert!((masses[place] / (3e-12 * binomial) - 1.0).abs() < 1e-9, "{place}");
        }
        assert!(masses[..4].iter().all(|mass| *mass <= error));
    }
}
