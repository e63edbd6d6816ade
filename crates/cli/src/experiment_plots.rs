//! The plots of an experiment.

use crate::plot::{Line, Panel};
use muffle::experiment::{Experiment, GroupResult, Results};

/// Mean accuracy against one factor, with intervals; the other factors make the lines.
pub fn accuracy(experiment: &Experiment, results: &Results, across: usize) -> Panel {
    let mut lines: Vec<Line> = Vec::new();
    for result in &results.groups {
        let group = &experiment.groups[result.group];
        let Ok(at) = group.levels[across].parse::<f64>() else { continue };
        let name = experiment.label(group, Some(across));
        let place = lines.iter().position(|line| line.name == name).unwrap_or_else(|| {
            lines.push(Line { name, ..Line::default() });
            lines.len() - 1
        });
        lines[place].points.push((at, 100.0 * result.accuracy.mean));
        lines[place].bars.extend(result.interval.map(|(low, high)| (at, 100.0 * low, 100.0 * high)));
    }
    lines.iter_mut().for_each(|line| line.points.sort_by(|one, two| one.0.total_cmp(&two.0)));
    Panel {
        title: "test accuracy, mean and 95 % interval".into(),
        x_label: experiment.factors[across].clone(),
        y_label: "accuracy %".into(),
        y_close_up: true,
        lines,
        ..Panel::default()
    }
}

/// Mean accuracy against steps, one line for each group.
pub fn steps(experiment: &Experiment, results: &Results) -> Panel {
    let line = |result: &GroupResult| Line {
        name: experiment.label(&experiment.groups[result.group], None),
        points: results
            .accuracy_by_step(result.group)
            .into_iter()
            .map(|(step, accuracy)| (step as f64, 100.0 * accuracy))
            .collect(),
        ..Line::default()
    };
    Panel {
        title: "test accuracy on the way, mean".into(),
        x_label: "steps".into(),
        y_label: "accuracy %".into(),
        y_close_up: true,
        lines: results.groups.iter().map(line).collect(),
        ..Panel::default()
    }
}
