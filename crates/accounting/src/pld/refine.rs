//! From rough to narrow: which grids are tried, and when to stop.

use super::compose::Side;
use super::discretise::Cells;
use super::jumps::Split;
use super::plan::{Plan, Sketches};
use super::{ABSOLUTE_TOLERANCE, AIM, Direction, compose, tolerance};
use crate::gdp;

/// How often the guess or the grid is improved at most.
const REFINEMENTS: u32 = 9;
/// How often a jump happens, over delta, in the order in which it is tried.
const JUMP_MASSES: [f64; 3] = [1e4, 1e2, 1e6];
/// Jumps are rarer than this: else they are no exception.
const RARE: f64 = 0.1;

/// A Rényi bound this many times that of the body alone is made by jumps.
const HEAVY: f64 = 1.3;
/// A grid with so few points costs little.
const FEW_POINTS: f64 = 20_000.0;

/// One way to narrow a bracket until it is enough.
type Attempt = fn(&Direction, &Sketches, f64, Bracket, &dyn Fn(Bracket) -> bool) -> Bracket;

/// Lower and upper bound on epsilon; every further bound can only narrow it.
#[derive(Clone, Copy, Debug)]
struct Bracket {
    low: f64,
    high: f64,
}

impl Bracket {
    fn narrow(self, (low, high): (Option<f64>, Option<f64>)) -> Bracket {
        Bracket { low: self.low.max(low.unwrap_or(0.0)), high: self.high.min(high.unwrap_or(f64::INFINITY)) }
    }

    fn width(self) -> f64 {
        self.high - self.low
    }

    fn is_narrow(self) -> bool {
        self.width() <= tolerance(self.low)
    }
}

impl Direction {
    /// Lower and upper bound on epsilon. It need not be known closely once it is certain to lie below `floor`.
    pub(super) fn epsilon(&self, delta: f64, floor: f64) -> (f64, f64) {
        if let Some(mu) = self.gaussian() {
            let exact = gdp::epsilon(mu, delta);
            return (exact * (1.0 - 1e-9), exact);
        }
        if self.total_variation() <= delta {
            return (0.0, 0.0);
        }
        let mut bracket = Bracket { low: 0.0, high: self.loss_bound(delta) };
        let enough = |bracket: Bracket| bracket.is_narrow() || bracket.high <= floor;
        if !enough(bracket) {
            let sketches = self.sketches(self.log_tail(delta));
            let all = sketches.epsilon(delta);
            let body = sketches.below(sketches.cut((JUMP_MASSES[0] * delta).min(RARE))).epsilon(delta);
            // A large grid that is likely to fail is not tried first.
            let heavy = all > HEAVY * body.max(ABSOLUTE_TOLERANCE)
                && self.plan(&sketches, all, 1.0).points() > FEW_POINTS;
            let attempts: [Attempt; 2] = if heavy {
                [Direction::on_two_grids, Direction::on_one_grid]
            } else {
                [Direction::on_one_grid, Direction::on_two_grids]
            };
            for attempt in attempts {
                if !enough(bracket) {
                    bracket = attempt(self, &sketches, delta, bracket, &enough);
                }
            }
        }
        (bracket.low, bracket.high)
    }

    fn plan(&self, sketches: &Sketches, guess: f64, fineness: f64) -> Plan {
        let mut plan = sketches.plan(guess, AIM * tolerance(guess), fineness);
        plan.step = self.aligned(plan.step);
        plan
    }

