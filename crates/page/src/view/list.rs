//! All runs in a list, with filters; results above them.

use super::run::bar;
use super::{Page, Region, address, digest, encoded};
use crate::folder::{Contents, State, Summary};
use crate::html::{Element, cell, el, figure_cell};
use crate::numbers::{at_least, count, epsilon, moment};

/// Which runs are asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Only those in whose name, data or method this occurs.
    pub text: String,
    /// Only those in this state.
    pub state: String,
}

impl Wanted {
    fn has(&self, run: &Summary) -> bool {
        let state = self.state.is_empty() || run.state.name() == self.state;
        state && searched(run).contains(&self.text.to_lowercase())
    }
}

/// What a search looks through.
fn searched(run: &Summary) -> String {
    format!("{} {} {}", run.name, run.data, run.method).to_lowercase()
}

/// The page of all runs.
pub fn list(contents: &Contents, folder: &str, wanted: &Wanted) -> Page {
    let mut runs: Vec<&Summary> = contents.runs.values().filter(|run| wanted.has(run)).collect();
    // What goes on comes first, then what is newest.
    runs.sort_by(|one, other| {
        (one.state, other.changed, &one.name).cmp(&(other.state, one.changed, &other.name))
    });
    let mut parts = vec![el("h1").text("Runs").text(" ").add(el("small").text(folder))];
    parts.extend(results(contents));
    if contents.runs.is_empty() {
        parts.push(empty());
    } else {
        parts.push(filters(contents, wanted));
        let found = el("p").class("quiet").attr("id", "found").attr("role", "status");
        parts.push(found.text(format!(
            "{} of {} runs",
            count(runs.len() as u64),
            count(contents.runs.len() as u64)
        )));
        let form = el("form").attr("action", "/overlay").attr("method", "get").attr("id", "runs");
        let button = el("button").attr("type", "submit").text("Lay chosen runs over each other");
        parts.push(form.add(button).add(table_of_runs(&runs, true)));
    }
    if contents.more {
        let text = "There is more in this folder than is looked through: give a folder closer to the runs.";
        parts.push(el("p").class("notice careful").text(text));
    }
    let regions = rows(&runs);
    // Rows that change their order, come or go make another page.
    let names: Vec<&str> = regions.iter().map(|region| region.id.as_str()).collect();
    let results: Vec<&String> = contents.results.keys().collect();
    let form = digest(&format!("{names:?} {results:?}"));
    Page { live: true, form, regions, ..Page::still("runs", parts) }
}

/// The rows of a table of runs, as parts of a page that change.
pub fn rows(runs: &[&Summary]) -> Vec<Region> {
    runs.iter().map(|run| Region::of(&identifier(run), &row(run, true))).collect()
}

fn empty() -> Element {
    let code = |text: &str| el("code").text(text);
    el("div")
        .class("empty")
        .add(el("p").text("There are no runs in this folder yet. Start one, and it appears here by itself:"))
        .add(el("pre").add(code("muffle train --output runs/first")))
        .add(
            el("p")
                .text("If the runs are elsewhere, give their folder: ")
                .add(code("muffle serve FOLDER"))
                .text("."),
        )
}

fn results(contents: &Contents) -> Option<Element> {
    let link = |name: &String| el("li").add(el("a").attr("href", address("results", name)).text(name));
    (!contents.results.is_empty()).then(|| {
        el("nav")
            .attr("aria-label", "results")
            .add(el("h2").text("Comparisons, sweeps, studies, audits, attacks"))
            .add(el("ul").class("links").all(contents.results.keys().map(link)))
    })
}

