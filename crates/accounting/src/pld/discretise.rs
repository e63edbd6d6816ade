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
    /// Places next to an edge of the support, where masses are least exact, each with how inexactly the edge is
    /// placed: in units of the rounding error, relative to a likelihood ratio there.
    pub edges: Vec<(usize, f64)>,
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
    /// Bounds on the mass left out below and above.
    tails: (f64, f64),
    /// Places next to an edge of the support, and how inexactly it is placed.
    edges: Vec<(usize, f64)>,
}

impl Cells {
    /// Integrates `pair` over the cells of the grid of points `offset + i · step`. `exp(log_tail)` bounds the mass
    /// left out on either side.
    ///
    /// Offsets of different steps need not agree: composed losses lie on the grid shifted by the sum of offsets.
    /// That matters when most of a loss is much narrower than a cell: with a grid point at its centre of mass, both
    /// discretisations keep it there.
    ///
    /// What lies more than a cell above `top` is not looked at: a finite one is enough to split off the body below it.
    pub(crate) fn new(pair: &Pair, step: f64, offset: f64, log_tail: f64, top: f64) -> Cells {
        let (low, high) = pair.range(log_tail);
        let high = high.min(top.max(low) + step);
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
                pair.cell(inner.0, inner.1).widened(pair.without(inner.0, inner.1), inner, outer)
            }
        };
        let mut halves: Vec<(Cell, Cell)> =
            (first..last).map(|index| (half(2 * index), half(2 * index + 1))).collect();
        let mut on_grid = vec![0.0; halves.len() + 1];
        let (atoms, infinite) = pair.atoms();
        for (loss, mass) in atoms {
            let position = (loss - offset) / step;
            if position.ceil() as i64 > last {
                continue;
            }
            if (position - position.round()).abs() < ON_GRID {
                on_grid[(position.round() as i64 - first) as usize] += mass;
                continue;
            }
            let half_index = (2.0 * position).floor() as i64;
            let cell = Cell::atom(loss, mass, (at(half_index), at(half_index + 1)));
            let (left, right) = &mut halves[(half_index.div_euclid(2) - first) as usize];
            let half = if half_index.rem_euclid(2) == 0 { left } else { right };
            *half = half.plus(cell);
        }
        let edge_at = |edge: f64| ((edge - offset) / step).floor() as i64 - first;
        let edges = [support.0, support.1]
            .into_iter()
            .filter(|edge| edge.is_finite())
            .flat_map(|edge| {
                (edge_at(edge) - 1..=edge_at(edge) + 2).map(move |place| (place, edge.abs().exp_m1()))
            })
            .filter_map(|(place, blur)| Some((usize::try_from(place).ok()?, blur)))
            .filter(|(place, _)| *place < on_grid.len())
            .collect();
        Cells {
            offset,
            first,
            step,
            halves,
            on_grid,
            infinite,
            tails: (log_tail.exp(), log_tail.exp()),
            edges,
        }
    }

    /// What lies below a loss and what lies above it, as two measures that add up to this one. The cut is moved to the
    /// next grid point below, or above if `up`.
    pub(crate) fn split(&self, cut: f64, up: bool) -> [Cells; 2] {
        let position = (cut - self.offset) / self.step;
        let place = if up { position.ceil() } else { position.floor() } as i64 - self.first;
        let place = place.clamp(0, self.halves.len() as i64) as usize;
        let edges = |range: std::ops::RangeInclusive<usize>| {
            let inside = self.edges.iter().filter(|(edge, _)| range.contains(edge));
            inside.map(|(edge, blur)| (edge - range.start(), *blur)).collect()
        };
        let mut above = self.on_grid[place..].to_vec();
        above[0] = 0.0;
        let Cells { offset, first, step, infinite, tails, .. } = *self;
        [
            Cells {
                offset,
                first,
                step,
                halves: self.halves[..place].to_vec(),
                on_grid: self.on_grid[..=place].to_vec(),
                infinite: 0.0,
                tails: (tails.0, 0.0),
                edges: edges(0..=place),
            },
            Cells {
                offset,
                first: first + place as i64,
                step,
                halves: self.halves[place..].to_vec(),
                on_grid: above,
                infinite,
                tails: (0.0, tails.1),
                edges: edges(place..=self.halves.len()),
            },
        ]
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
        masses[0] += self.tails.0;
        Discrete {
            offset: self.offset,
            first: self.first,
            masses,
            infinite: self.infinite + self.tails.1,
            edges: self.edges.clone(),
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
            edges: self.edges.clone(),
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
mod tests;
