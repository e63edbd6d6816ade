//! Privacy loss distributions: the tightest answer, with a certificate.

mod base;
mod cell;
mod compose;
mod discretise;
mod jumps;
mod pair;
mod plan;
mod refine;
mod replace_one;
mod spectrum;
mod without_grid;

use crate::composition::{Composition, Mechanism, Release, Sampling};
use crate::error::AccountingError;
use crate::pricing::{Accountant, Price, Standing, check_all, refuse};
use crate::{Adjacency, Event, gdp, normal, rdp};
use base::Base;
use compose::{Composed, Part, Side};
use discretise::{Cells, Discrete};
use pair::Pair;
use plan::{Plan, Sketches};
use replace_one::ReplaceOne;

/// The bracket is refined until it is narrower than this share of epsilon ...
const RELATIVE_TOLERANCE: f64 = 0.005;
/// ... or than this.
const ABSOLUTE_TOLERANCE: f64 = 0.002;
/// The first grid aims for this share of the tolerance.
const AIM: f64 = 0.25;

/// Most points of all grids together, and of a composed loss. Plans aim for far fewer; where they miss, there is no grid.
const MOST_POINTS: f64 = (1 << 22) as f64;
/// Largest number of steps from zero to the end of a grid.
const EXACT_PLACES: f64 = (1u64 << 50) as f64;

/// Privacy loss distributions, composed by Fourier transform.
///
/// # Source
/// Koskela, Jälkö and Honkela 2020 for Fourier composition; Doroshenko et al. 2022 for the pessimistic
/// discretisation; Zhu, Dong and Wang 2022 for dominating pairs and their composition.
///
/// # Guarantee
/// The true epsilon of the dominating pairs lies between `lower` and `epsilon`. Discretisation, truncation,
/// wrap-around and floating-point errors are all inside the bracket; both directions of the adjacency are composed
/// on their own. Tested against reference values, closed forms and simulation.
pub struct Pld;

impl Accountant for Pld {
    fn name(&self) -> &'static str {
        "pld"
    }

    fn standing(&self) -> Standing {
        Standing::Proof
    }

    fn assumption(&self) -> &'static str {
        "the sampler is the stated one and all intermediate releases are seen; the certified bracket holds the exact value."
    }

    fn price(
        &self,
        composition: &Composition,
        adjacency: Adjacency,
        delta: f64,
    ) -> Result<Price, AccountingError> {
        let directions = Direction::of(self.name(), composition, adjacency)?;
        let mut price = Price { epsilon: 0.0, lower: Some(0.0), note: None };
        for direction in &directions {
            if direction.largest_loss() <= price.lower.unwrap_or(0.0) {
                // Adding a record to a rare sample can lose at most T·ln(1/(1 − q)): often less than is certain.
                continue;
            }
            let (lower, upper) = direction.epsilon(delta, price.lower.unwrap_or(0.0));
            price.epsilon = price.epsilon.max(upper);
            price.lower = Some(price.lower.unwrap_or(0.0).max(lower));
        }
        let lower = price.lower.unwrap_or(0.0);
        // Both are proofs, so the smaller one is: Rényi accounting has no grid and wins in some extreme corners.
        if let Ok(renyi) = rdp::Rdp.price(composition, adjacency, delta) {
            price.epsilon = price.epsilon.min(renyi.epsilon);
        }
        if price.epsilon.is_infinite() {
            price.note = Some("the probability of an unbounded loss reaches delta".into());
        } else if price.note.is_none() && price.epsilon - lower > tolerance(lower) {
            price.note = Some("the bracket is wider than usual: the grid or double precision ran out".into());
        }
        Ok(price)
    }
}

/// How wide a bracket around this epsilon may be.
fn tolerance(epsilon: f64) -> f64 {
    (RELATIVE_TOLERANCE * epsilon).max(ABSOLUTE_TOLERANCE)
}

/// One direction of the adjacency: the pairs of all steps and their counts.
pub(crate) struct Direction {
    pairs: Vec<(Pair, f64)>,
}

impl Direction {
    /// One direction if both agree, else two.
    pub(crate) fn of(
        accountant: &'static str,
        composition: &Composition,
        adjacency: Adjacency,
    ) -> Result<Vec<Direction>, AccountingError> {
        let mut remove = Vec::new();
        let mut add = Vec::new();
        // Gaussian releases without sampling are one Gaussian release, exactly.
        let mut gaussian_square = 0.0;
        for step in &composition.steps {
            let count = step.count as f64;
            let [with, without] = pairs(accountant, &step.mechanism, adjacency)?;
            if let Pair::Full(Base::Gaussian { mu }) = with {
                gaussian_square += count * mu * mu;
            } else {
                remove.push((with, count));
                add.push((without, count));
            }
        }
        if gaussian_square > 0.0 {
            let merged = Pair::Full(Base::Gaussian { mu: gaussian_square.sqrt() });
            remove.push((merged.clone(), 1.0));
            add.push((merged, 1.0));
        }
        let symmetric = remove == add;
        let mut directions = vec![Direction { pairs: remove }];
        if !symmetric {
            directions.push(Direction { pairs: add });
        }
        Ok(directions)
    }

