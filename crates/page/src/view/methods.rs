//! The published methods, and what became of their claims.

use super::Page;
use super::notice::facts;
use crate::html::{Element, cell, el, figure_cell, table};
use crate::numbers::{at_least, epsilon};
use muffle::audit::results::last;
use muffle::kinds;
use muffle::methods::{About, Mode};

/// The page of all methods.
pub fn methods() -> Page {
    let lead = "Every method that runs here, with the verdict on its claim. What is unsound as published also runs in a form that is \
                proved; as published its epsilon is a claim, and is never added to a proved total.";
    let mut parts = vec![el("h1").text("Methods"), el("p").class("lead").text(lead), overview()];
    parts.extend(kinds::methods().map(|(kind, about)| explained(kind.name, about)));
    Page::still("methods", parts)
}

fn overview() -> Element {
    let rows = kinds::methods().map(|(kind, about)| {
        let link = el("a").attr("href", format!("#{}", about.name)).text(about.name);
        let verdict =
            el("span").class(&format!("verdict {}", about.verdict.name())).text(about.verdict.name());
        let form = |mode: Mode| match about.modes.contains(&mode).then(|| last(about.name, mode)).flatten() {
            Some(found) => at_least(found.report.measured),
            None => "-".to_string(),
        };
        let row = [
            el("td").add(link),
            el("td").add(verdict),
            cell(kind.name),
            figure_cell(about.year),
            cell(about.idea),
        ];
        row.into_iter()
            .chain([figure_cell(form(Mode::Sound)), figure_cell(form(Mode::AsPublished))])
            .collect::<Vec<_>>()
    });
    let head = [
        "method",
        "published claim",
        "kind",
        "year",
        "idea",
        "one step, sound: measured",
        "as published: measured",
    ];
    table("methods and verdicts", head.map(String::from), rows)
}

fn explained(kind: &str, about: &About) -> Element {
    let forms = about.modes.iter().map(|mode| mode.name()).collect::<Vec<_>>().join(", ");
    let audits = about.modes.iter().filter_map(|mode| last(about.name, *mode)).map(|found| {
        let report = &found.report;
        let figure = |value: Option<f64>| value.map_or("none".to_string(), epsilon);
        format!(
            "{}: {}; claimed {}, proved {}, measured at least {}",
            report.mode.name(),
            report.verdict.name(),
            figure(report.claimed),
            figure(report.proved),
            at_least(report.measured)
        )
    });
    el("section").attr("id", about.name).add(el("h2").text(about.name)).add(facts([
        ("paper", format!("{} ({})", about.paper, about.year)),
        ("idea", about.idea.to_string()),
        ("kind of training", kind.to_string()),
        ("forms", forms),
        ("a step", about.steps.to_string()),
        ("proved", about.guarantee.to_string()),
        ("what breaks", about.breaks.to_string()),
        ("last audit of one step", audits.collect::<Vec<_>>().join(". ")),
    ]))
}
