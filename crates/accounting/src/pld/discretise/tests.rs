//! Both discretisations against closed forms.

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
        if ratio <= -1.0 { f64::NEG_INFINITY } else { ratio.ln_1p() / mu + 0.5 * mu }
    };
    match pair {
        Pair::Remove { sample_rate: q, base: Base::Gaussian { mu } } => {
            let z = threshold(*q, *mu, epsilon);
            q * normal::survival(z - mu) + (1.0 - q - epsilon.exp()) * normal::survival(z)
        }
        Pair::Add { sample_rate: q, base: Base::Gaussian { mu } } => {
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
        Pair::FixedSize { sample_rate, base } => {
            let (sample_rate, base) = (*sample_rate, base.clone());
            let removed = Pair::Remove { sample_rate, base: base.clone() };
            exact(&if epsilon >= 0.0 { removed } else { Pair::Add { sample_rate, base } }, epsilon)
        }
        _ => panic!("no closed form"),
    }
}

fn closed_forms() -> Vec<Pair> {
    let mut pairs = vec![Pair::Full(Base::Laplace { scale: 0.7 })];
    for mu in [0.01, 0.5, 1.0, 4.0] {
        pairs.push(Pair::Full(Base::Gaussian { mu }));
        for sample_rate in [1e-4, 0.01, 0.3, 0.9] {
            pairs.push(Pair::Remove { sample_rate, base: Base::Gaussian { mu } });
            pairs.push(Pair::Add { sample_rate, base: Base::Gaussian { mu } });
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
            let anywhere = !matches!(pair, Pair::FixedSize { .. });
            let other = if anywhere { 0.31 * step } else { 0.0 };
            for offset in [pair.anchor(&sketch, step), other] {
                let cells = Cells::new(&pair, step, offset, -50.0, f64::INFINITY);
                let (above, below) = (cells.pessimistic(), cells.optimistic());
                for place in 0..200 {
                    let epsilon = low + (high - low) * f64::from(place) / 199.3;
                    let truth = exact(&pair, epsilon);
                    let slack = 1e-13;
                    let (upper, lower) = (curve(&above, step, epsilon), curve(&below, step, epsilon));
                    assert!(upper >= truth - slack, "{pair:?} step {step} at {epsilon}: {upper} < {truth}");
                    assert!(lower <= truth + slack, "{pair:?} step {step} at {epsilon}: {lower} > {truth}");
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
        let above = Cells::new(&pair, step, 0.0, -60.0, f64::INFINITY).pessimistic();
        for place in 1..400 {
            let epsilon = (above.first + place) as f64 * step;
            let (truth, found) = (exact(&pair, epsilon), curve(&above, step, epsilon));
            assert!((found - truth).abs() < 1e-13 + 1e-10 * truth, "{pair:?} at {epsilon}: {found} {truth}");
        }
    }
}

#[test]
fn both_measures_are_close_and_keep_their_mass() {
    let replace_one = Pair::ReplaceOne(ReplaceOne::new(0.1, 1.0));
    let sampled_laplace = Pair::Remove { sample_rate: 0.1, base: Base::Laplace { scale: 1.0 } };
    let proved = Pair::Add { sample_rate: 0.1, base: Base::proved(1.0, 1e-6) };
    for pair in [replace_one, sampled_laplace, proved] {
        let step = 0.01;
        let sketch = pair.sketch(-50.0);
        let cells = Cells::new(&pair, step, pair.anchor(&sketch, step), -50.0, f64::INFINITY);
        let (above, below) = (cells.pessimistic(), cells.optimistic());
        let total: f64 = above.masses.iter().sum::<f64>() + above.infinite;
        assert!((total - 1.0).abs() < 1e-9, "{pair:?} {total}");
        for place in -100..100 {
            let epsilon = 0.013 * f64::from(place);
            let (upper, lower) = (curve(&above, step, epsilon), curve(&below, step, epsilon));
            assert!(lower <= upper + 1e-15 && upper - lower < 3e-3, "{pair:?} at {epsilon}: {lower} {upper}");
        }
    }
}

#[test]
fn a_split_adds_up_and_stays_on_its_side() {
    for pair in closed_forms() {
        let (low, high) = pair.range(-50.0);
        let step = (high - low) / 300.0;
        let sketch = pair.sketch(-50.0);
        let cells = Cells::new(&pair, step, pair.anchor(&sketch, step), -50.0, f64::INFINITY);
        let whole = cells.pessimistic();
        for up in [false, true] {
            let cut = low + 0.7 * (high - low);
            let [body, jumps] = cells.split(cut, up);
            let short = Cells::new(&pair, step, pair.anchor(&sketch, step), -50.0, cut);
            assert_eq!(short.split(cut, up)[0].pessimistic(), body.pessimistic());
            for place in 0..100 {
                let epsilon = low + (high - low) * f64::from(place) / 99.3;
                let parts = [&body, &jumps].map(|part| curve(&part.pessimistic(), step, epsilon));
                let sum = parts[0] + parts[1];
                assert!((sum - curve(&whole, step, epsilon)).abs() < 1e-13, "{pair:?} at {epsilon}");
                let truth = exact(&pair, epsilon);
                let lower: f64 =
                    [&body, &jumps].map(|part| curve(&part.optimistic(), step, epsilon)).iter().sum();
                assert!(lower <= truth + 1e-13, "{pair:?} at {epsilon}: {lower} > {truth}");
            }
        }
    }
}

#[test]
fn masses_at_an_edge_keep_their_digits() {
    // At a tiny rate nearly everything lies within q above ln(1 − q), far inside one cell, and what the other places hold
    // is of order q. With the masses at the edge from differences of probabilities it would be lost in rounding.
    let (q, mu, step) = (1e-7, 1.0, 1e-3);
    let pair = Pair::Remove { sample_rate: q, base: Base::Gaussian { mu } };
    let sketch = pair.sketch(-50.0);
    let cells = Cells::new(&pair, step, pair.anchor(&sketch, step), -50.0, f64::INFINITY);
    let place = (1..cells.halves.len())
        .find(|place| cells.offset + (cells.first + *place as i64) as f64 * step > 0.0);
    let (above, below) = (cells.pessimistic(), cells.optimistic());
    let epsilon = cells.offset + (cells.first + place.unwrap() as i64) as f64 * step;
    let truth = exact(&pair, epsilon);
    assert!((curve(&above, step, epsilon) / truth - 1.0).abs() < 1e-6, "{truth}");
    assert!(curve(&below, step, epsilon) <= truth * (1.0 + 1e-9));
    // The moments of the edge cell itself: P − e^a Q = q − 1 + 1 − e^a over nearly all mass.
    let edge = (-q).ln_1p();
    let cell = pair.cell(edge, 0.5 * step).widened(
        pair.without(edge, 0.5 * step),
        (edge, 0.5 * step),
        (-step, 0.5 * step),
    );
    let expected = -(-step).exp_m1();
    assert!((cell.left / expected - 1.0).abs() < 1e-9, "{}", cell.left);
}