    /// The parameter μ if all that ran is one Gaussian release.
    fn gaussian(&self) -> Option<f64> {
        match self.pairs[..] {
            [(Pair::Full(Base::Gaussian { mu }), 1.0)] => Some(mu),
            _ => None,
        }
    }

    fn steps(&self) -> f64 {
        self.pairs.iter().map(|pair| pair.1).sum()
    }

    /// The mass left out on either side of each loss: together far below delta.
    fn log_tail(&self, delta: f64) -> f64 {
        (1e-6 * delta / self.steps()).ln()
    }

    /// No loss of the whole composition exceeds this.
    fn largest_loss(&self) -> f64 {
        let top = |pair: &Pair| {
            let (atoms, infinite) = pair.atoms();
            let atom = atoms.iter().map(|atom| atom.0).fold(f64::NEG_INFINITY, f64::max);
            let continuous = pair.support().map_or(f64::NEG_INFINITY, |support| support.1);
            if infinite > 0.0 { f64::INFINITY } else { atom.max(continuous) }
        };
        self.pairs.iter().map(|(pair, count)| count * top(pair)).sum()
    }

    fn sketches(&self, log_tail: f64) -> Sketches {
        Sketches(self.pairs.iter().map(|(pair, count)| (pair.sketch(log_tail), *count)).collect())
    }

    /// The integrals over the cells of each pair's grid, up to a loss; both sides are made from them. `None` if the grids of a
    /// plan would be too large: losses of very different sizes can ask for any number of points.
    fn cells(&self, sketches: &Sketches, plan: &Plan, log_tail: f64, top: f64) -> Option<Vec<(Cells, f64)>> {
        let step = plan.step;
        let points = |(low, high): (f64, f64)| ((high.min(top.max(low)) - low) / step).max(0.0) + 2.0;
        let grids: Vec<f64> = self.pairs.iter().map(|(pair, _)| points(pair.range(log_tail))).collect();
        // Places on a grid are whole numbers that a float holds exactly.
        let far = self
            .pairs
            .iter()
            .map(|(pair, _)| pair.range(log_tail))
            .fold(0.0_f64, |far, (low, high)| far.max(low.abs()).max(high.min(top.max(low)).abs()));
        let fits = step > 0.0
            && grids.iter().sum::<f64>() <= MOST_POINTS
            && plan.points() <= MOST_POINTS
            && far / step <= EXACT_PLACES;
        if !fits {
            return None;
        }
        let both = self.pairs.iter().zip(&sketches.0);
        let cells = both.map(|((pair, count), (sketch, _))| {
            (Cells::new(pair, step, pair.anchor(sketch, step), log_tail, top), *count)
        });
        Some(cells.collect())
    }

    /// A slightly smaller step that divides the spacing of the atoms of a discrete loss.
    fn aligned(&self, step: f64) -> f64 {
        match self.pairs.iter().find_map(|pair| pair.0.spacing()) {
            Some(spacing) => spacing / (spacing / step).ceil(),
            None => step,
        }
    }
}

impl Direction {
    /// Upper bounds on the true-positive rate of any test at given false-positive rates: the smallest of
    /// δ(ε) + e^ε · fpr over all ε, negative ones too.
    pub(crate) fn true_positive_rates(&self, false_positive_rates: &[f64]) -> Vec<f64> {
        if let Some(mu) = self.gaussian() {
            let power = |fpr: f64| normal::survival(normal::quantile_above(fpr) - mu);
            return false_positive_rates.iter().map(|&fpr| power(fpr)).collect();
        }
        let log_tail = self.log_tail(1e-4);
        let sketches = self.sketches(log_tail);
        let mut plan = sketches.plan_untilted();
        plan.step = self.aligned(plan.step);
        let mut rates = vec![1.0_f64; false_positive_rates.len()];
        let Some(cells) = self.cells(&sketches, &plan, log_tail, f64::INFINITY) else { return rates };
        compose(&cells, Cells::pessimistic, &plan).upper_deltas(|epsilon, delta| {
            for (rate, fpr) in rates.iter_mut().zip(false_positive_rates) {
                *rate = rate.min(delta + epsilon.exp() * fpr);
            }
        });
        rates
    }

