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
//! Rounding inside the masses themselves is relative, so it becomes a factor e^{±T·η} on δ; at the edges of a
//! support it is larger, and is added like the others.

use super::discretise::{Discrete, ON_GRID};
use super::plan::Plan;
use super::spectrum::Spectrum;

/// Bound on the relative error of one grid mass and of its share in a normaliser ...
const MASS_ERROR: f64 = 4e-13;
/// ... except at the edge of a support, where the place of the edge is rounded too: a shift by x moves the share
/// x/step of a mass to its neighbour, and x is a few rounding errors of the likelihood ratio.
const EDGE_ERROR: f64 = 1e-15;
/// Rounding errors per level of a transform: a complex multiplication, its twiddle factor and an addition.
const TRANSFORM_ERROR: f64 = 6.0 * f64::EPSILON;

/// The loss of one kind of step and how often it is composed. If rare large losses are given apart as `jumps`, only
/// compositions that hold at least one of them are counted.
pub(crate) struct Part {
    pub body: Discrete,
    pub jumps: Option<Discrete>,
    pub count: f64,
}

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
    pub(crate) fn new(parts: &[Part], plan: &Plan) -> Composed {
        let size = transform_size(((plan.high - plan.low) / plan.step).ceil().max(64.0) as usize);
        let offset: f64 = parts.iter().map(|part| part.body.offset * part.count).sum();
        let first = ((plan.low - offset) / plan.step).floor() as i64;
        let top = offset + (first + size as i64) as f64 * plan.step;
        let bottom = offset + first as f64 * plan.step;
        let input_error = TRANSFORM_ERROR * (size as f64).log2().ceil();

        let mut log_scale = 0.0;
        let (mut above, mut below) =
            (Chernoff::new(plan.upper_tilt, top), Chernoff::new(plan.lower_tilt, bottom));
        let mut total_count = 0.0;
        let mut log_finite = 0.0;
        let mut edge_error = 0.0_f64;
        let mut spectrum = Spectrum::new(size);
        for Part { body, jumps, count } in parts {
            let body = Logs::new(body, plan.step);
            let jumps = jumps.as_ref().map(|jumps| Logs::new(jumps, plan.step));
            let cumulants =
                |tilt: f64| (body.cumulant(tilt), jumps.as_ref().map(|jumps| jumps.cumulant(tilt)));
            let own = both(cumulants(plan.tilt));
            log_scale += count * own;
            above.multiply(cumulants(plan.tilt + plan.upper_tilt), own, *count);
            below.multiply(cumulants(plan.tilt + plan.lower_tilt), own, *count);
            total_count += count;
            let tilted = body.tilted(plan.tilt, own);
            let tilted_jumps = jumps.as_ref().map(|jumps| (jumps.part.first, jumps.tilted(plan.tilt, own)));
            for (part, masses) in std::iter::once((body.part, &tilted)).chain(
                jumps.iter().map(|jumps| jumps.part).zip(tilted_jumps.as_ref().map(|(_, tilted)| tilted)),
            ) {
                log_finite += count * (-part.infinite).ln_1p();
                let excess = |blur: f64| (EDGE_ERROR * (1.0 + blur / plan.step) - MASS_ERROR).max(0.0);
                edge_error +=
                    count * part.edges.iter().map(|&(place, blur)| masses[place] * excess(blur)).sum::<f64>();
            }
            let borrowed = tilted_jumps.as_ref().map(|(first, tilted)| (*first, tilted.as_slice()));
            spectrum.multiply((body.part.first, &tilted), borrowed, *count, input_error);
        }
        let (masses, transform_error) = spectrum.transform_back(first, input_error);
        let (above, below) = (above.mass(), below.mass());
        // An error of relative size η in a share w of a measure of mass one changes its T-th power by (1 + wη)^T − 1.
        let rounding = transform_error * plan.weight_norm(size) + edge_error.exp_m1();
        Composed {
            offset,
            first,
            step: plan.step,
            tilt: plan.tilt,
            log_scale,
            masses,
            missing: rounding + above,
            excess: rounding + above + below,
            log_slack: MASS_ERROR * total_count + 1e-9,
            pad: ON_GRID * plan.step * total_count,
            infinite: -log_finite.exp_m1(),
        }
    }

    /// Walks from the highest loss down and reports, for each cell between neighbouring losses, the sums that give
    /// delta in it: `visit(upper loss, Σ g e^{−θ(ℓ−upper)}, Σ g e^{−(θ+1)(ℓ−upper)})` over losses from `upper` on.
    fn walk(&self, mut visit: impl FnMut(f64, f64, f64) -> bool) {
        let (decay, faster) = ((-self.tilt * self.step).exp(), (-(self.tilt + 1.0) * self.step).exp());
        let (mut with, mut without) = (0.0, 0.0);
        for (place, &mass) in self.masses.iter().enumerate().rev() {
            with = mass + decay * with;
            without = mass + faster * without;
            if !visit(self.offset + (self.first + place as i64) as f64 * self.step, with, without) {
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
                (exponent.exp(), self.infinite + self.missing * (exponent + self.tilt * self.step).exp())
            }
            Side::Lower => {
                let lowered = exponent - self.log_slack;
                (lowered.exp(), self.infinite - self.excess * (exponent + self.tilt * self.step).exp())
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
            let crossing = if ratio > 0.0 { (upper + ratio.ln()).clamp(lower, upper) } else { lower };
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
            visit(upper + self.pad, (scale * (with - without) + offset).clamp(0.0, 1.0));
            true
        });
    }

    /// Bound on delta at one epsilon.
    pub(crate) fn delta(&self, epsilon: f64, side: Side) -> f64 {
        self.curve(side).delta(epsilon)
    }

    /// Bounds on delta at any epsilon.
    pub(crate) fn curve(&self, side: Side) -> Curve<'_> {
        let mut sums = Vec::with_capacity(self.masses.len());
        self.walk(|_, with, without| {
            sums.push((with, without));
            true
        });
        Curve { composed: self, side, sums }
    }
}

