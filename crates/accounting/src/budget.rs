//! A budget that is asked before a step is taken.

use crate::calibrate::{self, Target};
use crate::composition::Composition;
use crate::error::AccountingError;
use crate::event::Event;
use crate::pricing::{Accountant, Price, check_all};
use crate::rdp::{Rdp, TotalCurve, conversion};
use thiserror::Error;

/// Why a step was not charged.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum BudgetError {
    /// The step would overrun the budget; nothing was charged.
    #[error("this step would exceed the budget of epsilon {epsilon} at delta {delta}")]
    Exceeded {
        /// The budget.
        epsilon: f64,
        /// The budget.
        delta: f64,
    },
    /// The step has no price.
    #[error(transparent)]
    Accounting(#[from] AccountingError),
}

/// What has been spent of a fixed (ε, δ), and whether the next step still fits.
///
/// ```
/// use muffle_accounting::{Adjacency, Event, budget::Budget, calibrate::Target, pld::Pld};
/// let target = Target { epsilon: 1.0, delta: 1e-5, adjacency: Adjacency::AddRemove };
/// let mut budget = Budget::preset(target, &Pld);
/// let step = Event::gaussian(1.0).poisson_sampled(0.01);
/// let mut taken = 0;
/// while budget.fits(&step).unwrap() {
///     budget.spend(&step).unwrap();
///     taken += 1;
/// }
/// assert!(taken > 100 && budget.spent().unwrap().epsilon <= 1.0);
/// ```
pub struct Budget {
    target: Target,
    ledger: Event,
    rule: Rule,
}

enum Rule {
    /// The kinds of steps do not depend on earlier outputs: the ledger is priced as a whole.
    Preset {
        accountant: &'static dyn Accountant,
        /// The last step asked about, and how many of it are known to fit.
        cleared: Option<(Event, u64)>,
    },
    /// Steps may depend on earlier outputs: a Rényi filter at one order.
    Adaptive { order: f64, limit: f64, spent: f64 },
}

/// Most steps in one line of a ledger that are added up one after the other: more than a run takes, and a moment's work.
const ONE_BY_ONE: u64 = 1 << 28;

impl Budget {
    /// A budget for steps that are fixed in advance (how many of them are taken may be decided by this budget).
    ///
    /// # Guarantee
    /// After any sequence of accepted steps, `accountant` prices the ledger at no more than the target.
    pub fn preset(target: Target, accountant: &'static dyn Accountant) -> Budget {
        Budget { target, ledger: empty(), rule: Rule::Preset { accountant, cleared: None } }
    }

    /// A budget for steps whose noise may be chosen from earlier private outputs.
    ///
    /// The order is fixed in advance; [`rdp::best_order`](crate::rdp::best_order) of the expected run is a good
    /// choice.
    ///
    /// # Source
    /// Feldman and Zrnic 2021; Lécuyer 2021: adaptively chosen mechanisms stopped before their Rényi
    /// costs at one fixed order exceed a limit satisfy that limit at that order.
    ///
    /// # Guarantee
    /// Whatever is accepted, the whole run is (ε, δ)-differentially private for the target.
    pub fn adaptive(target: Target, order: f64) -> Result<Budget, AccountingError> {
        if !(order > 1.0 && order.is_finite()) {
            return Err(AccountingError::out_of_range("order", order, "greater than 1"));
        }
        // The largest log moment that converts to the target at this order: the conversion is linear in it.
        let unit = conversion::improved(1e6, order, target.delta);
        let limit = 1e6 - (unit - target.epsilon) * (order - 1.0);
        Ok(Budget {
            target,
            ledger: empty(),
            rule: Rule::Adaptive { order, limit: limit.max(0.0), spent: 0.0 },
        })
    }

    /// Whether `step` can still be taken. Asking costs nothing.
    pub fn fits(&mut self, step: &Event) -> Result<bool, AccountingError> {
        Ok(self.remaining(step)? > 0)
    }

    /// How many times `step` could still be taken if nothing else is.
    pub fn remaining(&mut self, step: &Event) -> Result<u64, AccountingError> {
        match &mut self.rule {
            Rule::Adaptive { order, limit, spent } => {
                let cost = log_moment(step, &self.target, *order)?;
                let left = ((*limit - *spent) / cost).floor();
                Ok(if left.is_nan() { 0 } else { left.max(0.0) as u64 })
            }
            Rule::Preset { accountant, cleared } => {
                if let Some((known, count)) = cleared
                    && known == step
                    && *count > 0
                {
                    return Ok(*count);
                }
                let after = |count: u64| {
                    let mut event = self.ledger.clone();
                    event.append(step.clone().repeated(count));
                    event
                };
                let count = match calibrate::steps(*accountant, &self.target, after) {
                    Ok(found) => found.value,
                    Err(AccountingError::Unreachable { .. }) => 0,
                    Err(error) => return Err(error),
                };
                *cleared = Some((step.clone(), count));
                Ok(count)
            }
        }
    }