fn filters(contents: &Contents, wanted: &Wanted) -> Element {
    let number = |state: State| contents.runs.values().filter(|run| run.state == state).count() as u64;
    let choice = |state: State| {
        let text = format!("{} ({})", state.name(), count(number(state)));
        el("option").attr("value", state.name()).flag("selected", wanted.state == state.name()).text(text)
    };
    let search = el("input")
        .attr("type", "search")
        .attr("name", "text")
        .attr("id", "text")
        .attr("value", &wanted.text);
    let states = el("select").attr("name", "state").attr("id", "state");
    let states = states.add(el("option").attr("value", "").text("all states")).all(State::ALL.map(choice));
    el("form")
        .class("filters")
        .attr("role", "search")
        .attr("method", "get")
        .attr("action", "/")
        .add(el("label").text("Search ").add(search.attr("placeholder", "name, data or method")))
        .add(el("label").text("State ").add(states))
        .add(el("button").attr("type", "submit").text("Show"))
}

/// A table of runs, which can be chosen and followed where pages are linked.
pub fn table_of_runs(runs: &[&Summary], linked: bool) -> Element {
    let mut head = vec![
        "run",
        "state",
        "steps",
        "epsilon spent",
        "budget",
        "left",
        "test records",
        "data",
        "method",
        "changed (UTC)",
    ];
    if linked {
        head.insert(0, "choose");
    }
    let head = head.into_iter().map(|name| el("th").attr("scope", "col").text(name));
    let rows = runs.iter().map(|run| row(run, linked));
    let caption = "runs with their state, their budget and what is left of it; figures on test records are not protected";
    let table = el("table")
        .class("runs")
        .add(el("caption").text(caption))
        .add(el("thead").add(el("tr").all(head)))
        .add(el("tbody").all(rows));
    el("div").class("scroll").attr("tabindex", 0).attr("role", "region").attr("aria-label", "runs").add(table)
}

fn identifier(run: &Summary) -> String {
    format!("run-{}", encoded(&run.name))
}

fn row(run: &Summary, linked: bool) -> Element {
    let mut line = el("tr")
        .attr("id", identifier(run))
        .attr("data-state", run.state.name())
        .attr("data-text", searched(run));
    if linked {
        let chosen = el("input").attr("type", "checkbox").attr("name", "run").attr("value", &run.name);
        line = line.add(el("td").add(chosen.attr("aria-label", format!("choose {}", run.name))));
    }
    // What has no folder yet has no page.
    let name = match linked && run.changed > 0 {
        true => el("a").attr("href", address("run", &run.name)).text(&run.name),
        false => el("span").text(&run.name),
    };
    let state = el("span").class(&format!("state {}", run.state.name())).text(run.state.name());
    let state = run.reason.iter().fold(el("td").add(state), |cell, reason| cell.attr("title", reason));
    let of = run.steps.map_or(String::new(), |steps| format!(" of {}", count(steps)));
    let steps =
        if run.step == 0 && of.is_empty() { "-".to_string() } else { format!("{}{of}", count(run.step)) };
    let steps = run
        .steps
        .filter(|_| run.state == State::Running)
        .iter()
        .fold(figure_cell(steps), |cell, all| cell.add(bar("steps taken", run.step as f64, *all as f64)));
    let proved = run.private && !run.as_published;
    let spent = match run.spent.filter(|_| proved) {
        Some((spent, true)) => figure_cell(epsilon(spent)).add(el("small").text("if the seed is secret")),
        Some((spent, false)) => figure_cell(epsilon(spent)),
        None if run.as_published => figure_cell("not proved"),
        None if !run.private => figure_cell("not private"),
        None => figure_cell("-"),
    };
    let budget = run.budget.filter(|_| proved);
    let left = budget.zip(run.spent).map(|(budget, (spent, _))| at_least((budget - spent).max(0.0)));
    let dash = || "-".to_string();
    line.add(el("td").class("name").add(name))
        .add(state)
        .add(steps)
        .add(spent)
        .add(figure_cell(budget.map_or_else(dash, |budget| budget.to_string())))
        .add(figure_cell(left.unwrap_or_else(dash)))
        .add(figure_cell(if run.figure.is_empty() { "-" } else { run.figure.as_str() }))
        .add(cell(&run.data))
        .add(cell(&run.method))
        .add(cell(if run.changed > 0 { moment(run.changed) } else { dash() }))
}