    /// Bounds on delta at one epsilon.
    fn delta(&self, epsilon: f64) -> (f64, f64) {
        if let Some(mu) = self.gaussian() {
            let exact = gdp::delta(mu, epsilon);
            return (exact * (1.0 - 1e-9), (exact * (1.0 + 1e-9)).min(1.0));
        }
        // What is left out must stay far below the answer, whose size the Rényi curve of a sketch tells.
        let rough = self.sketches(-60.0).delta(epsilon).clamp(1e-300, 1.0);
        let log_tail = self.log_tail(1e-3 * rough);
        let sketches = self.sketches(log_tail);
        let mut plan = sketches.plan(epsilon, AIM * tolerance(epsilon), 1.0);
        plan.step = self.aligned(plan.step);
        let Some(cells) = self.cells(&sketches, &plan, log_tail, f64::INFINITY) else { return (0.0, 1.0) };
        (
            compose(&cells, Cells::optimistic, &plan).delta(epsilon, Side::Lower),
            compose(&cells, Cells::pessimistic, &plan).delta(epsilon, Side::Upper),
        )
    }
}

/// Lower and upper bound on the delta of `event` at `epsilon`: the certified privacy curve.
pub fn delta(event: &Event, adjacency: Adjacency, epsilon: f64) -> Result<(f64, f64), AccountingError> {
    let composition = Composition::of(event)?;
    if composition.unbounded.is_some() {
        return Ok((0.0, 1.0));
    }
    if epsilon.is_nan() || epsilon < 0.0 {
        return Err(AccountingError::out_of_range("epsilon", epsilon, "0 or more"));
    }
    check_all(Pld.name(), &composition, adjacency)?;
    if composition.steps.is_empty() {
        return Ok((0.0, 0.0));
    }
    let bounds =
        Direction::of(Pld.name(), &composition, adjacency)?.into_iter().map(|one| one.delta(epsilon));
    Ok(bounds.fold((0.0, 0.0), |(low, high), one| (f64::max(low, one.0), f64::max(high, one.1))))
}

/// Composes one side of all steps.
fn compose(cells: &[(Cells, f64)], side: fn(&Cells) -> Discrete, plan: &Plan) -> Composed {
    let part = |(cells, count): &(Cells, f64)| Part { body: side(cells), jumps: None, count: *count };
    Composed::new(&cells.iter().map(part).collect::<Vec<_>>(), plan)
}

/// The dominating pairs for removing and for adding a record; twice the same for symmetric mechanisms.
fn pairs(
    accountant: &'static str,
    mechanism: &Mechanism,
    adjacency: Adjacency,
) -> Result<[Pair; 2], AccountingError> {
    let refusal = |remedy| Err(refuse(accountant, mechanism, adjacency, remedy));
    // The proof for samples of fixed size exchanges two live records, under zero_out too.
    let sensitivity = match mechanism.sampling {
        Sampling::FixedSize { .. } => Adjacency::ReplaceOne.sensitivity(),
        Sampling::Full | Sampling::Partitioned { .. } | Sampling::Poisson { .. } => adjacency.sensitivity(),
    };
    let base = match mechanism.release {
        Release::Gaussian { noise_multiplier } => Base::Gaussian { mu: sensitivity / noise_multiplier },
        Release::Laplace { noise_multiplier } => Base::Laplace { scale: noise_multiplier / sensitivity },
        Release::RandomisedResponse { categories, epsilon } => Base::randomised_response(categories, epsilon),
        Release::Proved { epsilon, delta } => Base::proved(epsilon, delta),
    };
    let sample_rate = match (mechanism.sampling, mechanism.release, adjacency) {
        (Sampling::Full | Sampling::Partitioned { .. }, _, _) => 1.0,
        (Sampling::Poisson { sample_rate }, _, _) => sample_rate,
        (Sampling::FixedSize { .. }, Release::Proved { .. }, Adjacency::ZeroOut | Adjacency::AddRemove) => {
            return refusal(
                "a fixed-size sample needs the event's guarantee for the exchange of a record; use replace_one",
            );
        }
        (Sampling::FixedSize { sample_rate }, _, _) => {
            let pair = Pair::FixedSize { sample_rate, base };
            return Ok([pair.clone(), pair]);
        }
    };
    if sample_rate == 1.0 {
        return Ok([Pair::Full(base.clone()), Pair::Full(base)]);
    }
    match (adjacency, mechanism.release) {
        (Adjacency::AddRemove | Adjacency::ZeroOut, _) => {
            Ok([Pair::Remove { sample_rate, base: base.clone() }, Pair::Add { sample_rate, base }])
        }
        (Adjacency::ReplaceOne, Release::Gaussian { noise_multiplier }) => {
            let pair = Pair::ReplaceOne(ReplaceOne::new(sample_rate, noise_multiplier));
            Ok([pair.clone(), pair])
        }
        (
            Adjacency::ReplaceOne,
            Release::Laplace { .. } | Release::RandomisedResponse { .. } | Release::Proved { .. },
        ) => refusal(
            "under replace_one the pair of a Poisson sample is known for Gaussian noise only; use add_remove",
        ),
    }
}
