//! The price of choosing the best of several private runs.
//!
//! Publishing the best of K runs tells more than publishing one: each of them saw the records. Composition pays for all
//! of them. If K is random and nobody learns it, and every run draws its hyper-parameters at random, the price of the best
//! run grows only with the logarithm of the mean number of runs. For a handful of runs composition is cheaper.

use crate::composition::Composition;
use crate::error::{AccountingError, check_delta};
use crate::pricing::{Price, check_all};
use crate::rdp::{TotalCurve, conversion, orders};
use crate::{Adjacency, Event};

/// How many runs there are: a number from one up, drawn from a truncated negative binomial distribution.
///
/// # Source
/// Papernot and Steinke 2022, "Hyperparameter tuning with Rényi differential privacy", Definition 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Repetitions {
    shape: f64,
    stopping: f64,
}

impl Repetitions {
    /// With this mean, from one up, and this shape: 1 is the geometric distribution, 0 the logarithmic one, whose few
    /// large numbers are cheaper.
    pub fn new(mean: f64, shape: f64) -> Result<Repetitions, AccountingError> {
        if !(1.0..=1e9).contains(&mean) {
            return Err(AccountingError::out_of_range("mean number of runs", mean, "[1, 1e9]"));
        }
        if !(0.0..=100.0).contains(&shape) {
            return Err(AccountingError::out_of_range("shape", shape, "[0, 100]"));
        }
        // The mean falls in the stopping parameter. Halving keeps the end with the larger mean, which costs more.
        let (mut low, mut high) = (f64::MIN_POSITIVE, 1.0);
        loop {
            let middle = 0.5 * (low + high);
            if middle <= low || middle >= high {
                return Ok(Repetitions { shape, stopping: if mean == 1.0 { 1.0 } else { low } });
            }
            if (Repetitions { shape, stopping: middle }).mean() >= mean {
                low = middle
            } else {
                high = middle
            }
        }
    }

    /// The mean number of runs.
    pub fn mean(&self) -> f64 {
        let Repetitions { shape, stopping } = *self;
        match (stopping, shape) {
            (1.0, _) => 1.0,
            (_, 0.0) => (1.0 / stopping - 1.0) / -stopping.ln(),
            _ => shape * (1.0 / stopping - 1.0) / -(shape * stopping.ln()).exp_m1(),
        }
    }

    /// The smallest number of runs of which the distribution function exceeds `uniform`: a draw, if `uniform` is one from
    /// [0, 1).
    pub fn draw(&self, uniform: f64) -> u64 {
        let Repetitions { shape, stopping } = *self;
        let mut probability = match (stopping, shape) {
            (1.0, _) => 1.0,
            (_, 0.0) => (1.0 - stopping) / -stopping.ln(),
            _ => (1.0 - stopping) * shape / (-shape * stopping.ln()).exp_m1(),
        };
        let (mut count, mut below) = (1, probability);
        // Far out in the tail the sum no longer grows, and ends there.
        while below <= uniform && probability > f64::EPSILON * stopping {
            let place = count as f64;
            probability *= (1.0 - stopping) * (place + shape) / (place + 1.0);
            below += probability;
            count += 1;
        }
        count
    }
}

/// Epsilon of the best of a random number of runs, each of which is one of the candidates, drawn at random in any way that
/// does not look at the records.
///
/// The best may be judged by anything that is computed from a run's own release and from data that needs no protection.
///
/// # Source
/// Papernot and Steinke 2022, Theorem 2: ε(λ) + (1 + η)((1 − 1/λ̂) ε(λ̂) + ln(1/γ)/λ̂) + ln E\[K\]/(λ − 1), at the best λ
/// and λ̂. The divergence of a random candidate is at most the largest one at each order.
///
/// # Guarantee
/// An upper bound on epsilon if only the best run is published, and neither the number of runs nor any other run. Tested
/// against the exact distribution of the best.
pub fn best_of(
    candidates: &[Event],
    repetitions: &Repetitions,
    adjacency: Adjacency,
    delta: f64,
) -> Result<Price, AccountingError> {
    check_delta(delta)?;
    let mut curves = Vec::new();
    for event in candidates {
        let composition = Composition::of(event)?;
        if let Some(reason) = composition.unbounded {
            return Ok(Price::infinite(reason));
        }
        check_all(NAME, &composition, adjacency)?;
        let curve = TotalCurve::of(NAME, &composition, adjacency)?;
        if curve.failure() > 0.0 {
            return Ok(Price::infinite(
                "the bound is for runs without a probability of failure of their own",
            ));
        }
        curves.push(curve);
    }
    let log_moment = |order: f64| curves.iter().map(|curve| curve.log_moment(order)).fold(0.0, f64::max);
    let (stop, mean) = (-repetitions.stopping.ln(), repetitions.mean());
    let rho = log_moment(2.0) / 2.0;
    // With K(α) = (α − 1) ε(α), the middle term is (1 + η)(K(λ̂) + ln(1/γ))/λ̂.
    let (_, choice) = orders::best_order(|order| (log_moment(order) + stop) / order, delta, rho);
    let surcharge = (1.0 + repetitions.shape) * choice;
    let total = |order: f64| {
        conversion::improved(log_moment(order) + (order - 1.0) * surcharge + mean.ln(), order, delta)
    };
    let (_, epsilon) = orders::best_order(total, delta, rho);
    Ok(match epsilon.is_finite() {
        // Directed rounding, as for Rényi accounting.
        true => Price::upper(epsilon * (1.0 + 1e-12)),
        false => Price::infinite("no Rényi order up to the largest has a finite moment"),
    })
}

