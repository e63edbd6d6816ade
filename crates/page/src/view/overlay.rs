//! Two or more runs laid over each other.

use super::curves::panels;
use super::figure::figures;
use super::list::table_of_runs;
use super::notice::{section, unprotected_section};
use super::{Page, Region, digest};
use crate::folder::{Run, State, Summary};
use crate::html::{Element, cell, el, table};
use muffle::run::Parts;
use muffle::train::evaluation::NOT_COVERED;
use std::collections::BTreeSet;

/// So many lines can be told apart.
pub const MOST_RUNS: usize = 8;

/// The page of several runs; names that are not there are told.
pub fn overlay(runs: &[Run], missing: &[String]) -> Page {
    let mut parts = vec![el("h1").text("Runs over each other")];
    if !missing.is_empty() {
        let text =
            format!("There is no such run: {}. The list has those that there are.", missing.join(", "));
        parts.push(el("p").class("notice bad").text(text));
    }
    if runs.len() < 2 {
        let text =
            "Choose two or more runs in the list, by the boxes in front of their names, and come back. ";
        let link = el("a").attr("href", "/").text("To the list");
        parts.push(el("div").class("empty").add(el("p").text(text).add(link)));
        return Page::still("runs over each other", parts);
    }
    let (curves, figures) = (curves(runs), side_by_side(runs));
    let regions = vec![Region::of("curves", &curves), Region::of("figures", &figures)];
    parts.extend([curves, figures, differences(runs)]);
    let live = runs.iter().any(|run| run.state != State::Finished);
    let states: Vec<State> = runs.iter().map(|run| run.state).collect();
    Page {
        regions: if live { regions } else { Vec::new() },
        live,
        form: digest(&format!("{states:?}")),
        ..Page::still("runs over each other", parts)
    }
}

fn curves(runs: &[Run]) -> Element {
    let runs: Vec<&Run> = runs.iter().collect();
    let panels = panels(&runs);
    let plots = match panels.is_empty() {
        true => el("p").class("quiet").text("None of these runs has measured anything yet."),
        false => figures(&panels),
    };
    let remark = el("p").class("quiet").text("Figures on test records: ").text(NOT_COVERED);
    unprotected_section("On the way", [plots, remark]).attr("id", "curves")
}

fn side_by_side(runs: &[Run]) -> Element {
    let summaries: Vec<Summary> = runs.iter().map(Run::summary).collect();
    let summaries: Vec<&Summary> = summaries.iter().collect();
    section("Side by side", [table_of_runs(&summaries, false)]).attr("id", "figures")
}

/// The keys in which the recipes differ.
fn differences(runs: &[Run]) -> Element {
    let tables: Vec<toml::Table> =
        runs.iter().map(|run| run.recipe.as_ref().map_or_else(toml::Table::new, whole)).collect();
    let keys: BTreeSet<&String> = tables.iter().flat_map(|table| table.keys()).collect();
    let differs = |key: &&&String| tables.iter().any(|table| table.get(**key) != tables[0].get(**key));
    let shown = |value: Option<&toml::Value>| value.map_or("-".to_string(), ToString::to_string);
    // A seed is the key to the noise: that it differs may be seen, what it is may not.
    let secret = |key: &str| key == "seed";
    let rows = keys.iter().filter(differs).map(|key| {
        let value = |table: &toml::Table| match table.get(*key) {
            Some(_) if secret(key) => cell("(left out)"),
            value => cell(shown(value)),
        };
        [el("th").attr("scope", "row").text(key)]
            .into_iter()
            .chain(tables.iter().map(value))
            .collect::<Vec<_>>()
    });
    let rows: Vec<Vec<Element>> = rows.collect();
    let part = match rows.is_empty() {
        true => el("p").text("Their recipes are the same."),
        false => {
            let head = ["key".to_string()].into_iter().chain(runs.iter().map(|run| run.name.clone()));
            table("keys in which the recipes differ", head, rows)
        }
    };
    section("Differences of their recipes", [part])
}

fn whole(parts: &Parts) -> toml::Table {
    Parts::to_toml(&parts.run, &parts.training).parse().unwrap_or_default()
}
