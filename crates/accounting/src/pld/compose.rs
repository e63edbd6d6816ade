//! Composition by Fourier transform, with a bound for everything that floating point and the finite window add.
//!
//! Each step's measure is tilted by e^{θℓ} and normalised, transformed, raised to its count, multiplied, and
//! transformed back. Under the right θ the composed loss has its mean near the wanted epsilon, so the part of the
//! distribution that decides delta is computed with full relative precision even for delta = 1e-15, and the window
//! needs to be only a few standard deviations wide.
//!
//! With C = Σ n_j K_j(θ) and g the composed tilted measure,
//! `δ(ε) = Σ_{ℓ>ε} g(ℓ) e^{C − θℓ} (1 − e^{ε−ℓ}) = e^{C − θε} Σ_{ℓ>ε} g(ℓ) w(ℓ)` with weights w in [0, 1], so an
//! error of total size x in g is an error of at most e^{C − θε} x in δ(ε). Three errors are added up:
//!
//! * **Fourier rounding**, bounded in [`Spectrum`].
//! * **Wrap-around.** Tilted mass outside of the window lands inside it. Chernoff bounds at two further tilts
//!   limit it. For the upper bound it only adds; for the lower bound it is subtracted.
//! * **Mass above the window** is missing from the upper bound; the same Chernoff bound covers it, because
//!   e^{−θℓ} is smaller there.
//!
//! Rounding inside the masses themselves is relative, so it becomes a factor e^{±T·η} on δ.

use super::discretise::{Discrete, ON_GRID};
use super::plan::Plan;
use super::spectrum::Spectrum;

/// Bound on the relative error of one grid mass and of its share in a normaliser.
const MASS_ERROR: f64 = 4e-13;
/// Rounding errors per level of a transform: a complex multiplication, its twiddle factor and an addition.
const TRANSFORM_ERROR: f64 = 6.0 * f64::EPSILON;
/// The composed loss of all steps.
pub(crate) struct Composed {
    /// Sum of the offsets of all steps.
    offset: f64,
    first: i64,
    step: f64,
    tilt: f64,
    /// C in the formula above.
    log_scale: f64,
    /// Tilted masses, the lowest loss first.
    masses: Vec<f64>,
    /// Fourier rounding error and mass above the window.
    missing: f64,
    /// Fourier rounding error and all wrapped mass.
    excess: f64,
    /// Logarithm of the factor for relative errors of masses.
    log_slack: f64,
    /// How far losses may be off because atoms were moved to the grid.
    pad: f64,
    infinite: f64,
}

/// Which side of the truth a question is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Upper,
    Lower,
}

impl Composed {
    /// Composes each measure with itself `count` times, and all of them with each other.
    pub(crate) fn new(parts: &[(Discrete, f64)], plan: &Plan) -> Composed {
        let size = transform_size(((plan.high - plan.low) / plan.step).ceil().max(64.0) as usize);
        let offset: f64 = parts.iter().map(|(part, count)| part.offset * count).sum();
        let first = ((plan.low - offset) / plan.step).floor() as i64;
        let top = offset + (first + size as i64) as f64 * plan.step;
        let bottom = offset + first as f64 * plan.step;
        let input_error = TRANSFORM_ERROR * (size as f64).log2().ceil();

        let mut log_scale = 0.0;
        let (mut above, mut below) = (-plan.upper_tilt * top, -plan.lower_tilt * bottom);
        let mut total_count = 0.0;
        let mut log_finite = 0.0;
        let mut spectrum = Spectrum::new(size);
        for (part, count) in parts {
            let logs_of_masses: Vec<f64> = part.masses.iter().map(|mass| mass.ln()).collect();
            let loss = |place: usize| part.offset + (part.first + place as i64) as f64 * plan.step;
            let cumulant = |tilt: f64| cumulant(&logs_of_masses, tilt, loss);
            let own = cumulant(plan.tilt);
            log_scale += count * own;
            above += count * (cumulant(plan.tilt + plan.upper_tilt) - own);
            below += count * (cumulant(plan.tilt + plan.lower_tilt) - own);
            total_count += count;
            log_finite += count * (-part.infinite).ln_1p();
            let weigh = |(place, log_mass): (usize, &f64)| (log_mass + plan.tilt * loss(place) - own).exp();
            let tilted: Vec<f64> = logs_of_masses.iter().enumerate().map(weigh).collect();
            spectrum.multiply(part.first, &tilted, *count, input_error);
        }
        let (masses, transform_error) = spectrum.transform_back(first, input_error);
        let (above, below) = (above.exp(), below.exp());
        Composed {
            offset,
            first,
            step: plan.step,
            tilt: plan.tilt,
            log_scale,
            masses,
            missing: transform_error + above,
            excess: transform_error + above + below,
            log_slack: MASS_ERROR * total_count + 1e-9,
            pad: ON_GRID * plan.step * total_count,
            infinite: -log_finite.exp_m1(),
        }
    }

