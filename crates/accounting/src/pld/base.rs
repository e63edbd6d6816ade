//! Dominating pairs of releases that see every record.

use super::cell::Cell;
use crate::normal;
use crate::quadrature;

/// A point mass of the privacy loss.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Atom {
    pub loss: f64,
    /// Probability under P, the data set with the record.
    pub with: f64,
    /// Probability under Q, the data set without it.
    pub without: f64,
}

/// A pair (A, B) of output distributions, with and without the record, that dominates a release. All of them are
/// symmetric: exchanging A and B gives the same loss distribution.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Base {
    /// N(μ, 1) against N(0, 1): the loss is N(μ²/2, μ²) under A.
    Gaussian { mu: f64 },
    /// Laplace of this scale, shifted by one: the loss lies in [−1/b, 1/b], with atoms at both ends.
    Laplace { scale: f64 },
    /// Finitely many outputs: randomised response, and the worst case of any (ε, δ)-DP release.
    Atoms(Vec<Atom>),
}

impl Base {
    /// Randomised response over `categories` values.
    pub(crate) fn randomised_response(categories: u32, epsilon: f64) -> Base {
        Base::Atoms(response_atoms(categories, epsilon, 0.0))
    }

    /// The worst case of all (ε, δ)-DP releases: it fails openly with probability δ, else it is binary
    /// randomised response.
    ///
    /// # Source
    /// Kairouz, Oh and Viswanath 2015: the mechanism that dominates all (ε, δ)-DP ones.
    pub(crate) fn proved(epsilon: f64, delta: f64) -> Base {
        let mut atoms = response_atoms(2, epsilon, delta);
        if delta > 0.0 {
            atoms.push(Atom { loss: f64::INFINITY, with: delta, without: 0.0 });
            atoms.push(Atom { loss: f64::NEG_INFINITY, with: 0.0, without: delta });
        }
        Base::Atoms(atoms)
    }

    /// Between which losses the pair has a density.
    pub(crate) fn support(&self) -> Option<(f64, f64)> {
        match self {
            Base::Gaussian { .. } => Some((f64::NEG_INFINITY, f64::INFINITY)),
            Base::Laplace { scale } => Some((-1.0 / scale, 1.0 / scale)),
            Base::Atoms(_) => None,
        }
    }

    /// The point masses.
    pub(crate) fn atoms(&self) -> Vec<Atom> {
        match self {
            Base::Gaussian { .. } => Vec::new(),
            Base::Laplace { scale } => {
                let rare = 0.5 * (-1.0 / scale).exp();
                vec![
                    Atom { loss: 1.0 / scale, with: 0.5, without: rare },
                    Atom { loss: -1.0 / scale, with: rare, without: 0.5 },
                ]
            }
            Base::Atoms(atoms) => atoms.clone(),
        }
    }

    /// Probability of a positive loss with and without the record.
    pub(crate) fn positive(&self) -> (f64, f64) {
        match self {
            Base::Gaussian { mu } => (normal::cdf(0.5 * mu), normal::survival(0.5 * mu)),
            Base::Laplace { scale } => {
                let rare = 0.5 * (-0.5 / scale).exp();
                (1.0 - rare, rare)
            }
            Base::Atoms(atoms) => atoms
                .iter()
                .filter(|atom| atom.loss > 0.0)
                .fold((0.0, 0.0), |(with, without), atom| (with + atom.with, without + atom.without)),
        }
    }

    /// Probability of the continuous part between two losses with and without the record.
    pub(crate) fn masses(&self, lower: f64, upper: f64) -> (f64, f64) {
        match self {
            Base::Gaussian { mu } => {
                let (za, zb) = (lower / mu - 0.5 * mu, upper / mu - 0.5 * mu);
                (normal::between(za, zb), normal::between(za + mu, zb + mu))
            }
            Base::Laplace { scale } => {
                let at = |loss: f64| 0.5 * (0.5 * (loss - 1.0 / scale)).exp();
                (at(upper) - at(lower), at(-lower) - at(-upper))
            }
            Base::Atoms(_) => (0.0, 0.0),
        }
    }

    /// The continuous part between two losses inside the support; the lower end may be −∞, where e^a is 0.
    pub(crate) fn cell(&self, lower: f64, upper: f64) -> Cell {
        match self {
            Base::Gaussian { mu } => gaussian_cell(*mu, lower, upper),
            Base::Laplace { scale } => {
                // The density of the loss under A is e^{(ℓ − 1/b)/2}/4; both integrals are elementary.
                let shape = 2.0 * (0.25 * (upper - lower)).sinh().powi(2);
                let at = |loss: f64| (0.5 * (loss - 1.0 / scale)).exp();
                Cell { left: at(lower) * shape, right: at(upper) * shape }
            }
            Base::Atoms(_) => Cell::default(),
        }
    }
}

/// Randomised response that answers at all with probability 1 − `failure`.
fn response_atoms(categories: u32, epsilon: f64, failure: f64) -> Vec<Atom> {
    let others = f64::from(categories) - 2.0;
    let truth = (1.0 - failure) / (1.0 + (others + 1.0) * (-epsilon).exp());
    let lie = truth * (-epsilon).exp();
    let mut atoms = vec![
        Atom { loss: epsilon, with: truth, without: lie },
        Atom { loss: -epsilon, with: lie, without: truth },
    ];
    if others > 0.0 {
        atoms.push(Atom { loss: 0.0, with: others * lie, without: others * lie });
    }
    atoms
}

/// Beyond so many panels the closed form loses nothing.
const MOST_PANELS: f64 = 16.0;

/// ∫ φ(z)(1 − e^{−μ(z − z_a)}) dz and ∫ φ(z)(e^{μ(z_b − z)} − 1) dz.
///
/// Narrow cells use quadrature of these positive integrands; wide ones the closed form, where the two normal
/// probabilities differ enough.
fn gaussian_cell(mu: f64, lower: f64, upper: f64) -> Cell {
    let standard = |loss: f64| loss / mu - 0.5 * mu;
    let (za, zb) = (standard(lower), standard(upper));
    let steepness = za.abs().max(zb.abs()).max(1.0) + mu;
    let panels = (2.0 * (zb - za) * steepness).ceil();
    if panels <= MOST_PANELS {
        let mut cell = Cell::default();
        quadrature::panels(za, zb, panels.max(1.0) as usize, |z, weight| {
            let mass = weight * normal::density(z);
            cell.left -= mass * (-mu * (z - za)).exp_m1();
            cell.right += mass * (mu * (zb - z)).exp_m1();
        });
        return cell;
    }
    let with = normal::between(za, zb);
    // e^loss times the probability under B, in logarithms: either factor alone may leave the range of f64.
    let scaled_without = |loss: f64| {
        if loss == f64::NEG_INFINITY {
            return 0.0;
        }
        if za + mu > 5.0 {
            (loss + normal::log_survival(za + mu)).exp() - (loss + normal::log_survival(zb + mu)).exp()
        } else {
            (loss + normal::between(za + mu, zb + mu).ln()).exp()
        }
    };
    Cell { left: (with - scaled_without(lower)).max(0.0), right: (scaled_without(upper) - with).max(0.0) }
}
