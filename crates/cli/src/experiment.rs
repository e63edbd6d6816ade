//! What `compare`, `sweep` and `study` have in common: cells are run, and their results written.

use crate::experiment_display::Display;
use crate::experiment_plots;
use crate::plot;
use crate::train::{Outcome, cores, stop_on_interrupt};
use clap::Args;
use muffle::atomic_file;
use muffle::data::Search;
use muffle::experiment::{self, Column, Experiment, Results};
use serde_json::{Map, Value, json};
use std::path::PathBuf;

/// Where and how cells run.
#[derive(Args)]
pub struct Options {
    /// Folder of the experiment: the same command on the same folder goes on where it was
    #[arg(long, value_name = "DIR")]
    pub output: PathBuf,
    /// Runs at the same time, each on one thread (default: the machine's cores)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1024))]
    threads: Option<u64>,
    /// Folder to search for data first (default: MUFFLE_DATA, then ~/.local/share/muffle)
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// One JSON object a line on standard output, one for each run; the last is the result
    #[arg(long)]
    json: bool,
    /// No progress, only the result
    #[arg(long)]
    quiet: bool,
}

/// How results are shown.
pub struct Layout {
    /// Above the table.
    pub title: String,
    /// The factor on the horizontal axis of a plot of accuracies.
    pub across: Option<usize>,
    /// How many of the first factors have axes of their own in the plot against steps.
    pub panels: usize,
}

/// What a command adds to the results.
#[derive(Default)]
pub struct Remarks {
    /// Paragraphs below the table.
    pub paragraphs: Vec<String>,
    /// Fields of the result in JSON.
    pub fields: Map<String, Value>,
    /// Columns of the table of cells.
    pub columns: Vec<Column>,
}

impl Options {
    /// Where data is searched.
    pub fn search(&self) -> Search {
        Search::new(self.data_dir.as_deref())
    }
}

/// Runs what is not finished, writes results and plots, and prints them.
pub fn run(
    experiment: &Experiment,
    options: &Options,
    layout: &Layout,
    remarks: impl FnOnce(&Results) -> Outcome<Remarks>,
) -> Outcome<()> {
    let stop = stop_on_interrupt()?;
    let workers = options.threads.map_or_else(cores, |threads| threads as usize);
    let mut display = Display::new(experiment, options.json, options.quiet);
    let outcomes = experiment::run(experiment, workers, &stop, &mut |report| display.show(&report));
    let (fresh, failures) = display.finish();
    let outcomes = outcomes?;
    let results = Results::new(experiment, &outcomes);
    let (finished, all) = (results.finished(), experiment.cells.len());
    let mut remarks = match finished == all {
        true => remarks(&results)?,
        false => Remarks::default(),
    };
    if finished < all {
        let advice =
            format!("{finished} of {all} runs are finished; the same command goes on with the rest.");
        remarks.paragraphs.insert(0, advice);
        remarks.paragraphs.extend(failures.iter().map(|failure| format!("Failed: {failure}")));
    }
    let write = |name: &str, contents: String| {
        let path = options.output.join(name);
        atomic_file::write(&path, contents).map_err(|error| format!("{}: {error}", path.display()))
    };
    let paragraphs = remarks.paragraphs.join("\n\n");
    std::fs::create_dir_all(&options.output)
        .map_err(|error| format!("--output {}: {error}", options.output.display()))?;
    write("results.csv", results.csv(&remarks.columns))?;
    write("results.md", format!("# {}\n\n{}\n{paragraphs}\n", layout.title, results.markdown()))?;
    if let Some(across) = layout.across.filter(|_| finished > 0) {
        write("accuracy.svg", plot::draw(&[experiment_plots::accuracy(experiment, &results, across)]))?;
    }
    if finished > 0 {
        write("steps.svg", plot::draw(&experiment_plots::steps(experiment, &results, layout.panels)))?;
    }
    if options.json {
        println!("{}", object(experiment, &results, fresh, options, remarks.fields));
    } else {
        println!("{}\n{paragraphs}\n\nresults in {}", results.markdown(), options.output.display());
    }
    match failures.len() {
        0 => Ok(()),
        count => Err(format!(
            "{count} of {all} runs failed, the first of them {}; all others are kept, and the same command tries these again",
            failures[0]
        )
        .into()),
    }
}

/// The result for machines.
fn object(
    experiment: &Experiment,
    results: &Results,
    fresh: usize,
    options: &Options,
    fields: Map<String, Value>,
) -> Value {
    let groups: Vec<Value> = results
        .groups
        .iter()
        .map(|result| {
            let levels = &experiment.groups[result.group].levels;
            let levels: Map<String, Value> =
                experiment.factors.iter().cloned().zip(levels.iter().map(|level| json!(level))).collect();
            json!({
                "levels": levels, "runs": result.accuracy.count, "test_accuracy": result.accuracy.mean,
                "standard_deviation": result.accuracy.standard_deviation, "interval": result.interval,
                "test_loss": result.loss.map(|loss| loss.mean), "epsilon": result.epsilon,
                "epsilon_if_seed_is_secret": result.epsilon_if_seed_is_secret,
                "claimed_epsilon": result.claimed,
            })
        })
        .collect();
    let mut object = json!({
        "cells": experiment.cells.len(), "finished": results.finished(), "run_now": fresh,
        "output": options.output, "groups": groups,
    });
    object.as_object_mut().expect("it was made as an object").extend(fields);
    object
}
