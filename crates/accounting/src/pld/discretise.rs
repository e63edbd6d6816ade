//! A privacy loss on a grid: one distribution that is certainly worse than the pair, one that is certainly better.
//!
//! Write R = e^L for the likelihood ratio and H(α) = ∫ (R − α)₊ dQ for the hockey-stick curve. Composition is
//! monotone in H: for any measure ν on the ratios of another step,
//! `∫∫ (r s − α)₊ dμ(r) dν(s) = ∫ s H_μ(α/s) dν(s)`,
//! so replacing one step's curve by a larger (smaller) convex one can only raise (lower) the composed curve. No
//! normalisation of the measures is needed. A measure on grid points is a convex, decreasing curve whose kinks lie
//! on the grid, so all that matters is on which side of H the curve lies.
//!
//! * **Pessimistic**: connect the dots (α_i, H(α_i)). Chords of a convex function lie above it. Mass above the
//!   grid goes to +∞, mass below it to the lowest point.
//! * **Optimistic**: lower the dots until the chords lie below H, then take the lower convex envelope, which keeps
//!   its kinks on the grid. Mass outside of the grid is dropped.
//!
//! Both are accurate to second order in the grid step, so the error of T steps grows like T·h², not T·h.
//!
//! # Source
//! Doroshenko, Ghazi, Kamath, Kumar and Manurangsi 2022 for the pessimistic part. The optimistic one is ours:
//! see [`Cells::optimistic`].

use super::cell::Cell;
use super::pair::Pair;

/// An atom this close to a grid point, in steps, counts as lying on it; the composed loss is padded for that.
pub(crate) const ON_GRID: f64 = 1e-10;

/// A measure on the grid: the mass of loss `offset + (first + i) · step` at place i, and the mass at +∞.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Discrete {
    pub offset: f64,
    pub first: i64,
    pub masses: Vec<f64>,
    pub infinite: f64,
}

/// The moments of a pair on all half cells of a grid, from which both discretisations follow.
pub(crate) struct Cells {
    offset: f64,
    first: i64,
    step: f64,
    /// Left and right half of each cell.
    halves: Vec<(Cell, Cell)>,
    /// Atoms that lie on grid points, one place for each point.
    on_grid: Vec<f64>,
    infinite: f64,
    tail: f64,
}

impl Cells {
    /// Integrates `pair` over the cells of the grid of points `offset + i · step`. `exp(log_tail)` bounds the mass
    /// left out on either side.
    ///
    /// Offsets of different steps need not agree: composed losses lie on the grid shifted by the sum of offsets.
    /// That matters when most of a loss is much narrower than a cell: with a grid point at its centre of mass, both
    /// discretisations keep it there.
    pub(crate) fn new(pair: &Pair, step: f64, offset: f64, log_tail: f64) -> Cells {
        let (low, high) = pair.range(log_tail);
        let first = ((low - offset) / step).floor() as i64;
        let last = (((high - offset) / step).ceil() as i64).max(first + 1);
        let at = |half_index: i64| offset + 0.5 * half_index as f64 * step;
        let support = pair.support().unwrap_or((f64::INFINITY, f64::NEG_INFINITY));
        let half = |half_index: i64| {
            let outer = (at(half_index), at(half_index + 1));
            let inner = (outer.0.max(support.0), outer.1.min(support.1));
            if inner.0 >= inner.1 {
                Cell::default()
            } else if inner == outer {
                pair.cell(inner.0, inner.1)
            } else {
                pair.cell(inner.0, inner.1).widened(inner, outer)
            }
        };
        let mut halves: Vec<(Cell, Cell)> = (first..last)
            .map(|index| (half(2 * index), half(2 * index + 1)))
            .collect();
        let mut on_grid = vec![0.0; halves.len() + 1];
        let (atoms, infinite) = pair.atoms();
        for (loss, mass) in atoms {
            let position = (loss - offset) / step;
            if (position - position.round()).abs() < ON_GRID {
                on_grid[(position.round() as i64 - first) as usize] += mass;
                continue;
            }
            let half_index = (2.0 * position).floor() as i64;
            let cell = Cell::atom(loss, mass, (at(half_index), at(half_index + 1)));
            let (left, right) = &mut halves[(half_index.div_euclid(2) - first) as usize];
            let half = if half_index.rem_euclid(2) == 0 {
                left
            } else {
                right
            };
            *half = half.plus(cell);
        }
        Cells {
            offset,
            first,
            step,
            halves,
            on_grid,
            infinite,
            tail: log_tail.exp(),
        }
    }

