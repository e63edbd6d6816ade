//! The plots of an audit.

use crate::plot::{Line, Panel};
use muffle::audit::{Attack, Report};
use muffle_accounting::attacker::best_attacks;
use muffle_accounting::{AccountingError, Event};

/// Bins of a histogram.
const BINS: usize = 40;

/// Distributions of the scores, and the rates of both errors beside the best that the guarantee allows.
pub fn panels(report: &Report, attack: &Attack) -> Result<Vec<Panel>, AccountingError> {
    let distributions = Panel {
        title: "scores".into(),
        x_label: report.statistic.split(':').next().unwrap_or_default().to_string(),
        y_label: "share of plays".into(),
        x_close_up: true,
        lines: histograms(attack),
        ..Panel::default()
    };
    let rates: Vec<f64> = (1..=40).map(|place| f64::from(place) / 40.0).collect();
    let event = Event::gaussian(report.noise_multiplier);
    let best = best_attacks(&event, report.adjacency, &rates)?;
    let allowed = best.iter().map(|attack| (attack.fpr, attack.tpr)).collect();
    let curve = Panel {
        title: "both errors".into(),
        x_label: "false positives".into(),
        y_label: "true positives".into(),
        lines: vec![
            Line { name: "measured".into(), points: curve(attack), ..Line::default() },
            Line { name: "the most that the noise allows".into(), points: allowed, ..Line::default() },
        ],
        ..Panel::default()
    };
    Ok(vec![distributions, curve])
}

fn histograms(attack: &Attack) -> Vec<Line> {
    let all = || attack.present.iter().chain(&attack.absent).copied();
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
    vec![line("with the record", &attack.present), line("without it", &attack.absent)]
}

/// True against false positives for falling thresholds.
fn curve(attack: &Attack) -> Vec<(f64, f64)> {
    let mut absent = attack.absent.clone();
    absent.sort_by(|one, two| two.total_cmp(one));
    let share = |scores: &[f64], threshold: f64| {
        scores.iter().filter(|score| **score > threshold).count() as f64 / scores.len() as f64
    };
    let mut points = vec![(0.0, share(&attack.present, absent[0]))];
    for place in 1..=100 {
        let threshold = absent[(absent.len() * place / 100).clamp(1, absent.len()) - 1];
        points.push((share(&absent, threshold), share(&attack.present, threshold)));
    }
    points.push((1.0, 1.0));
    points
}
