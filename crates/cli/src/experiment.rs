//! What `compare`, `sweep` and `study` have in common: cells are run, and their results written.

use crate::experiment_display::Display;
use crate::experiment_plots;
use crate::interrupt::Interrupted;
use crate::train::{Outcome, cores};
use clap::Args;
use muffle::atomic_file;
use muffle::data::Search;
use muffle::experiment::{self, Column, Experiment, Results};
use muffle::train::evaluation::{Measure, NOT_COVERED};
use muffle_page::plot::{self, Panel};
use muffle_page::results::{Plots, leave};
use serde_json::{Map, Value, json};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

/// Where and how cells run.
#[derive(Args)]
pub struct Options {
    /// Folder of the experiment: the same command on the same folder goes on where it was
    #[arg(long, value_name = "DIR")]
    pub output: PathBuf,
    /// Runs at the same time, each on one thread (default: the machine's cores)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1024))]
    threads: Option<u64>,
    /// What runs are compared and ranked by: accuracy, balanced-accuracy, f1, auroc, auprc, calibration-error, recall:CLASS,
    /// precision:CLASS, loss, mean-absolute-error, root-mean-squared-error (default: accuracy; for numbers mean-absolute-error)
    #[arg(long, value_name = "MEASURE")]
    pub rank_by: Option<String>,
    /// Folder to search for data first (default: MUFFLE_DATA, then ~/.local/share/muffle)
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// Also draw all plots into one file, SVG or PNG by its ending
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
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
    /// What must not leave with the results, beside what is true of all of them.
    pub caution: String,
}

impl Layout {
    /// The measure against a factor, and measure and loss against steps; nothing before the first run is finished.
    fn plots(
        &self,
        experiment: &Experiment,
        results: &Results,
        losses: &Results,
    ) -> (Vec<Panel>, Vec<Panel>) {
        if results.finished() == 0 {
            return (Vec::new(), Vec::new());
        }
        let across = self.across.map(|across| experiment_plots::across_factor(experiment, results, across));
        let mut steps = experiment_plots::steps(experiment, results, self.panels);
        if results.measure.key() != losses.measure.key() {
            steps.extend(experiment_plots::steps(experiment, losses, self.panels));
        }
        (across.unwrap_or_default(), steps)
    }
}

impl Options {
    /// Whether results are for machines.
    pub fn json(&self) -> bool {
        self.json
    }

    /// Tells a person what comes next.
    pub fn say(&self, what: &str) {
        if !self.json && !self.quiet {
            eprintln!("{what}");
        }
    }

    /// Where data is searched.
    pub fn search(&self) -> Search {
        Search::new(self.data_dir.as_deref())
    }
}

/// The runs of an experiment, as far as they came.
pub struct Ran {
    /// In the order of the cells; `None` if one has no result.
    pub outcomes: Vec<Option<experiment::Outcome>>,
    /// How many of them were run just now.
    pub fresh: usize,
    /// Why some have none.
    pub failures: Vec<String>,
    /// What a command says that was interrupted.
    pub interrupted: Option<String>,
}

/// Runs what is not finished, and shows how it goes on.
pub fn run_cells(
    experiment: &Experiment,
    options: &Options,
    measure: &Measure,
    stop: &AtomicBool,
) -> Outcome<Ran> {
    let workers = options.threads.map_or_else(cores, |threads| threads as usize);
    let mut display = Display::new(experiment, measure, options.json, options.quiet);
    let outcomes = experiment::run(experiment, workers, stop, &mut |report| display.show(&report));
    let (fresh, failures) = display.finish();
    let outcomes = outcomes?;
    let interrupted = outcomes.contains(&None) && stop.load(Ordering::Relaxed);
    let advice = advice(&outcomes);
    Ok(Ran { outcomes, fresh, failures, interrupted: interrupted.then_some(advice) })
}

/// How an experiment that is not finished goes on.
fn advice(outcomes: &[Option<experiment::Outcome>]) -> String {
    let (finished, all) = (outcomes.iter().flatten().count(), outcomes.len());
    format!("{finished} of {all} runs are finished; the same command goes on with the rest")
}

