//! Gradients of records on their way to a sum in which each record has a bounded part.

use super::bounded::{Bound, Bounded, extremes, stretches};
use super::counted::{Count, Counting};
use super::grid::Grid;
use super::written_out::{shorten, sum_bounded};
use super::{Unbounded, Unprotected};
use crate::clip::{Bounds, Clip, MARGIN, factor};
use muffle_nn::hooks::Hooks;
use muffle_nn::{Engine, Examples, Loss, Network, Quanta, Result, Visit, Weigh};

/// The gradients of some records at the parameters of a network; nothing is computed yet.
pub struct Gradients<'a, 's> {
    /// Makes them.
    pub engine: &'a mut Engine,
    /// Where the network is.
    pub parameters: &'s [f32],
    /// The records. Where one comes in several [views](Examples::views), the mean of their gradients is its gradient.
    pub examples: &'s dyn Examples,
    /// What training makes small.
    pub loss: Loss,
    /// For layers that draw random numbers.
    pub seed: u64,
}

/// How a record's part in a sum is bounded.
pub enum Rule<'r> {
    /// By factors from the norms of its gradient's tensors, in L2 norm.
    Norms(&'r dyn Clip),
    /// The same for gradients that hooks have changed on their way; the engine has to be built for them.
    Hooked(&'r dyn Hooks, &'r dyn Clip),
    /// To one L2 norm, for an engine that writes gradients out, so that a method can begin with a norm and go on with another
    /// rule of its kind.
    WrittenOut {
        /// The largest norm.
        threshold: f64,
    },
    /// To an L2 norm where every coordinate is measured in a unit of its own. Gradients are written out.
    Units {
        /// One for each parameter.
        units: Vec<f32>,
        /// The largest norm in these units.
        threshold: f64,
    },
    /// Coordinate by coordinate into ± its limit. Gradients of dense layers are not written out.
    Limits(Vec<f32>),
    /// To an L1 norm, for Laplace noise. There is no short cut to it as there is to an L2 norm: gradients are written out, and a
    /// step takes several times as long.
    L1 {
        /// The largest norm.
        threshold: f64,
    },
}

impl Rule<'_> {
    /// The most that one record changes the sum, in the norm of the rule, and the grid that the sum is rounded to.
    ///
    /// # Panics
    /// If the rule was made for another network, or a unit or limit is not a positive finite number.
    fn bound(&self, engine: &Engine) -> (Bound, Quanta) {
        let len = engine.network().parameter_len();
        let in_units = |units: &[f32], threshold: f64| {
            assert_eq!(units.len(), len, "one unit for every parameter");
            let good = |unit: &f32| unit.is_normal() && *unit > 0.0;
            let units_are_good = extremes(engine, units).iter().all(good);
            assert!(units_are_good, "limits and units are positive finite numbers");
            let quantum = Grid::l2(threshold, len).quantum;
            (Bound::Units { threshold }, Quanta::Units { units: units.to_vec(), quantum })
        };
        let in_groups = |bounds: Bounds| {
            let tensors = engine.network().parameters().iter();
            let lens: Vec<usize> = tensors.map(|parameter| parameter.range.len()).collect();
            let stretches = stretches(&bounds, &lens).into_iter();
            let quanta = Quanta::Stretches(stretches.map(|(end, _, grid)| (end, grid.quantum)).collect());
            (Bound::Groups(bounds), quanta)
        };
        match self {
            Rule::Norms(rule) | Rule::Hooked(_, rule) => in_groups(rule.bounds().clone()),
            Rule::WrittenOut { threshold } => in_groups(Bounds::whole(*threshold)),
            Rule::Units { units, threshold } => in_units(units, positive(*threshold)),
            // m coordinates within their limits are √m of them, to which the noise adds a margin.
            Rule::Limits(limits) => in_units(limits, (len as f64).sqrt() / MARGIN),
            Rule::L1 { threshold } => {
                let threshold = positive(*threshold);
                let quantum = Grid::l1(threshold, len).quantum;
                (Bound::L1(threshold), Quanta::Stretches(vec![(len, quantum)]))
            }
        }
    }

    /// Brings a gradient that is written out to the rule's norm.
    fn shorten(&self, gradient: &mut [f32]) {
        let factor = match self {
            Rule::WrittenOut { threshold } => return shorten(gradient, *threshold),
            Rule::Units { units, threshold } => {
                let pairs = gradient.iter().zip(units);
                let measured = pairs.map(|(value, unit)| f64::from(*value) / f64::from(*unit));
                factor(measured.map(|value| value * value).sum(), *threshold)
            }
            Rule::L1 { threshold } => {
                let limit = MARGIN * threshold;
                let norm: f64 = gradient.iter().map(|value| f64::from(value.abs())).sum();
                (limit / norm.max(limit)) as f32
            }
            Rule::Norms(_) | Rule::Hooked(..) | Rule::Limits(_) => {
                unreachable!("bounded without writing out")
            }
        };
        gradient.iter_mut().for_each(|value| *value *= factor);
    }
}

