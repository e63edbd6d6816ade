//! The plots of an experiment.

use muffle::experiment::{Experiment, GroupResult, Results};
use muffle_page::plot::{Line, Panel};

/// From this ratio of the largest to the smallest value on, values of a factor stand on a logarithmic axis.
const WIDE_RANGE: f64 = 20.0;

/// Mean of the measure against one factor, with intervals; every data set has its axes, and the other factors make the lines.
pub fn across_factor(experiment: &Experiment, results: &Results, across: usize) -> Vec<Panel> {
    let data = experiment.data();
    let axes = |set: &String| {
        let panel = lines_of(experiment, results, across, set);
        let place = if data.len() > 1 { format!("{set}, ") } else { String::new() };
        Panel { title: format!("{place}test {}, mean and 95 % interval", results.measure), ..panel }
    };
    data.iter().map(axes).filter(|panel| !panel.is_empty()).collect()
}

/// The lines of one data set.
fn lines_of(experiment: &Experiment, results: &Results, across: usize, data: &str) -> Panel {
    let (mut lines, scale): (Vec<Line>, f64) = (Vec::new(), results.measure.scale());
    for result in &results.groups {
        let group = &experiment.groups[result.group];
        if group.data() != data {
            continue;
        }
        let Ok(at) = group.levels[across].parse::<f64>() else { continue };
        let name = experiment.label(group, across..across + 1);
        let place = lines.iter().position(|line| line.name == name).unwrap_or_else(|| {
            lines.push(Line { name, ..Line::default() });
            lines.len() - 1
        });
        lines[place].points.extend(result.measured.map(|mean| (at, scale * mean.mean)));
        lines[place].bars.extend(result.interval.map(|(low, high)| (at, scale * low, scale * high)));
    }
    lines.iter_mut().for_each(|line| line.points.sort_by(|one, two| one.0.total_cmp(&two.0)));
    let values = || lines.iter().flat_map(|line| &line.points).map(|point| point.0);
    let (least, most) =
        values().fold((f64::INFINITY, 0.0_f64), |(low, high), at| (low.min(at), high.max(at)));
    Panel {
        x_label: experiment.factors[across].clone(),
        y_label: results.measure.heading(),
        x_logarithmic: least > 0.0 && most >= WIDE_RANGE * least,
        y_close_up: true,
        lines,
        ..Panel::default()
    }
}

/// Mean of the measure against steps, one line for each group; every combination of the first `panels` factors has its axes.
pub fn steps(experiment: &Experiment, results: &Results, panels: usize) -> Vec<Panel> {
    let group = |result: &GroupResult| &experiment.groups[result.group];
    let line = |result: &GroupResult| Line {
        name: experiment.label(group(result), 0..panels),
        points: results
            .by_step(result.group)
            .into_iter()
            .map(|(step, figure)| (step as f64, results.measure.scale() * figure))
            .collect(),
        ..Line::default()
    };
    let axes = |part: &[GroupResult]| Panel {
        title: match panels {
            0 => format!("test {} on the way, mean", results.measure),
            _ => experiment.values(group(&part[0]), &(0..panels).collect::<Vec<_>>()),
        },
        x_label: "steps".into(),
        y_label: results.measure.heading(),
        y_close_up: true,
        lines: part.iter().map(line).collect(),
        ..Panel::default()
    };
    let together =
        |one: &GroupResult, two: &GroupResult| group(one).levels[..panels] == group(two).levels[..panels];
    results.groups.chunk_by(together).map(axes).collect()
}