/// Runs what is not finished, writes results and plots, and prints them.
pub fn run(
    experiment: &Experiment,
    options: &Options,
    layout: &Layout,
    stop: &AtomicBool,
    remarks: impl FnOnce(&Results) -> Outcome<Remarks>,
) -> Outcome<()> {
    let measure = experiment.measure(options.rank_by.as_deref())?;
    let Ran { outcomes, fresh, failures, interrupted } = run_cells(experiment, options, &measure, stop)?;
    let results = Results::new(experiment, &outcomes, &measure);
    let (finished, all) = (results.finished(), experiment.cells.len());
    let mut remarks = match finished == all {
        true => remarks(&results)?,
        false => Remarks::default(),
    };
    if finished < all {
        remarks.paragraphs.insert(0, format!("{}.", advice(&outcomes)));
        remarks.paragraphs.extend(failures.iter().map(|failure| format!("Failed: {failure}")));
    }
    remarks.paragraphs.extend(never_predicted(experiment, &results));
    let write = |name: &str, contents: String| {
        let path = options.output.join(name);
        atomic_file::write(&path, contents).map_err(|error| format!("{}: {error}", path.display()))
    };
    let paragraphs = remarks.paragraphs.join("\n\n");
    std::fs::create_dir_all(&options.output)
        .map_err(|error| format!("--output {}: {error}", options.output.display()))?;
    write("results.csv", results.csv(&remarks.columns))?;
    let loss = Measure::loss();
    let (across, steps) = layout.plots(experiment, &results, &Results::new(experiment, &outcomes, &loss));
    if !across.is_empty() {
        write("accuracy.svg", plot::file(&plot::draw(&across)))?;
    }
    if !steps.is_empty() {
        write("steps.svg", plot::file(&plot::draw(&steps)))?;
    }
    let panels = [across, steps].concat();
    if let Some(path) = options.plot.as_ref().filter(|_| !panels.is_empty()) {
        plot::write(path, &panels)?;
    }
    let caution = format!("{NOT_COVERED} {}", remarks.caution).trim().to_string();
    let text = format!("# {}\n\n{}\n{paragraphs}\n", layout.title, results.markdown());
    leave(&options.output, &text, Plots { caution, panels, ..Plots::default() })?;
    if let Some(advice) = &interrupted {
        remarks.fields.extend([("interrupted".into(), true.into()), ("next".into(), advice.clone().into())]);
    }
    if options.json {
        println!("{}", object(experiment, &results, fresh, options, remarks.fields));
    } else {
        println!("{}\n{paragraphs}\n\nresults in {}", results.markdown(), options.output.display());
    }
    match (interrupted, failures.len()) {
        (Some(advice), _) => Err(Interrupted::with_result(advice)),
        (None, 0) => Ok(()),
        (None, count) => Err(format!(
            "{count} of {all} runs failed, the first of them {}; all others are kept, and the same command tries these again",
            failures[0]
        )
        .into()),
    }
}

/// What an accuracy in the table hides.
fn never_predicted(experiment: &Experiment, results: &Results) -> Option<String> {
    let groups = results.groups.iter().filter(|result| !result.never_predicted.is_empty());
    let groups: Vec<String> = groups
        .map(|result| {
            let classes: Vec<&str> = result.never_predicted.iter().map(String::as_str).collect();
            format!("{} ({})", experiment.label(&experiment.groups[result.group], 0..0), classes.join(", "))
        })
        .collect();
    (!groups.is_empty()).then(|| {
        format!(
            "Warning: there are runs that never predict a class that records have: {}. --rank-by balanced-accuracy sees that; class \
             weights or a threshold help (docs/measures.md).",
            groups.join("; ")
        )
    })
}

/// The result for machines.
fn object(
    experiment: &Experiment,
    results: &Results,
    fresh: usize,
    options: &Options,
    fields: Map<String, Value>,
) -> Value {
    let name = results.measure.key();
    let groups: Vec<Value> = results
        .groups
        .iter()
        .map(|result| {
            let levels = &experiment.groups[result.group].levels;
            let levels: Map<String, Value> =
                experiment.factors.iter().cloned().zip(levels.iter().map(|level| json!(level))).collect();
            json!({
                "levels": levels, "runs": result.runs, name.as_str(): result.measured.map(|mean| mean.mean),
                "standard_deviation": result.measured.and_then(|mean| mean.standard_deviation),
                "interval": result.interval, "never_predicted": result.never_predicted,
                "test_loss": result.loss.map(|loss| loss.mean), "epsilon": result.epsilon,
                "epsilon_if_seed_is_secret": result.epsilon_if_seed_is_secret,
                "claimed_epsilon": result.claimed,
            })
        })
        .collect();
    let mut object = json!({
        "cells": experiment.cells.len(), "finished": results.finished(), "run_now": fresh,
        "output": options.output, "measure": results.measure.to_string(), "groups": groups,
    });
    object.as_object_mut().expect("it was made as an object").extend(fields);
    object
}
