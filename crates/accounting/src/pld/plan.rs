//! Where to look and how finely, from rough sketches of the losses. Nothing here needs to be exact: a poor plan
//! makes a wide bracket, never a wrong one.

use crate::rdp::{conversion, orders};

/// Sketches of the losses of all steps with their counts.
pub(crate) struct Sketches(pub Vec<(Vec<(f64, f64)>, f64)>);

/// A grid and a tilt for one composition.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    /// The exponential tilt under which the composed loss has its mean near the answer.
    pub tilt: f64,
    /// The window that holds all but a negligible part of the tilted composed loss.
    pub low: f64,
    pub high: f64,
    /// Further tilts whose Chernoff bounds certify the two ends of the window.
    pub lower_tilt: f64,
    pub upper_tilt: f64,
    /// Grid step.
    pub step: f64,
}

/// Tilted mass outside of the window that a plan aims for, in nats ...
const OUTSIDE: f64 = 27.6;
/// ... and for compositions with jumps, where little is gained by the tilt: so far below delta.
const BELOW_DELTA: f64 = 12.0;
/// A tilted variance below this share of the plain one shows that the tilt has gone too far.
const COLLAPSED: f64 = 1e-4;
/// Smallest Fourier transform: below this nothing is gained.
const FEWEST_POINTS: f64 = 2048.0;
/// Coarsest step, so that exponentials of a few steps stay tame.
const COARSEST: f64 = 0.5;
/// Largest Fourier transform.
const MOST_POINTS: f64 = (1 << 20) as f64;
/// Largest number of cells of one step's loss.
const MOST_CELLS: f64 = (1 << 18) as f64;

impl Plan {
    /// Points of the window.
    pub(crate) fn points(&self) -> f64 {
        (self.high - self.low) / self.step
    }

    /// Bound on √(Σw²/N) for the weights w = e^{−θ(ℓ−ε)}(1 − e^{ε−ℓ}) of the losses above an ε, in a window of N points:
    /// the i-th loss above ε has w ≤ e^{−iθh}.
    pub(crate) fn weight_norm(&self, size: usize) -> f64 {
        let geometric = -1.0 / (-2.0 * self.tilt * self.step).exp_m1();
        (geometric / size as f64).min(1.0).sqrt()
    }
}

impl Sketches {
    /// Cumulant generating function of the composed loss and its first derivative.
    fn cumulant(&self, tilt: f64) -> (f64, f64) {
        let mut total = (0.0, 0.0);
        for (points, count) in &self.0 {
            let largest = points.iter().map(|point| tilt * point.0).fold(f64::NEG_INFINITY, f64::max);
            let (mut sum, mut mean) = (0.0, 0.0);
            for &(loss, mass) in points {
                let weight = mass * (tilt * loss - largest).exp();
                sum += weight;
                mean += weight * loss;
            }
            total.0 += count * (largest + sum.ln());
            total.1 += count * mean / sum;
        }
        total
    }

    /// Rough delta at `epsilon`: the Chernoff bound of the sketch.
    pub(crate) fn delta(&self, epsilon: f64) -> f64 {
        let tilt = self.tilt(epsilon);
        (self.cumulant(tilt).0 - tilt * epsilon).exp()
    }

    /// A plan for the whole distribution, as the trade-off curve needs it.
    pub(crate) fn plan_untilted(&self) -> Plan {
        let variance = self.spread(0.0).0;
        self.plan(f64::NEG_INFINITY, 1e-3 * variance, 1.0)
    }

    /// Rough epsilon at `delta`: the Rényi bound of the sketch.
    pub(crate) fn epsilon(&self, delta: f64) -> f64 {
        let rho = self.cumulant(1.0).0 / 2.0;
        let bound = |order: f64| conversion::improved(self.cumulant(order - 1.0).0, order, delta);
        orders::best_order(bound, delta, rho).1
    }

    /// The tilt that moves the mean of the composed loss to `epsilon`, or none if it lies higher already.
    fn tilt(&self, epsilon: f64) -> f64 {
        if self.cumulant(0.0).1 >= epsilon {
            return 0.0;
        }
        let widest = self.spread(0.0).0;
        let (mut low, mut high) = (1e-9_f64, 1e-6_f64);
        while self.cumulant(high).1 < epsilon && high < 1e6 {
            low = high;
            high *= 4.0;
            if self.spread(high).0 < COLLAPSED * widest {
                // The answer is near the largest possible loss, where all that is left is one atom.
                return low;
            }
        }
        for _ in 0..12 {
            let middle = (low * high).sqrt();
            if self.cumulant(middle).1 < epsilon { low = middle } else { high = middle }
        }
        low
    }

