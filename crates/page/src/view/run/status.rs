//! Where a run is, in a few figures.

use crate::folder::Run;
use crate::html::{Element, el};
use crate::numbers::{at_least, count, epsilon, moment};

/// The state of a run, how far it is, and what is left of its budget.
pub fn status(run: &Run) -> Element {
    let summary = run.summary();
    let state = el("span").class(&format!("state {}", run.state.name())).text(run.state.name());
    let mut tiles = vec![tile("state", state)];
    if summary.step > 0 || summary.steps.is_some() {
        let of = summary.steps.map_or(String::new(), |steps| format!(" of {}", count(steps)));
        let mut value = el("span").text(count(summary.step)).text(of);
        if let Some(steps) = summary.steps {
            value = value.add(bar("steps taken", summary.step as f64, steps as f64));
        }
        tiles.push(tile("steps", value));
    }
    let private = summary.private && !summary.as_published;
    match summary.spent.filter(|_| private) {
        Some((spent, conditional)) => {
            let condition = if conditional { ", if the seed is secret" } else { "" };
            let mut value = el("span").text(epsilon(spent)).text(condition);
            if let Some(budget) = summary.budget {
                let left = at_least((budget - spent).max(0.0));
                let left = format!("{left} left of {budget}");
                value = value.add(bar("epsilon spent", spent, budget)).add(el("small").text(left));
            }
            tiles.push(tile("epsilon spent", value));
        }
        None => {
            let budget = summary
                .budget
                .filter(|_| private)
                .map(|budget| format!("budget {budget}, nothing priced yet"));
            let none = budget.unwrap_or_else(|| "none is proved".to_string());
            tiles.push(tile("epsilon", el("span").text(none)));
        }
    }
    if !summary.figure.is_empty() {
        let value = el("span").text(&summary.figure).add(el("small").text("on test records, not protected"));
        tiles.push(tile("last measured", value));
    }
    let about = [("data", &summary.data), ("method", &summary.method)];
    for (name, value) in about.into_iter().filter(|about| !about.1.is_empty()) {
        tiles.push(tile(name, el("span").text(value)));
    }
    if run.changed > 0 {
        tiles.push(tile("last change (UTC)", el("span").text(moment(run.changed))));
    }
    el("dl").class("tiles").attr("id", "status").all(tiles)
}

fn tile(name: &str, value: Element) -> Element {
    el("div").add(el("dt").text(name)).add(el("dd").add(value))
}

/// How much of something is used up.
pub fn bar(label: &str, value: f64, most: f64) -> Element {
    el("progress")
        .attr("aria-label", label)
        .attr("max", most)
        .attr("value", value.clamp(0.0, most))
        .text(format!("{:.0} %", 100.0 * value / most.max(f64::MIN_POSITIVE)))
}
