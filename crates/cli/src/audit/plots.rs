//! The plots of an audit.

use muffle::run::Job;
use muffle_accounting::attacker::best_attacks;
use muffle_accounting::{AccountingError, Adjacency, Event};
use muffle_page::plot::{Line, Panel};
use std::error::Error;

/// Bins of a histogram.
const BINS: usize = 40;

/// Scores with and without a record, and what they are compared with.
pub struct Scores<'a> {
    /// What is scored.
    pub statistic: &'a str,
    /// With the record.
    pub present: &'a [f64],
    /// Without it.
    pub absent: &'a [f64],
    /// What the proof is about, if there is one.
    pub event: Option<&'a Event>,
    /// Which data sets are neighbours.
    pub adjacency: Adjacency,
}

/// Distributions of the scores, and the rates of both errors beside the best that the guarantee allows.
pub fn panels(scores: &Scores) -> Result<Vec<Panel>, AccountingError> {
    let distributions = Panel {
        title: "scores".into(),
        x_label: scores.statistic.to_string(),
        y_label: "share of scores".into(),
        x_close_up: true,
        lines: histograms(scores),
        ..Panel::default()
    };
    let mut lines = vec![Line { name: "measured".into(), points: curve(scores), ..Line::default() }];
    if let Some(event) = scores.event {
        let rates: Vec<f64> = (1..=40).map(|place| f64::from(place) / 40.0).collect();
        let best = best_attacks(event, scores.adjacency, &rates)?;
        let points = best.iter().map(|attack| (attack.fpr, attack.tpr)).collect();
        lines.push(Line { name: "the most that the noise allows".into(), points, ..Line::default() });
    }
    let curve = Panel {
        title: "both errors".into(),
        x_label: "false positives".into(),
        y_label: "true positives".into(),
        lines,
        ..Panel::default()
    };
    Ok(vec![distributions, curve])
}

/// Those of a whole run, whose canary is looked for by its loss: without it and with it.
pub fn run_panels(job: &dyn Job, [absent, present]: &[Vec<f64>; 2]) -> Result<Vec<Panel>, Box<dyn Error>> {
    let scores = |losses: &[f64]| losses.iter().map(|loss| -loss).collect::<Vec<f64>>();
    let terms = job.terms();
    let proved = terms.recipe.private && !terms.is_unproved() && terms.filter_order.is_none();
    let event = proved.then(|| job.cost()).transpose()?;
    Ok(panels(&Scores {
        statistic: "minus the loss on the canary",
        present: &scores(present),
        absent: &scores(absent),
        event: event.as_ref(),
        adjacency: terms.adjacency,
    })?)
}

fn histograms(scores: &Scores) -> Vec<Line> {
    let all = || scores.present.iter().chain(scores.absent).copied();
    let (low, high) = (all().fold(f64::INFINITY, f64::min), all().fold(f64::NEG_INFINITY, f64::max));
    let width = ((high - low) / BINS as f64).max(f64::MIN_POSITIVE);
    let line = |name: &str, scores: &[f64]| {
        let mut counts = [0u32; BINS];
        scores.iter().for_each(|score| counts[(((score - low) / width) as usize).min(BINS - 1)] += 1);
        let point = |(bin, count): (usize, &u32)| {
            (low + (bin as f64 + 0.5) * width, f64::from(*count) / scores.len() as f64)
        };
        Line { name: name.into(), points: counts.iter().enumerate().map(point).collect(), ..Line::default() }
    };
    vec![line("with the record", scores.present), line("without it", scores.absent)]
}

/// True against false positives for falling thresholds.
fn curve(scores: &Scores) -> Vec<(f64, f64)> {
    let mut absent = scores.absent.to_vec();
    absent.sort_by(|one, two| two.total_cmp(one));
    let share = |scores: &[f64], threshold: f64| {
        scores.iter().filter(|score| **score > threshold).count() as f64 / scores.len() as f64
    };
    let mut points = vec![(0.0, share(scores.present, absent[0]))];
    for place in 1..=100 {
        let threshold = absent[(absent.len() * place / 100).clamp(1, absent.len()) - 1];
        points.push((share(&absent, threshold), share(scores.present, threshold)));
    }
    points.push((1.0, 1.0));
    points
}
