//! How good the result is: by class, which class is taken for which, and whatever else the kind of training has measured.

use super::super::notice::{section, unprotected_section};
use crate::folder::Run;
use crate::html::{Element, cell, el, figure_cell, table};
use crate::numbers::{count, number, percent};
use muffle::train::Evaluation;
use muffle::train::evaluation::NOT_COVERED;
use serde_json::Value;

/// The sections.
pub fn measured(run: &Run) -> Vec<Element> {
    let Some(metric) = run.metrics.last() else { return Vec::new() };
    let test = Evaluation::of(&metric.measured);
    let mut sections = Vec::new();
    let counts: Vec<(&str, &Value)> = metric
        .measured
        .iter()
        .filter(|(name, value)| {
            *name != "epoch" && (value.is_number() || value.is_boolean() || is_numbers(value))
        })
        .filter(|(name, _)| *name != "test")
        .collect();
    if !counts.is_empty() {
        sections.push(released(&counts));
    }
    if test.records > 0 {
        let mut parts = vec![summary(&test)];
        parts.extend(test.warnings().iter().map(|warning| el("p").class("notice careful").text(warning)));
        parts.extend((!test.by_class.is_empty()).then(|| classes(&test)));
        parts.extend((!test.confusion.is_empty()).then(|| confusion(&test)));
        parts.push(el("p").class("quiet").text(NOT_COVERED));
        sections.push(unprotected_section("On test records", parts));
    }
    sections
}

/// Numbers and groups of numbers by name, which the run itself says: public, or released and paid for.
fn released(counts: &[(&str, &Value)]) -> Element {
    let mut rows = Vec::new();
    for (name, value) in counts {
        let name = name.replace('_', " ");
        match value.as_object() {
            None => rows.push([cell(&name), figure_cell(shown(value))]),
            Some(group) => rows.extend(
                group
                    .iter()
                    .map(|(inner, value)| [cell(format!("{name}: {inner}")), figure_cell(shown(value))]),
            ),
        }
    }
    let head = ["figure", "value"].map(String::from);
    let remark = "Public, or computed from what was released and paid for: these figures may be shown.";
    section(
        "Figures of this kind of training",
        [table("figures of this kind of training", head, rows), el("p").class("quiet").text(remark)],
    )
}

/// A number, or yes or no.
fn shown(value: &Value) -> String {
    match (value.as_bool(), value.as_f64()) {
        (Some(yes), _) => if yes { "yes" } else { "no" }.to_string(),
        (_, Some(value)) => number(value),
        _ => "-".to_string(),
    }
}

fn is_numbers(value: &Value) -> bool {
    value.as_object().is_some_and(|group| !group.is_empty() && group.values().all(Value::is_number))
}

fn summary(test: &Evaluation) -> Element {
    let shares =
        [("accuracy", test.accuracy), ("balanced accuracy", test.balanced_accuracy), ("F1", test.f1)];
    let numbers = [
        ("area under the curve", test.area_under_curve),
        ("area under precision and recall", test.area_under_precision_recall),
        ("calibration error", test.calibration_error),
        ("loss", Some(test.loss).filter(|loss| loss.is_finite())),
    ];
    let shares = shares.into_iter().filter_map(|(name, share)| Some((name.to_string(), percent(share?))));
    let numbers = numbers.into_iter().filter_map(|(name, value)| Some((name.to_string(), number(value?))));
    let errors = test
        .mean_absolute_error
        .iter()
        .map(|(name, error)| (format!("mean error of {name}"), number(*error)));
    let rows =
        shares.chain(numbers).chain(errors).chain([("records".to_string(), count(test.records as u64))]);
    let head = ["measure", "figure"].map(String::from);
    table("measures on test records", head, rows.map(|(name, value)| [cell(name), figure_cell(value)]))
}

fn classes(test: &Evaluation) -> Element {
    let share = |share: Option<&Option<f64>>| share.copied().flatten().map_or("-".to_string(), percent);
    let rows = test.by_class.keys().map(|class| {
        [
            el("th").attr("scope", "row").text(class),
            figure_cell(share(test.recall.get(class))),
            figure_cell(share(test.precision.get(class))),
        ]
    });
    let head = ["class", "found of its records", "right of its answers"].map(String::from);
    table("results by class", head, rows)
}

/// Rows are what is true, columns what the model says.
fn confusion(test: &Evaluation) -> Element {
    let names: Vec<&String> = test.confusion.iter().map(|row| &row.class).collect();
    let head = ["true class".to_string()].into_iter().chain(names.iter().map(|name| name.to_string()));
    let rows = test.confusion.iter().enumerate().map(|(truth, row)| {
        let all = row.said.iter().sum::<u64>().max(1) as f64;
        let cells = row.said.iter().enumerate().map(move |(said, number)| {
            // Ten shades, so that no colour has to be written into the page.
            let shade = (9.0 * *number as f64 / all).ceil() as u64;
            let kind = if truth == said { "right" } else { "wrong" };
            figure_cell(count(*number)).attr("data-shade", format!("{kind}-{shade}"))
        });
        std::iter::once(el("th").attr("scope", "row").text(&row.class)).chain(cells).collect::<Vec<_>>()
    });
    el("div").class("confusion").add(table(
        "how many records of each class (rows) were taken for each class (columns)",
        head,
        rows,
    ))
}
