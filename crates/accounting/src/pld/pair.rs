//! Dominating pairs of all mechanisms, one for each direction.

use super::base::{Atom, Base};
use super::cell::Cell;
use super::plan::centre;
use super::replace_one::ReplaceOne;
use crate::normal;

/// A pair of distributions whose hockey-stick curve bounds that of a mechanism for one direction of adjacency.
///
/// # Source
/// Zhu, Dong and Wang 2022, amplification by sampling: if (A, B) dominates a release, ((1−q)B + qA, B) dominates it on a Poisson
/// sample when a record is removed and (B, (1−q)B + qA) when one is added. On a sample of fixed size, with (A, B) for
/// the exchange of a record, the first curve bounds orders e^ε ≥ 1 and the second those below; the two meet at 1,
/// and the curve they form belongs to a pair whose loss has the positive part of the first, the negative part of
/// the second, and the rest of its mass at zero.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Pair {
    /// A release that sees every record; both directions agree.
    Full(Base),
    /// The data set with the record against the one without.
    Remove { sample_rate: f64, base: Base },
    /// The data set without the record against the one with it.
    Add { sample_rate: f64, base: Base },
    /// Poisson sample, one record exchanged; both directions agree.
    ReplaceOne(ReplaceOne),
    /// Sample of fixed size, one record exchanged; both directions agree.
    FixedSize { sample_rate: f64, base: Base },
}

/// `ln(1 − q + q e^ℓ)`: the loss of a sampled release from that of the release.
pub(crate) fn sampled_loss(sample_rate: f64, loss: f64) -> f64 {
    if loss < 30.0 {
        (sample_rate * loss.exp_m1()).ln_1p()
    } else {
        loss + (sample_rate + (1.0 - sample_rate) * (-loss).exp()).ln()
    }
}

/// The inverse of [`sampled_loss`]; −∞ at and below `ln(1 − q)`.
fn unsampled_loss(sample_rate: f64, loss: f64) -> f64 {
    if loss < 30.0 {
        let ratio = loss.exp_m1() / sample_rate;
        if ratio <= -1.0 + 1e-15 { f64::NEG_INFINITY } else { ratio.ln_1p() }
    } else {
        loss - sample_rate.ln() + (-(1.0 - sample_rate) * (-loss).exp()).ln_1p()
    }
}

/// A point above which (1−q)N(0,1) + qN(μ,1) has probability `exp(log_tail)` at most: both parts get half of it, and
/// the part with the record has weight q only.
pub(crate) fn mixture_quantile(sample_rate: f64, mu: f64, log_tail: f64) -> f64 {
    let half = log_tail - std::f64::consts::LN_2;
    let log_share = (half - sample_rate.ln()).min(-std::f64::consts::LN_2);
    (mu + normal::upper_quantile(log_share)).max(normal::upper_quantile(half))
}

impl Pair {
    /// The pairs whose positive and negative losses a sample of fixed size has.
    fn halves(sample_rate: f64, base: &Base) -> [Pair; 2] {
        [Pair::Remove { sample_rate, base: base.clone() }, Pair::Add { sample_rate, base: base.clone() }]
    }

    /// The loss at which the continuous part begins and ends, if there is one.
    pub(crate) fn support(&self) -> Option<(f64, f64)> {
        match self {
            Pair::Full(base) => base.support(),
            Pair::Remove { sample_rate, base } => {
                base.support().map(|(a, b)| (sampled_loss(*sample_rate, a), sampled_loss(*sample_rate, b)))
            }
            Pair::Add { sample_rate, base } => {
                base.support().map(|(a, b)| (-sampled_loss(*sample_rate, b), -sampled_loss(*sample_rate, a)))
            }
            Pair::ReplaceOne(_) => Some((f64::NEG_INFINITY, f64::INFINITY)),
            Pair::FixedSize { sample_rate, base } => {
                let [positive, negative] = Pair::halves(*sample_rate, base);
                positive.support().zip(negative.support()).map(|(high, low)| (low.0, high.1))
            }
        }
    }