    /// Charges `step`, or refuses it and charges nothing.
    pub fn spend(&mut self, step: &Event) -> Result<(), BudgetError> {
        if !self.fits(step)? {
            return Err(BudgetError::Exceeded { epsilon: self.target.epsilon, delta: self.target.delta });
        }
        match &mut self.rule {
            Rule::Adaptive { order, spent, .. } => *spent += log_moment(step, &self.target, *order)?,
            Rule::Preset { cleared, .. } => {
                if let Some((_, count)) = cleared {
                    *count -= 1;
                }
            }
        }
        self.ledger.append(step.clone());
        Ok(())
    }

    /// The odometer: what was spent so far.
    ///
    /// For a preset budget it is the price of the ledger. It holds for a run that ends where its ledger ends by a rule that
    /// is not looked up in private outputs; a run that stops early because of them has the price of the run that was
    /// planned, at most the target.
    ///
    /// For an adaptive budget it is a bound on the realised loss that may be read at any time, and acted upon.
    ///
    /// # Source
    /// Rogers, Roth, Ullman and Vadhan 2016 for odometers; Whitehouse, Ramdas, Rogers and Wu 2023 for time-uniform ones.
    /// With L_t the privacy loss of the outputs up to step t and K_t the sum of the log moments at order α, each known
    /// before its step, M_t = exp((α − 1)L_t − K_t) is a non-negative supermartingale that starts at one: given the past,
    /// the next factor has mean at most one, which is what a log moment bounds. By Ville's inequality it ever reaches
    /// 1/δ with probability δ at most, and otherwise L_t < (K_t + ln(1/δ))/(α − 1) at all times. A reading that is
    /// larger than the target is no contradiction: the filter bounds the end of the run by a better conversion, which
    /// does not hold at all times at once.
    ///
    /// # Guarantee
    /// Adaptive: with probability at least 1 − δ no reading of the whole run is below the privacy loss at its time, however
    /// noise and stopping depend on earlier outputs. So a run that stops by any rule before a reading exceeds some ε fixed in
    /// advance is (ε, δ)-differentially private.
    pub fn spent(&self) -> Result<Price, AccountingError> {
        match &self.rule {
            Rule::Preset { accountant, .. } => {
                accountant.epsilon(&self.ledger, self.target.adjacency, self.target.delta)
            }
            Rule::Adaptive { spent: 0.0, .. } => Ok(Price::upper(0.0)),
            Rule::Adaptive { order, spent, .. } => {
                Ok(Price::upper(conversion::classical(*spent, *order, self.target.delta)))
            }
        }
    }

    /// Counts what was spent before this budget came to be, without asking whether it fits.
    ///
    /// The filter adds up one step after the other, also where a ledger has many in one line: a budget that recalls its own
    /// ledger has spent the same to the last bit. Beyond what a run can have taken they are multiplied, and rounded up.
    pub fn recall(&mut self, spent: &Event) -> Result<(), AccountingError> {
        match (&mut self.rule, spent) {
            (_, Event::Compose { events }) => return events.iter().try_for_each(|event| self.recall(event)),
            (Rule::Adaptive { order, spent: total, .. }, Event::Repeat { count, event }) => {
                let cost = log_moment(event, &self.target, *order)?;
                if *count <= ONE_BY_ONE {
                    (0..*count).for_each(|_| *total += cost);
                } else {
                    // Rounded up: the product has two roundings, the sum a third.
                    *total = (*total + *count as f64 * cost) * (1.0 + 4.0 * f64::EPSILON);
                }
            }
            (Rule::Adaptive { order, spent: total, .. }, event) => {
                *total += log_moment(event, &self.target, *order)?;
            }
            (Rule::Preset { cleared, .. }, _) => *cleared = None,
        }
        self.ledger.append(spent.clone());
        Ok(())
    }

    /// Everything that was accepted, with equal neighbours in one line.
    pub fn ledger(&self) -> &Event {
        &self.ledger
    }
}

fn empty() -> Event {
    Event::Compose { events: Vec::new() }
}

/// The cost of one step in a Rényi filter.
fn log_moment(step: &Event, target: &Target, order: f64) -> Result<f64, AccountingError> {
    target.check()?;
    let composition = Composition::of(step)?;
    if composition.unbounded.is_some() {
        return Ok(f64::INFINITY);
    }
    check_all(Rdp.name(), &composition, target.adjacency)?;
    let total = TotalCurve::of(Rdp.name(), &composition, target.adjacency)?;
    Ok(if total.failure() > 0.0 { f64::INFINITY } else { total.log_moment(order) })
}