/// A bound on the privacy curve of a composed loss.
pub(crate) struct Curve<'a> {
    composed: &'a Composed,
    side: Side,
    /// What a walk reports, the highest loss first.
    sums: Vec<(f64, f64)>,
}

impl Curve<'_> {
    pub(crate) fn delta(&self, epsilon: f64) -> f64 {
        let Composed { offset, first, step, pad, .. } = *self.composed;
        // Losses may be off by the pad, each way.
        let epsilon = match self.side {
            Side::Upper => epsilon - pad,
            Side::Lower => epsilon + pad,
        };
        let top = offset + (first + self.sums.len() as i64 - 1) as f64 * step;
        let place = ((top - epsilon) / step).ceil().max(1.0) - 1.0;
        let upper = top - place * step;
        match self.sums.get(place as usize) {
            Some((with, without)) => {
                let (scale, offset) = self.composed.scale(upper, self.side);
                (scale * (with - (epsilon - upper).min(0.0).exp() * without) + offset).clamp(0.0, 1.0)
            }
            None => match self.side {
                Side::Upper => 1.0,
                Side::Lower => 0.0,
            },
        }
    }
}

/// A measure with the logarithms of its masses.
struct Logs<'a> {
    part: &'a Discrete,
    step: f64,
    logs: Vec<f64>,
}

impl Logs<'_> {
    fn new(part: &Discrete, step: f64) -> Logs<'_> {
        Logs { part, step, logs: part.masses.iter().map(|mass| mass.ln()).collect() }
    }

    fn exponent(&self, place: usize, tilt: f64) -> f64 {
        self.logs[place] + tilt * (self.part.offset + (self.part.first + place as i64) as f64 * self.step)
    }

    /// `ln Σ m e^{θℓ}`.
    fn cumulant(&self, tilt: f64) -> f64 {
        let exponents = || (0..self.logs.len()).map(|place| self.exponent(place, tilt));
        let largest = exponents().fold(f64::NEG_INFINITY, f64::max);
        if largest == f64::NEG_INFINITY {
            return largest;
        }
        largest + exponents().map(|exponent| (exponent - largest).exp()).sum::<f64>().ln()
    }

    /// The tilted masses over e^`scale`.
    fn tilted(&self, tilt: f64, scale: f64) -> Vec<f64> {
        (0..self.logs.len()).map(|place| (self.exponent(place, tilt) - scale).exp()).collect()
    }
}

/// The cumulant of a body and its jumps together.
fn both((body, jumps): (f64, Option<f64>)) -> f64 {
    body + jumps.map_or(0.0, |jumps| (jumps - body).exp().ln_1p())
}

/// The Chernoff bound on tilted composed mass beyond a loss.
struct Chernoff {
    exponent: f64,
    /// By how much the logarithm is lower without jumps, if they were kept apart.
    jumps: Option<f64>,
}

impl Chernoff {
    fn new(extra_tilt: f64, loss: f64) -> Chernoff {
        Chernoff { exponent: -extra_tilt * loss, jumps: None }
    }

    fn multiply(&mut self, (body, jumps): (f64, Option<f64>), own: f64, count: f64) {
        let all = both((body, jumps));
        self.exponent += count * (all - own);
        if jumps.is_some() {
            *self.jumps.get_or_insert(0.0) += count * (all - body);
        }
    }

    /// Everything, or what holds at least one jump: a − b for the moments a with jumps and b without.
    fn mass(&self) -> f64 {
        let share = self.jumps.map_or(1.0, |gap| -(-gap).exp_m1());
        if share == 0.0 { 0.0 } else { self.exponent.exp() * share }
    }
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