    /// The continuous part between two losses inside the support.
    pub(crate) fn cell(&self, lower: f64, upper: f64) -> Cell {
        match self {
            Pair::Full(base) => base.cell(lower, upper),
            // With R the likelihood ratio of the base, R' = 1 − q + qR: differences of R' are q times those of R.
            Pair::Remove { sample_rate, base } => {
                let (a, b) = (unsampled_loss(*sample_rate, lower), unsampled_loss(*sample_rate, upper));
                let cell = base.cell(a, b);
                Cell { left: sample_rate * cell.left, right: sample_rate * cell.right }
            }
            // The same, mirrored: dP − e^a dQ = e^a (e^{−a} − R') dB.
            Pair::Add { sample_rate, base } => {
                let (a, b) = (unsampled_loss(*sample_rate, -upper), unsampled_loss(*sample_rate, -lower));
                let cell = base.cell(a, b);
                Cell {
                    left: lower.exp() * sample_rate * cell.right,
                    right: upper.exp() * sample_rate * cell.left,
                }
            }
            Pair::ReplaceOne(pair) => pair.cell(lower, upper),
            // Zero is a grid point of these pairs, so no cell has both signs.
            Pair::FixedSize { sample_rate, base } => {
                let [positive, negative] = Pair::halves(*sample_rate, base);
                if lower >= 0.0 { positive.cell(lower, upper) } else { negative.cell(lower, upper) }
            }
        }
    }

    /// Probability under Q of the continuous part between two losses inside the support.
    pub(crate) fn without(&self, lower: f64, upper: f64) -> f64 {
        match self {
            Pair::Full(base) => base.masses(lower, upper).1,
            Pair::Remove { sample_rate, base } => {
                let (a, b) = (unsampled_loss(*sample_rate, lower), unsampled_loss(*sample_rate, upper));
                base.masses(a, b).1
            }
            Pair::Add { sample_rate, base } => {
                let (a, b) = (unsampled_loss(*sample_rate, -upper), unsampled_loss(*sample_rate, -lower));
                let (with, without) = base.masses(a, b);
                (1.0 - sample_rate) * without + sample_rate * with
            }
            Pair::ReplaceOne(pair) => {
                let cell = pair.cell(lower, upper);
                (cell.left + cell.right) / (lower.exp() * (upper - lower).exp_m1())
            }
            Pair::FixedSize { sample_rate, base } => {
                let [positive, negative] = Pair::halves(*sample_rate, base);
                if lower >= 0.0 { positive.without(lower, upper) } else { negative.without(lower, upper) }
            }
        }
    }

    /// The total variation distance of P and Q: where R' = 1 − q + qR exceeds one, R does.
    pub(crate) fn total_variation(&self) -> f64 {
        let (sample_rate, (with, without)) = match self {
            Pair::Full(base) => (1.0, base.positive()),
            Pair::Remove { sample_rate, base }
            | Pair::Add { sample_rate, base }
            | Pair::FixedSize { sample_rate, base } => (*sample_rate, base.positive()),
            Pair::ReplaceOne(pair) => return pair.total_variation(),
        };
        sample_rate * (with - without)
    }

    /// Point masses at finite losses as (loss, probability under P), and the probability of an infinite loss.
    pub(crate) fn atoms(&self) -> (Vec<(f64, f64)>, f64) {
        let transformed: Vec<(f64, f64)> = match self {
            Pair::Full(base) => base.atoms().iter().map(|atom| (atom.loss, atom.with)).collect(),
            Pair::Remove { sample_rate, base } => {
                let mixed = |atom: &Atom| (1.0 - sample_rate) * atom.without + sample_rate * atom.with;
                let loss = |atom: &Atom| sampled_loss(*sample_rate, atom.loss);
                base.atoms().iter().map(|atom| (loss(atom), mixed(atom))).collect()
            }
            Pair::Add { sample_rate, base } => {
                let loss = |atom: &Atom| -sampled_loss(*sample_rate, atom.loss);
                base.atoms().iter().map(|atom| (loss(atom), atom.without)).collect()
            }
            Pair::ReplaceOne(_) => Vec::new(),
            Pair::FixedSize { sample_rate, base } => {
                let [positive, negative] = Pair::halves(*sample_rate, base);
                let (with, without) = base.positive();
                let (above, infinite) = positive.atoms();
                let mut atoms: Vec<(f64, f64)> = above.into_iter().filter(|atom| atom.0 > 0.0).collect();
                atoms.extend(negative.atoms().0.into_iter().filter(|atom| atom.0 < 0.0));
                atoms.push((0.0, 1.0 - sample_rate * with - (2.0 - sample_rate) * without));
                atoms.push((f64::INFINITY, infinite));
                atoms
            }
        };
        let infinite = transformed.iter().filter(|atom| atom.0 == f64::INFINITY).map(|atom| atom.1).sum();
        (transformed.into_iter().filter(|atom| atom.0.is_finite() && atom.1 > 0.0).collect(), infinite)
    }

