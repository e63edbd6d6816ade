//! `muffle data ranges`: ranges of private numbers, for a price.

use super::Report;
use clap::Args;
use muffle::atomic_file;
use muffle::data::own::Draft;
use muffle::ledger::Ledger;
use muffle::noise::Key;
use muffle::ranges::{self, Found};
use muffle_accounting::Adjacency;
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};

/// The least and the most that ranges may cost.
const EPSILON: [f64; 2] = [1e-6, 100.0];

/// Pay for the ranges that a description leaves open, and write them into it
///
/// Every `range = "?"` of the description is replaced by a range that is released with Laplace noise from the private rows. All columns
/// together cost epsilon at delta 0. The charge is in a ledger beside the description before anything is released, so that it can be
/// added to what training costs.
#[derive(Args)]
pub struct Arguments {
    /// The table, or its description
    file: PathBuf,
    /// The description whose ranges are open, if the table was given
    #[arg(long, value_name = "FILE.toml")]
    description: Option<PathBuf>,
    /// What the ranges of all columns cost together
    #[arg(long)]
    epsilon: f64,
    /// Which data sets are neighbours: add_remove, replace_one or zero_out
    #[arg(long, default_value = "add_remove")]
    adjacency: Adjacency,
    /// Where the charge is written (default: the description's name with .ledger.jsonl)
    #[arg(long, value_name = "FILE.jsonl")]
    ledger: Option<PathBuf>,
}

/// Releases ranges.
pub fn run(arguments: &Arguments) -> Report {
    let [least, most] = EPSILON;
    let epsilon = arguments.epsilon;
    if !(least..=most).contains(&epsilon) {
        return Err(format!("--epsilon {epsilon} must lie between {least} and {most}").into());
    }
    let path = arguments.description.as_ref().unwrap_or(&arguments.file);
    let draft = open(path, arguments)?;
    let place = arguments.ledger.clone().unwrap_or_else(|| path.with_extension("ledger.jsonl"));
    let mut ledger = Ledger::open(&place, ranges::ORIGIN, false)?;
    let found = ranges::of_table(&draft, &mut ledger, Key::from_entropy()?, epsilon, arguments.adjacency)?;
    let known: Vec<(String, [f64; 2])> =
        found.columns.iter().filter_map(|(name, range)| Some((name.clone(), (*range)?))).collect();
    let note = format!("released at epsilon {epsilon}, see {}", name_of(&place));
    let text = report(&found, path, &place, epsilon, arguments.adjacency);
    atomic_file::write(path, draft.with_ranges(&known, &note)).map_err(|error| {
        format!("{}: {error}; the ranges are paid for, so keep them:\n{text}", path.display())
    })?;
    let ranges: Map<String, Value> =
        found.columns.iter().map(|(name, range)| (name.clone(), json!(range))).collect();
    let object = json!({
        "ranges": ranges, "epsilon": epsilon, "delta": 0.0, "adjacency": arguments.adjacency, "event": found.event,
        "smallest_end": found.smallest_end, "description": path, "ledger": place,
    });
    Ok((object, text))
}

/// The draft, if it leaves something open and is about the table that was named.
fn open(path: &Path, arguments: &Arguments) -> Result<Draft, Box<dyn std::error::Error>> {
    let shown = path.display();
    if path.extension().is_none_or(|extension| extension != "toml") {
        return Err(
            format!("{shown} is no description: give its .toml file, or --description with it").into()
        );
    }
    let draft = Draft::read(path)?;
    let whole = |file: &PathBuf| std::fs::canonicalize(file).ok();
    let files = draft.files()?;
    if arguments.description.is_some() && !files.iter().any(|file| whole(file) == whole(&arguments.file)) {
        return Err(format!("{shown} is not about {}: correct its `path`", arguments.file.display()).into());
    }
    if draft.open_columns().is_empty() {
        return Err(format!(
            "{shown} leaves no range open: write `range = \"?\"` on a line of its own under each column whose range is to be \
             paid for"
        )
        .into());
    }
    Ok(draft)
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().to_string()
}

fn report(found: &Found, path: &Path, ledger: &Path, epsilon: f64, adjacency: Adjacency) -> String {
    let smallest = found.smallest_end.ceil();
    let mut text = String::new();
    for (name, range) in &found.columns {
        text += &match range {
            Some([low, high]) => format!("{name:<20} {low} to {high}\n"),
            None => format!("{name:<20} not found: no {smallest} records stand out of the noise\n"),
        };
    }
    if found.columns.iter().any(|(_, range)| range.is_none()) {
        text += "Declare what was not found from public knowledge, or pay more: it would be added to what was paid.\n";
    }
    text += &format!(
        "Fewer than about {smallest} records beyond an end of a range do not show: they are moved to that end.\n\
         cost                 epsilon {epsilon} at delta 0 under {adjacency}, for all columns together\n\
         ledger               {}\ndescription          {}\n\
         What is trained with these ranges costs this and its own epsilon: add the events of both ledgers.",
        ledger.display(),
        path.display()
    );
    text
}