impl<'a> Gradients<'a, '_> {
    /// The network whose gradients they are.
    pub fn network(&self) -> &Network {
        self.engine.network()
    }

    /// The same gradients once more, for what has to be known of them before they are summed.
    pub fn again(&mut self) -> Gradients<'_, '_> {
        let Gradients { parameters, examples, loss, seed, .. } = *self;
        Gradients { engine: self.engine, parameters, examples, loss, seed }
    }

    /// Sums the gradients of all records, each as the rule bounds it.
    ///
    /// # Guarantee
    /// Adding or removing one record, with all its views, changes the sum by at most the rule's bound: its
    /// [`sensitivity`](Bounds::sensitivity) in L2 norm, one threshold in L2 norm over the units, √m over m limits, or one
    /// threshold in L1 norm. A record whose gradient is not finite contributes zero.
    ///
    /// # Panics
    /// If the rule was made for another network, breaks its own bounds, or has a threshold, unit or limit that is not a
    /// positive finite number.
    pub fn bounded(self, rule: Rule) -> Result<(Bounded<'a>, Unprotected)> {
        let (bound, quanta) = rule.bound(self.engine);
        self.engine.round_sums_to(quanta);
        let Gradients { engine, parameters, examples, loss, seed } = self;
        let unprotected = match &rule {
            Rule::Norms(rule) => {
                Unprotected(engine.weighted_sum_apart(parameters, examples, loss, seed, &checked(*rule))?)
            }
            Rule::Hooked(hooks, rule) => {
                Unprotected(engine.hooked_sum(parameters, examples, loss, seed, *hooks, &checked(*rule))?)
            }
            Rule::Limits(limits) => {
                Unprotected(engine.limited_sum_apart(parameters, examples, loss, seed, limits)?)
            }
            Rule::WrittenOut { .. } | Rule::Units { .. } | Rule::L1 { .. } => {
                let work = Gradients { engine: &mut *engine, parameters, examples, loss, seed };
                sum_bounded(work, &|_, gradient| rule.shorten(gradient))?
            }
        };
        Ok((Bounded::new(engine, bound), unprotected))
    }

    /// Sums the gradients of all records and counts something of each beside it, for one release of both.
    ///
    /// # Guarantee
    /// Adding or removing one record changes the sum as in [`bounded`](Gradients::bounded) and the counts by at most their
    /// bound, both in L2 norm; a record whose gradient is not finite adds to neither.
    ///
    /// # Panics
    /// As [`bounded`](Gradients::bounded), or if a count breaks its own bound.
    pub fn bounded_and_counted(self, rule: &dyn Clip, count: &Count) -> Result<(Bounded<'a>, Unprotected)> {
        let counting = Counting::new(rule, count);
        let (bounded, unprotected) = self.bounded(Rule::Norms(&counting))?;
        Ok((bounded.with_counts(counting.into_counted()), unprotected))
    }

    /// Sums gradients as they are, for what is not to be published or for records that are public: nothing bounds the sum, and no
    /// gradient of a single record is made.
    pub fn plain(self) -> Result<(Unbounded<'a>, Unprotected)> {
        let outcome = self.engine.sum(self.parameters, self.examples, self.loss, self.seed)?;
        Ok((Unbounded { engine: self.engine }, Unprotected(outcome)))
    }

    /// Sums gradients with factors of any kind, as papers print it: nothing bounds the sum.
    pub fn weighed(self, weigh: &Weigh) -> Result<(Unbounded<'a>, Unprotected)> {
        let outcome =
            self.engine.weighted_sum(self.parameters, self.examples, self.loss, self.seed, weigh)?;
        Ok((Unbounded { engine: self.engine }, Unprotected(outcome)))
    }

    /// Sums whatever `visit` makes of each gradient, as papers print it: nothing bounds the sum.
    pub fn visited(self, visit: &Visit) -> Result<(Unbounded<'a>, Unprotected)> {
        let outcome = self.engine.visit(self.parameters, self.examples, self.loss, self.seed, visit)?;
        Ok((Unbounded { engine: self.engine }, Unprotected(outcome)))
    }
}

/// The rule's factors, held to the rule's bounds.
fn checked(rule: &dyn Clip) -> impl Fn(&[f64], &mut [f32]) + Sync {
    let bounds = rule.bounds();
    move |squared_norms, factors| {
        rule.factors(squared_norms, factors);
        assert!(bounds.hold(squared_norms, factors), "the clip rule broke its own bounds");
    }
}

fn positive(threshold: f64) -> f64 {
    assert!(
        (threshold as f32).is_normal() && threshold > 0.0,
        "a clip threshold of {threshold} is not a positive finite number"
    );
    threshold
}