    /// Where a grid point belongs: the optimistic discretisation hands whatever lies below its first point to that
    /// point, and loses nothing exactly when the point is the centre of mass, in the likelihood ratio, of what it
    /// collects. `sketch` helps where no edge of the support asks for more.
    pub(crate) fn anchor(&self, sketch: &[(f64, f64)], step: f64) -> f64 {
        if let Pair::FixedSize { .. } = self {
            return 0.0;
        }
        let (atoms, _) = self.atoms();
        if let Some(lowest) = atoms.iter().map(|atom| atom.0).reduce(f64::min) {
            return lowest;
        }
        let support = self.support().unwrap_or((f64::NEG_INFINITY, f64::INFINITY));
        if support.0.is_finite() {
            // With half a step the tangents at the midpoints meet in the dot above the point. Where the tail falls so
            // fast that the next tangent would end below zero, the whole next cell is collected.
            let point = self.centre_at_edge(support.0, 0.5 * step, step);
            let ends_above_zero = self.cell(point + 0.5 * step, point + step).right
                <= self.cell(point + step, f64::INFINITY).left;
            return if ends_above_zero { point } else { self.centre_at_edge(support.0, step, step) };
        }
        let mut point = centre(sketch, step);
        for _ in 0..20 {
            point = self.centre(point - 0.5 * step, (point + 0.5 * step).min(support.1)).unwrap_or(point);
        }
        // A hair below, so that rounding cannot push the tangent from the left below zero.
        point - 1e-11 * step
    }

    /// The point that is the centre of mass of everything less than `reach` above it.
    fn centre_at_edge(&self, edge: f64, reach: f64, step: f64) -> f64 {
        let (mut low, mut high) = (edge - reach, edge + 64.0 * step);
        for _ in 0..45 {
            let middle = 0.5 * (low + high);
            match self.centre(edge, middle + reach) {
                Some(centre) if centre <= middle => high = middle,
                _ => low = middle,
            }
        }
        high
    }

    /// The centre of mass, in the likelihood ratio, of the continuous part between two losses.
    fn centre(&self, lower: f64, upper: f64) -> Option<f64> {
        let cell = self.cell(lower, upper);
        let scaled_without = (cell.left + cell.right) / (upper - lower).exp_m1();
        (scaled_without > 0.0).then(|| lower + (cell.left / scaled_without).ln_1p())
    }

    /// The distance between the lowest and the heaviest other atom: with the lowest as anchor, a step that divides
    /// it makes losses with few atoms exact.
    pub(crate) fn spacing(&self) -> Option<f64> {
        if let Pair::FixedSize { .. } = self {
            return None;
        }
        let (mut atoms, _) = self.atoms();
        atoms.sort_by(|left, right| left.0.total_cmp(&right.0));
        let (lowest, others) = atoms.split_first()?;
        let heaviest = others.iter().max_by(|left, right| left.1.total_cmp(&right.1))?;
        Some(heaviest.0 - lowest.0).filter(|spacing| *spacing > 0.0)
    }

    /// Losses outside of which P has at most probability `exp(log_tail)` on either side.
    pub(crate) fn range(&self, log_tail: f64) -> (f64, f64) {
        let reach = normal::upper_quantile(log_tail);
        let continuous = match self {
            Pair::Full(Base::Gaussian { mu }) => Some((mu * (0.5 * mu - reach), mu * (0.5 * mu + reach))),
            Pair::Remove { sample_rate, base: Base::Gaussian { mu } } => {
                let top = mu * (mixture_quantile(*sample_rate, *mu, log_tail) - 0.5 * mu);
                let bottom = -mu * (0.5 * mu + reach);
                Some((sampled_loss(*sample_rate, bottom), sampled_loss(*sample_rate, top)))
            }
            Pair::Add { sample_rate, base: Base::Gaussian { mu } } => {
                let (top, bottom) = (mu * (reach - 0.5 * mu), -mu * (reach + 0.5 * mu));
                Some((-sampled_loss(*sample_rate, top), -sampled_loss(*sample_rate, bottom)))
            }
            Pair::Full(_) | Pair::Remove { .. } | Pair::Add { .. } => self.support(),
            Pair::ReplaceOne(pair) => Some(pair.range(log_tail)),
            Pair::FixedSize { sample_rate, base } => {
                let [positive, negative] = Pair::halves(*sample_rate, base);
                Some((negative.range(log_tail).0.min(0.0), positive.range(log_tail).1.max(0.0)))
            }
        };
        let (atoms, _) = self.atoms();
        atoms.iter().fold(continuous.unwrap_or((f64::INFINITY, f64::NEG_INFINITY)), |(low, high), atom| {
            (low.min(atom.0), high.max(atom.0))
        })
    }

