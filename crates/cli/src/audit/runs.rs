//! `muffle audit run --runs N`: many trainings, with a canary and without it.

use super::left::table;
use super::plots::run_panels;
use super::run::Arguments;
use super::{Outcome, Prepared, exit_code, print_epsilons};
use crate::bar::bar;
use crate::interrupt::{Interrupted, stop_on_interrupt};
use crate::train::cores;
use muffle::audit::runs::{RunsReport, Settings, audit};

/// Runs the command.
pub fn run(arguments: &Arguments, runs: u64) -> Outcome {
    let Arguments { recipe, confidence, seed, json, plots, .. } = arguments;
    let Prepared { job, dataset, threads } = recipe.prepare_job()?;
    let workers = threads.unwrap_or_else(cores);
    let settings = Settings { runs, confidence: *confidence, seed: *seed, workers };
    let stop = stop_on_interrupt()?;
    let bar = bar(&format!("{runs} trainings"), runs.saturating_mul(job.terms().steps), *json);
    let found = audit(&*job, &dataset, &settings, &stop, &|| bar.inc(1))?;
    bar.finish_and_clear();
    let found = found.ok_or_else(|| {
        let advice = "stopped before all trainings were done; nothing was measured, begin anew";
        Interrupted::without_result(advice, *json)
    })?;
    plots.leave(|| table("Audit of a whole run", &[&found.report]), || run_panels(&*job, &found.losses))?;
    match json {
        true => println!("{}", serde_json::to_string(&found)?),
        false => print(&found),
    }
    Ok(exit_code(found.report.verdict))
}

fn print(found: &RunsReport) {
    let report = &found.report;
    print_epsilons(report);
    println!("            at least {:.4} if the run as a whole were Gaussian", found.measured_if_gaussian);
    println!("            at delta {}, {}, the whole run", report.delta, report.adjacency);
    println!(
        "errors      of {} fresh runs with the canary {} are recognised, of as many without it {} taken for one",
        report.trials, report.true_positives, report.false_positives
    );
    println!("runs        {}, of which {} chose the test", found.runs, found.runs - 2 * report.trials);
    println!("threat      {}", report.threat);
}
