//! `muffle audit run --runs N`: many trainings, with a canary and without it.

use super::plots::run_panels;
use super::run::Arguments;
use super::{Outcome, exit_code, shown};
use crate::bar::bar;
use crate::plot;
use crate::train::{cores, stop_on_interrupt};
use muffle::audit::Argument;
use muffle::audit::runs::{RunsReport, Settings, audit};

/// Runs the command.
pub fn run(arguments: &Arguments, runs: u64) -> Outcome {
    let Arguments { recipe, confidence, seed, json, plot, .. } = arguments;
    let (plan, dataset) = recipe.prepare(Vec::new())?;
    let workers = plan.recipe.threads.unwrap_or_else(cores);
    let settings = Settings { runs, confidence: *confidence, seed: *seed, workers };
    let stop = stop_on_interrupt()?;
    let bar = bar(&format!("{runs} trainings"), runs.saturating_mul(plan.steps), *json);
    let report = audit(&plan, &dataset, &settings, &stop, &|| bar.inc(1))?;
    bar.finish_and_clear();
    let report = report.ok_or("stopped before all trainings were done; nothing was measured")?;
    if let Some(path) = plot {
        plot::write(path, &run_panels(&plan, &report.losses)?)?;
    }
    match json {
        true => println!("{}", serde_json::to_string(&report)?),
        false => print(&report),
    }
    Ok(exit_code(report.verdict))
}

fn print(report: &RunsReport) {
    println!("{}, {}: {}\n", report.method, report.mode.name(), report.verdict.name());
    println!("claimed     {}", shown(report.claimed));
    println!("proved      {}", shown(report.proved));
    println!(
        "measured    at least {:.4} with confidence {}, {}",
        report.measured,
        report.confidence,
        report.argument.name()
    );
    if report.argument != Argument::ClopperPearson {
        println!("            at least {:.4} without that assumption", report.measured_without_assumptions);
    }
    println!("            at least {:.4} if the run as a whole were Gaussian", report.measured_if_gaussian);
    println!("            at delta {}, {}, the whole run", report.delta, report.adjacency);
    println!(
        "errors      of {} fresh runs with the canary {} are recognised, of as many without it {} taken for one",
        report.trials, report.true_positives, report.false_positives
    );
    println!("runs        {}, of which {} chose the test", report.runs, report.runs - 2 * report.trials);
    println!("threat      {}", report.threat);
}
