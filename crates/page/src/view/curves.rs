//! What was measured on the way, as plots: of one run, or of several over each other.

use crate::folder::Run;
use crate::plot::{Line, Panel};
use muffle::run::metrics::Metric;
use muffle::train::Evaluation;
use std::collections::BTreeSet;

/// A figure of a measurement.
type Figure<'a> = Box<dyn Fn(&Metric) -> Option<f64> + 'a>;

/// Every figure that some of the runs have, against steps, one line for each run; and accuracy against epsilon where both are known.
pub fn panels(runs: &[&Run]) -> Vec<Panel> {
    let last = || runs.iter().filter_map(|run| run.metrics.last());
    let errors: BTreeSet<String> =
        last().flat_map(|metric| Evaluation::of(&metric.measured).mean_absolute_error.into_keys()).collect();
    let others: BTreeSet<String> = last().flat_map(other_figures).collect();
    let mut figures: Vec<(String, String, Figure)> = vec![
        ("accuracy on test records".into(), "accuracy %".into(), Box::new(accuracy)),
        ("epsilon".into(), "epsilon".into(), Box::new(epsilon)),
        ("loss on test records".into(), "loss".into(), Box::new(loss)),
    ];
    for name in &errors {
        let of =
            move |metric: &Metric| Evaluation::of(&metric.measured).mean_absolute_error.get(name).copied();
        figures.push((
            format!("error of {name} on test records"),
            "mean absolute error".into(),
            Box::new(of),
        ));
    }
    for name in &others {
        let of = move |metric: &Metric| metric.measured.get::<f64>(name);
        figures.push((name.replace('_', " "), name.replace('_', " "), Box::new(of)));
    }
    let mut panels: Vec<Panel> =
        figures.iter().map(|(title, label, figure)| against_steps(runs, title, label, figure)).collect();
    if runs.len() > 1 {
        panels.push(against_epsilon(runs));
    }
    panels.retain(|panel| !panel.is_empty());
    panels
}

fn accuracy(metric: &Metric) -> Option<f64> {
    Evaluation::of(&metric.measured).accuracy.map(|share| 100.0 * share)
}

fn loss(metric: &Metric) -> Option<f64> {
    let test = Evaluation::of(&metric.measured);
    (test.records > 0 && test.loss.is_finite()).then_some(test.loss)
}

fn epsilon(metric: &Metric) -> Option<f64> {
    metric.epsilon.or(metric.epsilon_if_seed_is_secret)
}

/// Further numbers of a kind of training, by name, that change on the way.
fn other_figures(metric: &Metric) -> Vec<String> {
    let named = metric.measured.iter().filter(|(_, value)| value.is_f64());
    named.map(|(name, _)| name.to_string()).filter(|name| name != "epoch").collect()
}

fn against_steps(runs: &[&Run], title: &str, label: &str, figure: &Figure) -> Panel {
    let point = |metric: &Metric| Some((metric.step as f64, figure(metric)?));
    let line = |run: &&Run| Line {
        name: name(run, runs.len()),
        points: run.metrics.iter().filter_map(point).collect(),
        ..Line::default()
    };
    let mut lines: Vec<Line> = runs.iter().map(line).filter(|line| !line.points.is_empty()).collect();
    let is_epsilon = label == "epsilon";
    if let ([run], true, [line]) = (runs, is_epsilon, &mut lines[..]) {
        line.name = if is_seeded(run) { "spent, if the seed is secret" } else { "spent" }.to_string();
        let budget = run.recipe.as_ref().and_then(|recipe| recipe.run.epsilon);
        let end = run.steps().map(|steps| steps as f64).or(line.points.last().map(|point| point.0));
        if let (Some(budget), Some(end)) = (budget, end) {
            lines.push(Line {
                name: "budget".into(),
                points: vec![(0.0, budget), (end, budget)],
                ..Line::default()
            });
        }
    }
    let conditional = is_epsilon && runs.len() > 1 && runs.iter().any(|run| is_seeded(run));
    let title = if conditional { "epsilon, of runs with a seed if that is secret" } else { title };
    Panel {
        title: title.to_string(),
        x_label: "steps".into(),
        y_label: label.to_string(),
        y_close_up: !is_epsilon,
        lines,
        ..Panel::default()
    }
}

fn against_epsilon(runs: &[&Run]) -> Panel {
    let line = |run: &&Run| Line {
        name: name(run, runs.len()),
        points: run.metrics.iter().filter_map(|metric| Some((epsilon(metric)?, accuracy(metric)?))).collect(),
        ..Line::default()
    };
    Panel {
        title: "what an epsilon buys".into(),
        x_label: "epsilon".into(),
        y_label: "accuracy %".into(),
        y_close_up: true,
        lines: runs.iter().map(line).filter(|line| !line.points.is_empty()).collect(),
        ..Panel::default()
    }
}

/// Whether the epsilons of a run hold only if its seed is secret.
fn is_seeded(run: &Run) -> bool {
    run.metrics.iter().any(|metric| metric.epsilon_if_seed_is_secret.is_some())
}

/// One run needs no name in its own plots.
fn name(run: &Run, count: usize) -> String {
    if count > 1 { run.name.clone() } else { String::new() }
}