    /// A loss that is exceeded `mass` times on average.
    pub(crate) fn cut(&self, mass: f64) -> f64 {
        let exceeded = |cut: f64| {
            let above = |points: &[(f64, f64)]| {
                points.iter().filter(|point| point.0 > cut).map(|point| point.1).sum::<f64>()
            };
            self.0.iter().map(|(points, count)| count * above(points)).sum::<f64>()
        };
        let (mut low, mut high) =
            (0.0, self.0.iter().flat_map(|(points, _)| points).map(|point| point.0).fold(0.0, f64::max));
        for _ in 0..40 {
            let middle = 0.5 * (low + high);
            if exceeded(middle) > mass { low = middle } else { high = middle }
        }
        high
    }

    /// The part of all losses up to `cut`.
    pub(crate) fn below(&self, cut: f64) -> Sketches {
        let below = |points: &[(f64, f64)]| points.iter().copied().filter(|point| point.0 <= cut).collect();
        Sketches(self.0.iter().map(|(points, count)| (below(points), *count)).collect())
    }

    /// A plan for answers near `epsilon` whose grid errors should stay below `tolerance`; `fineness` below one asks
    /// for a finer grid than that needs.
    pub(crate) fn plan(&self, epsilon: f64, tolerance: f64, fineness: f64) -> Plan {
        let tilt = self.tilt(epsilon);
        // However loose the tolerance, rounding must not change the shape for which the window is made.
        let error = (0.35 * tolerance).min(0.05 * (1.0 + tilt) * self.spread(tilt).0);
        self.plan_tilted(tilt, OUTSIDE, error, fineness)
    }

    /// The same for compositions with at least one loss above `cut`, as far as they matter for `delta`.
    pub(crate) fn plan_jumps(
        &self,
        cut: f64,
        delta: f64,
        epsilon: f64,
        tolerance: f64,
        fineness: f64,
    ) -> Plan {
        // One jump from the body to epsilon and beyond is the likeliest way there.
        let jump =
            |points: &[(f64, f64)]| points.iter().copied().filter(|point| point.0 > cut).collect::<Vec<_>>();
        let jumps = self.0.iter().flat_map(|(points, count)| {
            jump(points).into_iter().map(move |(loss, mass)| (loss, count * mass))
        });
        let one = Sketches(vec![(jumps.collect(), 1.0)]);
        let steepest = self.tilt(epsilon);
        let tilt = if one.0[0].0.is_empty() { 0.0 } else { one.tilt(epsilon).min(steepest) };
        // Delta falls faster in epsilon than this tilt, so the grid must be finer than the tilt asks for.
        let error = 0.35 * tolerance * (1.0 + tilt) / (1.0 + steepest);
        let mut plan = self.plan_tilted(tilt, BELOW_DELTA - delta.ln(), error, fineness);
        // What the grid does to one jump counts as much as what it does to all the rest.
        if !one.0[0].0.is_empty() {
            let width = plan.high - plan.low;
            plan.step = plan.step.min(fineness * one.step(tilt, error)).max(width / MOST_POINTS);
        }
        plan
    }

    fn plan_tilted(&self, tilt: f64, outside: f64, error: f64, fineness: f64) -> Plan {
        let widest = self.spread(tilt).1;
        let (low, high) = self.window(tilt, outside, f64::INFINITY);
        let width = high.0 - low.0;
        let step = self.step(tilt, error).min(width / FEWEST_POINTS).min(COARSEST);
        let step = (fineness * step).max(width / MOST_POINTS).max(widest / MOST_CELLS);
        // Further tilts must not tell a loss from the grid point next to it, or rounding would decide the bound.
        let (low, high) = self.window(tilt, outside, 1.0 / step);
        let margin = 0.02 * (high.0 - low.0) + 1e-12 * self.cumulant(tilt).1.abs();
        Plan {
            tilt,
            low: low.0 - margin - 2.0 * step,
            high: high.0 + margin + 2.0 * step,
            lower_tilt: -low.1,
            upper_tilt: high.1,
            step,
        }
    }