    fn on_one_grid(
        &self,
        sketches: &Sketches,
        delta: f64,
        mut bracket: Bracket,
        enough: &dyn Fn(Bracket) -> bool,
    ) -> Bracket {
        let log_tail = self.log_tail(delta);
        // Below the tolerance it suffices to know that epsilon is below it.
        let mut guess = sketches.epsilon(delta).max(ABSOLUTE_TOLERANCE);
        let mut fineness = 1.0;
        let mut last_step = f64::INFINITY;
        for attempt in 0..=REFINEMENTS {
            let plan = self.plan(sketches, guess, fineness);
            if plan.step == last_step {
                break;
            }
            last_step = plan.step;
            let Some(cells) = self.cells(sketches, &plan, log_tail, f64::INFINITY) else { break };
            let upper = compose(&cells, Cells::pessimistic, &plan).epsilon(delta, Side::Upper);
            let lower = compose(&cells, Cells::optimistic, &plan).epsilon(delta, Side::Lower);
            let before = bracket;
            bracket = bracket.narrow((lower, upper));
            let guess_was_far_off = bracket.high < 0.7 * guess;
            // A finer grid that no longer helps has met the limits of the transform.
            let improved = bracket.width() < 0.9 * before.width();
            let exhausted = fineness < 0.6 && !guess_was_far_off && !improved;
            if enough(bracket) || exhausted {
                break;
            }
            if guess_was_far_off {
                guess = bracket.high.max(ABSOLUTE_TOLERANCE);
            }
            if !guess_was_far_off || attempt > 0 {
                fineness *= 0.5;
            }
        }
        bracket
    }

    fn on_two_grids(
        &self,
        sketches: &Sketches,
        delta: f64,
        mut bracket: Bracket,
        enough: &dyn Fn(Bracket) -> bool,
    ) -> Bracket {
        let log_tail = self.log_tail(delta);
        for (attempt, jump_mass) in JUMP_MASSES.into_iter().enumerate() {
            let cut = sketches.cut((jump_mass * delta).min(RARE));
            let body = sketches.below(cut);
            let guess = body.epsilon(delta).max(ABSOLUTE_TOLERANCE).clamp(bracket.low, bracket.high);
            let fineness = f64::exp2(-(attempt as f64));
            let grid = |mut plan: Plan, top: f64| {
                plan.step = self.aligned(plan.step);
                Some((self.cells(sketches, &plan, log_tail, top)?, plan))
            };
            let aim = AIM * tolerance(guess);
            let grids = (
                grid(body.plan(guess, aim, fineness), cut),
                grid(sketches.plan_jumps(cut, delta, guess, aim, fineness), f64::INFINITY),
            );
            let (Some(body), Some(jumps)) = grids else { break };
            let split = Split { cut, body, jumps };
            let ends = (bracket.low, bracket.high);
            let (lower, upper) =
                (split.epsilon(delta, Side::Lower, ends), split.epsilon(delta, Side::Upper, ends));
            bracket = bracket.narrow((lower, upper));
            if enough(bracket) {
                break;
            }
        }
        bracket
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Adjacency, Composition, Event};

    #[test]
    fn one_grid_and_two_agree() {
        let step = |rate: f64, noise: f64| Event::gaussian(noise).poisson_sampled(rate);
        let mixed = Event::compose([step(1e-3, 0.7).repeated(200), step(1e-2, 2.0).repeated(3_000)]);
        for (event, delta) in [
            (step(2e-4, 0.95).repeated(40_000), 1e-9),
            (step(1e-3, 0.8).repeated(1_000), 1e-6),
            (step(1e-5, 0.5).repeated(20), 1e-9),
            (mixed, 1e-7),
        ] {
            for adjacency in [Adjacency::AddRemove, Adjacency::ReplaceOne] {
                let composition = Composition::of(&event).unwrap();
                for (place, direction) in
                    Direction::of("pld", &composition, adjacency).unwrap().iter().enumerate()
                {
                    let sketches = direction.sketches(direction.log_tail(delta));
                    let start = Bracket { low: 0.0, high: direction.loss_bound(delta) };
                    let one = direction.on_one_grid(&sketches, delta, start, &|bracket| bracket.is_narrow());
                    let two = direction.on_two_grids(&sketches, delta, start, &|bracket| bracket.is_narrow());
                    assert!(one.low <= two.high && two.low <= one.high, "{event:?} {one:?} {two:?}");
                    assert!(one.is_narrow(), "{event:?} {adjacency} {one:?}");
                    // Two grids are for losses with jumps: adding a record has none. But no test of nothing.
                    let close = two.low > 0.8 * one.low || two.high < 1.2 * one.high;
                    assert!(place == 1 || close, "{event:?} {adjacency} {one:?} {two:?}");
                }
            }
        }
    }
}