    /// The continuous part as the centres of mass of cells, which keeps both totals exact. `edge` maps [−1, 1] onto
    /// the losses, and zero to zero or to the middle.
    fn cell_points(&self, edge: impl Fn(f64) -> f64) -> Vec<(f64, f64)> {
        let at = |place: usize| edge(2.0 * place as f64 / SKETCH_NODES as f64 - 1.0);
        let point = |place: usize| {
            let (lower, upper) = (at(place), at(place + 1));
            let cell = self.cell(lower, upper);
            // P = left + e^lower Q, and left + right = (e^upper − e^lower) Q.
            let mass = cell.left + (cell.left + cell.right) / (upper - lower).exp_m1();
            Some((self.centre(lower, upper)?, mass))
        };
        (0..SKETCH_NODES).filter_map(point).collect()
    }

    /// A few hundred points with their probabilities under P: good enough to plan a grid, not to certify.
    pub(crate) fn sketch(&self, log_tail: f64) -> Vec<(f64, f64)> {
        let reach = normal::upper_quantile(log_tail);
        let (mut points, _) = self.atoms();
        let mut normal_points = |mu: f64, point: &dyn Fn(f64) -> (f64, f64)| {
            let (start, end) = (-reach, reach + mu);
            let step = (end - start) / SKETCH_NODES as f64;
            points.extend((0..=SKETCH_NODES).map(|node| {
                let (loss, density) = point(start + node as f64 * step);
                (loss, density * step)
            }));
        };
        match self {
            Pair::Full(Base::Gaussian { mu }) => {
                normal_points(0.0, &|z| (mu * (z + 0.5 * mu), normal::density(z)));
            }
            Pair::Remove { sample_rate: q, base: Base::Gaussian { mu } } => normal_points(*mu, &|z| {
                let density = (1.0 - q) * normal::density(z) + q * normal::density(z - mu);
                (sampled_loss(*q, mu * (z - 0.5 * mu)), density)
            }),
            Pair::Add { sample_rate: q, base: Base::Gaussian { mu } } => {
                normal_points(0.0, &|z| (-sampled_loss(*q, mu * (z - 0.5 * mu)), normal::density(z)));
            }
            Pair::ReplaceOne(pair) => normal_points(pair.mu(), &|z| (pair.loss(z), pair.density(z))),
            Pair::FixedSize { sample_rate, base } => {
                let top = match base {
                    Base::Gaussian { mu } => mu * (reach + 0.5 * mu),
                    Base::Laplace { scale } => 1.0 / scale,
                    Base::Atoms(_) => 0.0,
                };
                let loss = |share: f64| sampled_loss(*sample_rate, share * top);
                points
                    .extend(self.cell_points(|share| if share < 0.0 { -loss(-share) } else { loss(share) }));
            }
            Pair::Full(Base::Atoms(_))
            | Pair::Remove { base: Base::Atoms(_), .. }
            | Pair::Add { base: Base::Atoms(_), .. } => {}
            Pair::Full(Base::Laplace { scale }) => {
                points.extend(self.cell_points(|share| share / scale));
            }
            Pair::Remove { sample_rate, base: Base::Laplace { scale } } => {
                points.extend(self.cell_points(|share| sampled_loss(*sample_rate, share / scale)));
            }
            Pair::Add { sample_rate, base: Base::Laplace { scale } } => {
                points.extend(self.cell_points(|share| -sampled_loss(*sample_rate, -share / scale)));
            }
        }
        let top = self.range(log_tail).1;
        points.retain(|point| point.1 > 0.0);
        let total: f64 = points.iter().map(|point| point.1).sum();
        for point in &mut points {
            point.0 = point.0.min(top);
            point.1 /= total;
        }
        points.sort_by(|left, right| left.0.total_cmp(&right.0));
        points
    }
}

/// Points of a sketch of a normal mixture.
const SKETCH_NODES: usize = 300;