const NAME: &str = "selection";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::normal;
    use crate::{Accountant, rdp::Rdp};

    const SHAPES: [f64; 4] = [0.0, 0.5, 1.0, 3.0];

    /// Probability that all runs stay below something that one run stays below with probability `share`.
    fn all_below(repetitions: &Repetitions, share: f64) -> f64 {
        let Repetitions { shape, stopping } = *repetitions;
        let inner = 1.0 - (1.0 - stopping) * share;
        match shape {
            0.0 => inner.ln() / stopping.ln(),
            _ => (inner.powf(-shape) - 1.0) / (stopping.powf(-shape) - 1.0),
        }
    }

    #[test]
    fn numbers_of_runs_have_the_distribution_they_say() {
        for shape in SHAPES {
            for mean in [1.0, 1.5, 10.0, 1000.0] {
                let repetitions = Repetitions::new(mean, shape).unwrap();
                assert!((repetitions.mean() / mean - 1.0).abs() < 1e-9, "{shape} {mean}: {repetitions:?}");
                // The quantile function, summed over an even grid, has the same mean up to the tail beyond the grid.
                let grid = 20_000;
                let sum: u64 =
                    (0..grid).map(|place| repetitions.draw((f64::from(place) + 0.5) / f64::from(grid))).sum();
                let found = sum as f64 / f64::from(grid);
                assert!((found / mean - 1.0).abs() < 0.02, "{shape} {mean}: {found}");
            }
        }
        let geometric = Repetitions::new(4.0, 1.0).unwrap();
        assert_eq!([0.0, 0.2499, 0.2501, 0.437, 0.438].map(|place| geometric.draw(place)), [1, 1, 2, 2, 3]);
        assert!(geometric.draw(1.0) < 1000);
    }

    #[test]
    fn the_best_of_gaussian_releases_leaks_no_more_than_the_bound() {
        // The largest of K numbers from N(μ, 1) or N(0, 1), in buckets: merging values only loses divergence, so that the
        // delta of the buckets is a lower bound on the exact one.
        for (noise, mean, shape) in [(1.0, 10.0, 1.0), (2.0, 50.0, 0.0), (0.7, 3.0, 0.5), (1.5, 200.0, 3.0)] {
            let repetitions = Repetitions::new(mean, shape).unwrap();
            for delta in [1e-2, 1e-5] {
                let event = Event::gaussian(noise);
                let price = best_of(&[event], &repetitions, Adjacency::AddRemove, delta).unwrap().epsilon;
                for (shift, other) in [(1.0 / noise, 0.0), (0.0, 1.0 / noise)] {
                    let below = |x: f64, centre: f64| all_below(&repetitions, normal::cdf(x - centre));
                    let exact: f64 = (-1200..1200)
                        .map(|bucket| (f64::from(bucket) * 0.01, f64::from(bucket + 1) * 0.01))
                        .map(|(low, high)| {
                            let one = below(high, shift) - below(low, shift);
                            let two = below(high, other) - below(low, other);
                            (one - price.exp() * two).max(0.0)
                        })
                        .sum();
                    assert!(exact <= delta, "{noise} {mean} {shape}: {exact} exceeds {delta} at {price}");
                }
            }
        }
    }

    #[test]
    fn pure_runs_cost_what_the_corollary_says() {
        // Papernot and Steinke 2022, Corollary 3: (2 + η)ε without delta; a delta can only help.
        for shape in SHAPES {
            let repetitions = Repetitions::new(30.0, shape).unwrap();
            let event = Event::PureDp { epsilon: 0.2 };
            let price = best_of(&[event], &repetitions, Adjacency::AddRemove, 1e-300).unwrap().epsilon;
            let limit = (2.0 + shape) * 0.2;
            assert!(price > 0.9 * limit && price < limit + 0.1, "{shape}: {price}, not {limit}");
        }
    }

    #[test]
    fn one_run_costs_at_least_its_own_price_and_more_runs_cost_more() {
        let run = Event::gaussian(1.1).poisson_sampled(0.01).repeated(2000);
        let alone = Rdp.epsilon(&run, Adjacency::AddRemove, 1e-5).unwrap().epsilon;
        let price = |mean: f64| {
            let repetitions = Repetitions::new(mean, 1.0).unwrap();
            best_of(std::slice::from_ref(&run), &repetitions, Adjacency::AddRemove, 1e-5).unwrap().epsilon
        };
        assert!(price(1.0) >= alone && price(10.0) > price(2.0) && price(100.0) > price(10.0));
        // That is the point: far below paying for all hundred.
        assert!(price(100.0) < 4.0 * alone, "{} against {alone}", price(100.0));
    }

    #[test]
    fn what_is_not_proved_or_may_fail_has_no_price() {
        let repetitions = Repetitions::new(5.0, 1.0).unwrap();
        let price =
            |event: Event| best_of(&[event], &repetitions, Adjacency::AddRemove, 1e-5).unwrap().epsilon;
        assert!(price(Event::NonPrivate).is_infinite());
        assert!(price(Event::ApproximateDp { epsilon: 0.1, delta: 1e-9 }).is_infinite());
        assert!(Repetitions::new(0.5, 1.0).is_err() && Repetitions::new(2.0, -1.0).is_err());
    }
}
