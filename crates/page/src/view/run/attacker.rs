//! What an attacker could do at best.

use super::super::figure::figures;
use super::super::notice::section;
use crate::html::{Element, el};
use crate::numbers::number;
use crate::plot::{Line, Panel};
use crate::results::Evidence;
use muffle::bounds::interval;
use muffle::run::Certificate;

/// The section, with what attacks have reached on the curve of what is possible.
pub fn attacker(certificate: &Certificate, trade_off: Option<&Panel>, evidence: &[Evidence]) -> Element {
    if certificate.conditional_epsilon().is_none() {
        let text = "Nothing is proved, so nothing holds an attacker back: the best one may be right about every record.";
        return section("What an attacker could do at best", [el("p").text(text)]);
    }
    let condition = match certificate.proved.epsilon {
        Some(_) => "",
        None => " This holds if the seed is secret.",
    };
    let lead = "An attacker who knows everything but whether one record was used, and sees all that was released, tests for it.";
    let sentence = |fpr: f64, tpr: f64| {
        format!(
            "accusing wrongly {} % of the time, it is right about at most {:.1} % of the records that were used",
            number(100.0 * fpr),
            (1000.0 * tpr).ceil() / 10.0
        )
    };
    let points = certificate.attacker.iter().map(|attack| el("li").text(sentence(attack.fpr, attack.tpr)));
    let mut parts = vec![el("p").text(lead).text(condition), el("ul").all(points)];
    if let Some(panel) = trade_off {
        let mut panel = panel.clone();
        panel.lines.extend(guesses(certificate));
        panel.lines.extend(attacks(evidence));
        parts.push(figures([&panel]));
    }
    if !evidence.is_empty() || certificate.audit.is_some() {
        let text = "Points are attacks on this model. They read its training records, so they are not protected and are for the \
                    holder of the records; a failed attack proves nothing. That of planted records counts those that were guessed.";
        parts.push(el("p").class("quiet").text(text));
    }
    section("What an attacker could do at best", parts)
}

/// The guesses of the run's own audit, as a test that errs as often on both sides.
fn guesses(certificate: &Certificate) -> Option<Line> {
    let audit = certificate.audit.filter(|audit| audit.guesses > 0)?;
    let right = audit.correct as f64 / audit.guesses as f64;
    let [low, high] = interval(audit.correct, audit.guesses);
    Some(Line {
        name: "planted records that the audit guessed".into(),
        points: vec![(1.0 - right, right)],
        bars: vec![(1.0 - right, low, high)],
        scattered: true,
    })
}

fn attacks(evidence: &[Evidence]) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    for Evidence { attack, false_positive_rate, true_positive_rate, interval, .. } in evidence {
        let place = lines.iter().position(|line| line.name == *attack).unwrap_or_else(|| {
            lines.push(Line { name: attack.clone(), scattered: true, ..Line::default() });
            lines.len() - 1
        });
        lines[place].points.push((*false_positive_rate, *true_positive_rate));
        lines[place].bars.push((*false_positive_rate, interval[0], interval[1]));
    }
    lines
}
