//! A plot in a page: the drawing, and its numbers as a table for whoever does not see it or wants to copy them.

use crate::html::{Element, el, figure_cell, table};
use crate::numbers::number;
use crate::plot::{Line, Panel, draw, inline};

/// Rows of a table beside a plot, at most.
const ROWS: usize = 200;

/// A plot.
pub fn figure(panel: &Panel) -> Element {
    let names: Vec<&str> =
        panel.lines.iter().map(|line| line.name.as_str()).filter(|name| !name.is_empty()).collect();
    let of = if names.is_empty() { String::new() } else { format!(": {}", names.join("; ")) };
    let label = format!(
        "{}, {} against {}{of}. The numbers are in the table below.",
        panel.title, panel.y_label, panel.x_label
    );
    let drawing = el("div").class("paper").markup(&inline(&draw(std::slice::from_ref(panel)), &label));
    let numbers = el("details").add(el("summary").text("Numbers")).add(numbers(panel));
    el("figure").add(drawing).add(numbers)
}

/// Several plots side by side, where there is room.
pub fn figures<'a>(panels: impl IntoIterator<Item = &'a Panel>) -> Element {
    el("div").class("figures").all(panels.into_iter().filter(|panel| !panel.is_empty()).map(figure))
}

fn numbers(panel: &Panel) -> Element {
    let intervals = panel.lines.iter().any(|line| !line.bars.is_empty());
    let named = panel.lines.iter().any(|line| !line.name.is_empty());
    let mut head = vec![panel.x_label.clone(), panel.y_label.clone()];
    if named {
        head.insert(0, "line".to_string());
    }
    if intervals {
        head.push("interval".to_string());
    }
    let all = panel.lines.iter().flat_map(|line| line.points.iter().map(move |point| (line, *point)));
    let rows = all.take(ROWS).map(|(line, (x, y))| {
        let mut row = vec![figure_cell(number(x)), figure_cell(number(y))];
        if named {
            row.insert(0, el("td").text(&line.name));
        }
        if intervals {
            row.push(figure_cell(interval(line, x, y)));
        }
        row
    });
    table(&panel.title, head, rows)
}

fn interval(line: &Line, x: f64, y: f64) -> String {
    let bar = line.bars.iter().find(|bar| bar.0 == x && bar.1 <= y && y <= bar.2);
    bar.map_or("-".to_string(), |bar| format!("{} to {}", number(bar.1), number(bar.2)))
}