    /// The moments of whole cells.
    fn whole(&self) -> impl Iterator<Item = Cell> + '_ {
        let half_growth = (0.5 * self.step).exp();
        self.halves.iter().map(move |(lower, upper)| Cell {
            left: lower.left + upper.left + (upper.left + upper.right) / half_growth,
            right: lower.right + upper.right + (lower.left + lower.right) * half_growth,
        })
    }

    /// Splits each cell's mass between its ends so that P and Q of the cell are kept: the chords of H.
    fn connect_the_dots(&self) -> Vec<f64> {
        let (rise, fall) = (self.step.exp_m1(), -(-self.step).exp_m1());
        let mut masses = self.on_grid.clone();
        for (place, cell) in self.whole().enumerate() {
            masses[place] += cell.right / rise;
            masses[place + 1] += cell.left / fall;
        }
        masses
    }

    /// A measure whose curve lies above that of the pair.
    ///
    /// # Guarantee
    /// Every composition that uses it instead of the pair has a larger delta at every epsilon.
    pub(crate) fn pessimistic(&self) -> Discrete {
        let mut masses = self.connect_the_dots();
        masses[0] += self.tail;
        Discrete {
            offset: self.offset,
            first: self.first,
            masses,
            infinite: self.infinite + self.tail,
        }
    }

    /// A measure whose curve lies below that of the pair.
    ///
    /// In each cell from a to b take the tangent of H at the midpoint m. Tangents of a convex function lie below
    /// it, so a chord whose ends lie on or below the tangent's ends does too. The tangent passes below the dots by
    /// `∫ (R − a) dQ` over the lower half at a, and by `∫ (b − R) dQ` over the upper half at b; each dot is lowered to
    /// the lower of its two tangents. In the far tail the tangent at m can pass below zero at b; there the tangent at
    /// b is used, which meets the dot at b and passes below the one at a by `∫ (R − a) dQ` over the whole cell, never
    /// below zero.
    ///
    /// At the lower end the tangents can pass below the line P − αQ that H follows before its first mass, which
    /// would lose mass. Dots there are put on that line, which lies below H as well. In the last such cell the
    /// tangent at its lower end takes over: it passes below the dot at b by `∫ (b − R) dQ` over the whole cell.
    ///
    /// The lowered dots need not be convex; a dot above the chord of its neighbours has negative mass, and the
    /// envelope is found by handing that mass to the neighbours, keeping both moments. To the left of the grid
    /// the curve continues with the slope of H, so a negative first mass goes to its neighbour as Q-mass.
    ///
    /// # Guarantee
    /// Every composition that uses it instead of the pair has a smaller delta at every epsilon.
    pub(crate) fn optimistic(&self) -> Discrete {
        let (rise, fall) = (self.step.exp_m1(), -(-self.step).exp_m1());
        let mut masses = self.connect_the_dots();
        let heights = heights(&masses, self.step);
        let mut lowered = vec![0.0_f64; masses.len()];
        let wholes: Vec<Cell> = self.whole().collect();
        for (place, (whole, (lower, upper))) in wholes.iter().zip(&self.halves).enumerate() {
            if upper.right <= heights[place + 1] {
                lowered[place] = lowered[place].max(lower.left);
                lowered[place + 1] = upper.right;
            } else {
                lowered[place] = lowered[place].max(whole.left);
            }
        }
        let below = depths(&masses, self.step);
        let off_line = |&place: &usize| {
            self.halves[place].0.left > below[place] && wholes[place].right <= heights[place + 1]
        };
        if let Some(last) = (0..wholes.len()).rev().find(off_line) {
            lowered[..=last].copy_from_slice(&below[..=last]);
            lowered[last + 1] = lowered[last + 1].max(wholes[last].right);
        }
        for place in 0..masses.len() {
            if let Some(next) = lowered.get(place + 1) {
                masses[place] -= (next - lowered[place]) / rise;
            }
            if place > 0 {
                masses[place] += (lowered[place] - lowered[place - 1]) / fall;
            }
        }
        take_envelope(&mut masses, self.step);
        Discrete {
            offset: self.offset,
            first: self.first,
            masses,
            infinite: self.infinite,
        }
    }
}