    /// (loss bound, extra tilt) at both ends of the window beyond which lies e^{−`outside`} of the tilted mass, by the best
    /// extra tilt below `steepest`.
    fn window(&self, tilt: f64, outside: f64, steepest: f64) -> ((f64, f64), (f64, f64)) {
        let log_scale = self.cumulant(tilt).0;
        let base = (2.0 * outside / self.spread(tilt).0.max(f64::MIN_POSITIVE)).sqrt();
        let (mut high, mut low) = ((f64::INFINITY, base), (f64::NEG_INFINITY, base));
        // A range around the Gaussian choice.
        for power in -10..=8 {
            let extra = (base * f64::exp2(f64::from(power))).min(steepest);
            let above = (self.cumulant(tilt + extra).0 - log_scale + outside) / extra;
            let below = (log_scale - self.cumulant(tilt - extra).0 - outside) / extra;
            if above < high.0 {
                high = (above, extra);
            }
            if below > low.0 {
                low = (below, extra);
            }
        }
        (low, high)
    }

    /// Variance of the tilted composed loss, and the widest range of a single loss.
    fn spread(&self, tilt: f64) -> (f64, f64) {
        let (mut variance, mut widest) = (0.0, 0.0_f64);
        for (points, count) in &self.0 {
            let largest = points.iter().map(|point| tilt * point.0).fold(f64::NEG_INFINITY, f64::max);
            let mut sums = [0.0; 3];
            for &(loss, mass) in points {
                let weight = mass * (tilt * loss - largest).exp();
                sums[0] += weight;
                sums[1] += weight * loss;
                sums[2] += weight * loss * loss;
            }
            let mean = sums[1] / sums[0];
            variance += count * (sums[2] / sums[0] - mean * mean).max(0.0);
            let (low, high) = points.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), point| {
                (low.min(point.0), high.max(point.0))
            });
            widest = widest.max(high - low);
        }
        (variance, widest)
    }

    /// The largest step for which rounding adds at most `error` to epsilon: rounding to the grid adds a variance
    /// of about h²/6 a step (less for losses below h), and a variance v moves epsilon by (1 + tilt)·v/2.
    fn step(&self, tilt: f64, error: f64) -> f64 {
        let weights: Vec<(Vec<(f64, f64)>, f64)> = self
            .0
            .iter()
            .map(|(points, count)| {
                let largest = points.iter().map(|point| tilt * point.0).fold(f64::NEG_INFINITY, f64::max);
                let weigh = |&(loss, mass): &(f64, f64)| (loss, mass * (tilt * loss - largest).exp());
                let weighted: Vec<(f64, f64)> = points.iter().map(weigh).collect();
                let sum: f64 = weighted.iter().map(|point| point.1).sum();
                (weighted, count / sum)
            })
            .collect();
        let added = |step: f64| {
            let mut all = 0.0;
            for ((points, scale), (sketch, _)) in weights.iter().zip(&self.0) {
                let middle = centre(sketch, step);
                let variance = |loss: f64| (step * step / 6.0).min(0.5 * step * (loss - middle).abs());
                all += scale * points.iter().map(|point| point.1 * variance(point.0)).sum::<f64>();
            }
            0.5 * (1.0 + tilt) * all
        };
        let (mut low, mut high) = (1e-12_f64, 1e4_f64);
        for _ in 0..18 {
            let middle = (low * high).sqrt();
            if added(middle) < error { low = middle } else { high = middle }
        }
        low
    }
}

/// The centre of mass, in the likelihood ratio, of the cell that holds most of a loss: where a grid point belongs. The
/// points of the sketch are in ascending order.
pub(crate) fn centre(sketch: &[(f64, f64)], step: f64) -> f64 {
    let (mut centre, mut most, mut inside, mut first) = (0.0, 0.0, 0.0, 0);
    for &(loss, mass) in sketch {
        inside += mass;
        while loss - sketch[first].0 > step {
            inside -= sketch[first].1;
            first += 1;
        }
        if inside > most {
            (centre, most) = (0.5 * (loss + sketch[first].0), inside);
        }
    }
    for _ in 0..3 {
        let inside = sketch.iter().filter(|point| (point.0 - centre).abs() <= 0.5 * step);
        let (with, shift) = inside.fold((0.0, 0.0), |(with, shift), point| {
            (with + point.1, shift + point.1 * (centre - point.0).exp_m1())
        });
        if with == 0.0 {
            break;
        }
        centre -= (shift / with).ln_1p();
    }
    centre
}