    /// Walks from the highest loss down and reports, for each cell between neighbouring losses, the sums that give
    /// delta in it: `visit(upper loss, Σ g e^{−θ(ℓ−upper)}, Σ g e^{−(θ+1)(ℓ−upper)})` over losses from `upper` on.
    fn walk(&self, mut visit: impl FnMut(f64, f64, f64) -> bool) {
        let (decay, faster) = (
            (-self.tilt * self.step).exp(),
            (-(self.tilt + 1.0) * self.step).exp(),
        );
        let (mut with, mut without) = (0.0, 0.0);
        for (place, &mass) in self.masses.iter().enumerate().rev() {
            with = mass + decay * with;
            without = mass + faster * without;
            if !visit(
                self.offset + (self.first + place as i64) as f64 * self.step,
                with,
                without,
            ) {
                return;
            }
        }
    }

    /// Scale of tilted sums relative to `loss`, and what errors add to delta down to one step below it.
    fn scale(&self, loss: f64, side: Side) -> (f64, f64) {
        let exponent = self.log_scale - self.tilt * loss;
        match side {
            Side::Upper => {
                let exponent = exponent + self.log_slack;
                (
                    exponent.exp(),
                    self.infinite + self.missing * (exponent + self.tilt * self.step).exp(),
                )
            }
            Side::Lower => {
                let lowered = exponent - self.log_slack;
                (
                    lowered.exp(),
                    self.infinite - self.excess * (exponent + self.tilt * self.step).exp(),
                )
            }
        }
    }

    /// The epsilon at which the bound on delta reaches `delta`: an upper bound on the true epsilon for the upper
    /// side, a lower bound for the lower side. `None` if the bound on this side never falls to `delta`.
    pub(crate) fn epsilon(&self, delta: f64, side: Side) -> Option<f64> {
        let mut answer = match side {
            Side::Upper => None,
            Side::Lower => Some(0.0),
        };
        self.walk(|upper, with, without| {
            let lower = upper - self.step;
            let (scale, offset) = self.scale(upper, side);
            let at_lower = scale * (with - (-self.step).exp() * without) + offset;
            // Written so that a bound lost to overflow (NaN) never counts as proof.
            let proved = match side {
                Side::Upper => at_lower <= delta,
                Side::Lower => at_lower > delta,
            };
            if side == Side::Upper && proved {
                answer = Some(lower.max(0.0));
            }
            if proved == (side == Side::Upper) {
                return lower > 0.0;
            }
            // Delta crosses the target inside this cell, where it is scale·(with − e^{ε − upper}·without) + offset.
            let ratio = (with - (delta - offset) / scale) / without;
            let crossing = if ratio > 0.0 {
                (upper + ratio.ln()).clamp(lower, upper)
            } else {
                lower
            };
            match side {
                Side::Upper => {
                    if answer.is_some() {
                        answer = Some(crossing.max(0.0));
                    }
                }
                Side::Lower => answer = Some(crossing.max(0.0)),
            }
            false
        });
        let pad = self.pad + 1e-12 * answer.unwrap_or(0.0);
        answer.map(|epsilon| match side {
            _ if epsilon == 0.0 => 0.0,
            Side::Upper => epsilon + pad,
            Side::Lower => (epsilon - pad).max(0.0),
        })
    }

    /// Calls `visit(epsilon, delta)` with an upper bound on delta at grid points, the highest first.
    pub(crate) fn upper_deltas(&self, mut visit: impl FnMut(f64, f64)) {
        self.walk(|upper, with, without| {
            let (scale, offset) = self.scale(upper, Side::Upper);
            visit(
                upper + self.pad,
                (scale * (with - without) + offset).clamp(0.0, 1.0),
            );
            true
        });
    }

    /// Bound on delta at one epsilon.
    pub(crate) fn delta(&self, epsilon: f64, side: Side) -> f64 {
        let mut bound = match side {
            Side::Upper => 1.0,
            Side::Lower => 0.0,
        };
        self.walk(|upper, with, without| {
            if upper - self.step > epsilon {
                return true;
            }
            let (scale, offset) = self.scale(upper, side);
            bound = (scale * (with - (epsilon - upper).min(0.0).exp() * without) + offset).clamp(0.0, 1.0);
            false
        });
        bound
    }
}

/// `ln Σ m e^{θℓ}` of a measure given by logarithms.
fn cumulant(logs: &[f64], tilt: f64, loss: impl Fn(usize) -> f64) -> f64 {
    let exponent = |place: usize| logs[place] + tilt * loss(place);
    let largest = (0..logs.len()).map(exponent).fold(f64::NEG_INFINITY, f64::max);
    largest
        + (0..logs.len())
            .map(|place| (exponent(place) - largest).exp())
            .sum::<f64>()
            .ln()
}

/// The smallest even length with factors 2, 3 and 5 only: these transforms are fast.
fn transform_size(at_least: usize) -> usize {
    let mut best = at_least.next_power_of_two();
    for factor in [3, 5, 9, 15] {
        let candidate = factor * at_least.div_ceil(factor).next_power_of_two().max(2);
        best = best.min(candidate);
    }
    best
}