/// H at all grid points, from masses at them.
fn heights(masses: &[f64], step: f64) -> Vec<f64> {
    let (decay, fall) = ((-step).exp(), -(-step).exp_m1());
    let mut heights = vec![0.0; masses.len()];
    let mut scaled = 0.0;
    for place in (0..masses.len() - 1).rev() {
        scaled = masses[place + 1] + decay * scaled;
        heights[place] = heights[place + 1] + fall * scaled;
    }
    heights
}

/// How far H lies above the line P − αQ at all grid points, from masses at them.
fn depths(masses: &[f64], step: f64) -> Vec<f64> {
    let (growth, fall) = (step.exp(), -(-step).exp_m1());
    let mut depths = vec![0.0; masses.len()];
    let mut scaled = 0.0;
    for place in 1..masses.len() {
        scaled = growth * (scaled + masses[place - 1]);
        depths[place] = depths[place - 1] + fall * scaled;
    }
    depths
}

/// The lower convex envelope, in terms of masses: negative ones are handed to the neighbours that remain.
fn take_envelope(masses: &mut [f64], step: f64) {
    let last = masses.len() - 1;
    let mut kept: Vec<usize> = Vec::with_capacity(masses.len());
    for place in 0..last {
        let mut place = place;
        let right = place + 1;
        while masses[place] < 0.0 {
            let negative = std::mem::take(&mut masses[place]);
            let up = ((right - place) as f64 * step).exp_m1();
            match kept.pop() {
                None => {
                    masses[right] += negative * (1.0 + up);
                    break;
                }
                Some(left) => {
                    let down = -(-((place - left) as f64) * step).exp_m1();
                    masses[left] += negative * (1.0 - down) * up / (up + down);
                    masses[right] += negative * (1.0 + up) * down / (up + down);
                    place = left;
                }
            }
        }
        if masses[place] > 0.0 {
            kept.push(place);
        }
    }
    // The last chord cannot rise, so only rounding can leave anything negative here.
    masses[last] = masses[last].max(0.0);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::normal;
    use crate::pld::base::Base;
    use crate::pld::replace_one::ReplaceOne;

    /// The hockey-stick curve of a measure on a grid, at any epsilon.
    fn curve(discrete: &Discrete, step: f64, epsilon: f64) -> f64 {
        let loss = |place: usize| discrete.offset + (discrete.first + place as i64) as f64 * step;
        let part = |(place, mass): (usize, &f64)| mass * -(epsilon - loss(place)).min(0.0).exp_m1();
        discrete.infinite + discrete.masses.iter().enumerate().map(part).sum::<f64>()
    }

    /// The exact curves of Gaussian noise, all records or a Poisson sample.
    fn exact(pair: &Pair, epsilon: f64) -> f64 {
        let threshold = |q: f64, mu: f64, epsilon: f64| {
            let ratio = epsilon.exp_m1() / q;
            if ratio <= -1.0 {
                f64::NEG_INFINITY
            } else {
                ratio.ln_1p() / mu + 0.5 * mu
            }
        };
        match pair {
            Pair::Remove {
                sample_rate: q,
                base: Base::Gaussian { mu },
            } => {
                let z = threshold(*q, *mu, epsilon);
                q * normal::survival(z - mu) + (1.0 - q - epsilon.exp()) * normal::survival(z)
            }
            Pair::Add {
                sample_rate: q,
                base: Base::Gaussian { mu },
            } => {
                let z = threshold(*q, *mu, -epsilon);
                (1.0 - epsilon.exp() * (1.0 - q)) * normal::cdf(z) - epsilon.exp() * q * normal::cdf(z - mu)
            }
            Pair::Full(Base::Gaussian { mu }) => {
                normal::survival(epsilon / mu - 0.5 * mu)
                    - epsilon.exp() * normal::survival(epsilon / mu + 0.5 * mu)
            }
            Pair::Full(Base::Laplace { scale }) if epsilon >= 0.0 => {
                (-(0.5 * (epsilon - 1.0 / scale)).min(0.0).exp_m1()).max(0.0)
            }
            // Symmetric pairs: H(e^ε) = 1 − e^ε + e^ε H(e^−ε).
            Pair::Full(Base::Laplace { .. }) => -epsilon.exp_m1() + epsilon.exp() * exact(pair, -epsilon),
            Pair::WithoutReplacement { sample_rate, base } => {
                let (sample_rate, base) = (*sample_rate, base.clone());
                let removed = Pair::Remove {
                    sample_rate,
                    base: base.clone(),
                };
                exact(
                    &if epsilon >= 0.0 {
                        removed
                    } else {
                        Pair::Add { sample_rate, base }
                    },
                    epsilon,
                )
            }
            _ => panic!("no closed form"),
        }
    }

    fn closed_forms() -> Vec<Pair> {
        let mut pairs = vec![Pair::Full(Base::Laplace { scale: 0.7 })];
        for mu in [0.01, 0.5, 1.0, 4.0] {
            pairs.push(Pair::Full(Base::Gaussian { mu }));
            for sample_rate in [1e-4, 0.01, 0.3, 0.9] {
                pairs.push(Pair::Remove {
                    sample_rate,
                    base: Base::Gaussian { mu },
                });
                pairs.push(Pair::Add {
                    sample_rate,
                    base: Base::Gaussian { mu },
                });
            }
        }
        pairs
    }

    #[test]
    fn the_truth_lies_between_both_curves() {
        for pair in closed_forms() {
            let (low, high) = pair.range(-50.0);
            for cells_wanted in [7.0, 60.0, 1000.0] {
                let step = (high - low) / cells_wanted;
                let sketch = pair.sketch(-50.0);
                let anywhere = !matches!(pair, Pair::WithoutReplacement { .. });
                let other = if anywhere { 0.31 * step } else { 0.0 };
                for offset in [pair.anchor(&sketch, step), other] {
                    let cells = Cells::new(&pair, step, offset, -50.0);
                    let (above, below) = (cells.pessimistic(), cells.optimistic());
                    for place in 0..200 {
                        let epsilon = low + (high - low) * f64::from(place) / 199.3;
                        let truth = exact(&pair, epsilon);
                        let slack = 1e-13;
                        let (upper, lower) = (curve(&above, step, epsilon), curve(&below, step, epsilon));
                        assert!(
                            upper >= truth - slack,
                            "{pair:?} step {step} at {epsilon}: {upper} < {truth}"
                        );
                        assert!(
                            lower <= truth + slack,
                            "{pair:?} step {step} at {epsilon}: {lower} > {truth}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn the_pessimistic_curve_is_exact_at_grid_points() {
        for pair in closed_forms() {
            let (low, high) = pair.range(-60.0);
            let step = (high - low) / 400.0;
            let above = Cells::new(&pair, step, 0.0, -60.0).pessimistic();
            for place in 1..400 {
                let epsilon = (above.first + place) as f64 * step;
                let (truth, found) = (exact(&pair, epsilon), curve(&above, step, epsilon));
                assert!(
                    (found - truth).abs() < 1e-13 + 1e-10 * truth,
                    "{pair:?} at {epsilon}: {found} {truth}"
                );
            }
        }
    }

    #[test]
    fn both_measures_are_close_and_keep_their_mass() {
        let replace_one = Pair::ReplaceOne(ReplaceOne::new(0.1, 1.0));
        let sampled_laplace = Pair::Remove {
            sample_rate: 0.1,
            base: Base::Laplace { scale: 1.0 },
        };
        let proved = Pair::Add {
            sample_rate: 0.1,
            base: Base::proved(1.0, 1e-6),
        };
        for pair in [replace_one, sampled_laplace, proved] {
            let step = 0.01;
            let sketch = pair.sketch(-50.0);
            let cells = Cells::new(&pair, step, pair.anchor(&sketch, step), -50.0);
            let (above, below) = (cells.pessimistic(), cells.optimistic());
            let total: f64 = above.masses.iter().sum::<f64>() + above.infinite;
            assert!((total - 1.0).abs() < 1e-9, "{pair:?} {total}");
            for place in -100..100 {
                let epsilon = 0.013 * f64::from(place);
                let (upper, lower) = (curve(&above, step, epsilon), curve(&below, step, epsilon));
                assert!(
                    lower <= upper + 1e-15 && upper - lower < 3e-3,
                    "{pair:?} at {epsilon}: {lower} {upper}"
                );
            }
        }
    }
}
