//! The curves of a guarantee.

use super::{Line, Panel};
use muffle_accounting::attacker::best_attacks;
use muffle_accounting::{Accountant, AccountingError, Adjacency, Event, pld, pld::Pld, rdp::Rdp};

/// Epsilon of the first 1, …, `steps` steps, by pld and rdp; `event` says what so many steps are.
pub fn epsilon_against_steps(
    event: impl Fn(u64) -> Event,
    adjacency: Adjacency,
    delta: f64,
    steps: u64,
) -> Panel {
    let points = 13;
    let mut lines: Vec<Line> = Vec::new();
    for accountant in [&Pld as &dyn Accountant, &Rdp] {
        let mut line = Line { name: accountant.name().into(), ..Line::default() };
        for place in 0..points {
            let share = f64::from(place) / f64::from(points - 1);
            let count = (steps as f64).powf(share).round().max(1.0) as u64;
            if let Ok(price) = accountant.epsilon(&event(count), adjacency, delta) {
                line.points.push((count as f64, price.epsilon));
            }
        }
        if !line.points.is_empty() {
            lines.push(line);
        }
    }
    Panel {
        title: format!("epsilon at delta {delta}"),
        x_label: "steps".into(),
        y_label: "epsilon".into(),
        x_logarithmic: true,
        lines,
        ..Panel::default()
    }
}

/// The certified upper bound on delta from epsilon zero to where it falls below `smallest`.
pub fn delta_against_epsilon(
    event: &Event,
    adjacency: Adjacency,
    smallest: f64,
) -> Result<Panel, AccountingError> {
    let end = Pld.epsilon(event, adjacency, 0.1 * smallest)?.epsilon.max(1e-3);
    let mut points = Vec::new();
    for place in 0..=24 {
        let epsilon = end * f64::from(place) / 24.0;
        points.push((epsilon, pld::delta(event, adjacency, epsilon)?.1));
    }
    Ok(Panel {
        title: "privacy curve".into(),
        x_label: "epsilon".into(),
        y_label: "delta".into(),
        y_logarithmic: true,
        lines: vec![Line { name: "pld".into(), points, ..Line::default() }],
        ..Panel::default()
    })
}

/// The most that any test of whether one record was used can achieve, beside guessing.
pub fn trade_off(event: &Event, adjacency: Adjacency) -> Result<Panel, AccountingError> {
    let rates: Vec<f64> =
        [0.001, 0.003, 0.01].into_iter().chain((1..=40).map(|place| f64::from(place) / 40.0)).collect();
    let best = best_attacks(event, adjacency, &rates)?;
    let line = |name: &str, points| Line { name: name.into(), points, ..Line::default() };
    Ok(Panel {
        title: "the best possible attacker".into(),
        x_label: "false positives".into(),
        y_label: "true positives".into(),
        lines: vec![
            line("the most that is possible", best.iter().map(|attack| (attack.fpr, attack.tpr)).collect()),
            line("guessing", vec![(0.0, 0.0), (1.0, 1.0)]),
        ],
        ..Panel::default()
    })
}
