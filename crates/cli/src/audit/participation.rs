//! `muffle audit participation`: are records drawn as they are charged for?

use super::{Outcome, RecipeArguments, exit_code, left};
use clap::Args;
use muffle::audit::participation::{ParticipationReport, Settings, audit};
use std::path::PathBuf;

/// Draw the sampler of a recipe again and again, and compare with the event that is charged for it.
///
/// Rates, sizes, and independence of records and of steps, as far as the accounting relies on them. Every count has an exact
/// p-value; a sampler that is what it says is called violated with a probability of one less the confidence at most.
#[derive(Args)]
#[command(after_help = "Examples:
  muffle audit participation mnist
  muffle audit participation my-recipe.toml --set sampler=balls-and-bins --json")]
pub struct Arguments {
    #[command(flatten)]
    recipe: RecipeArguments,
    /// Runs whose first steps are drawn
    #[arg(long, value_name = "N", default_value_t = 50)]
    runs: u64,
    /// Of a verdict that is `violated`
    #[arg(long, default_value_t = 0.999)]
    confidence: f64,
    /// Of all draws
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Folder to leave the results in, for `muffle report` and `muffle serve`
    #[arg(long, value_name = "DIR")]
    results: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Outcome {
    let Arguments { recipe, runs, confidence, seed, results, json } = arguments;
    let (plan, dataset) = recipe.prepare(Vec::new())?;
    let settings = Settings { runs: *runs, confidence: *confidence, seed: *seed };
    let report = audit(&plan, &dataset, &settings)?;
    if let Some(folder) = results {
        left::leave(folder, &text(&report), Vec::new())?;
    }
    match json {
        true => println!("{}", serde_json::to_string(&report)?),
        false => print(&report),
    }
    Ok(exit_code(report.verdict))
}

fn print(report: &ParticipationReport) {
    println!("{}, {}: {}\n", report.method, report.mode.name(), report.verdict.name());
    println!("charged     {} event, {}", report.charged, report.adjacency);
    println!("drawn       {} records in {} runs", report.records, report.runs);
    println!(
        "confidence  {}: a sampler that is what it says is called violated with probability {:.6} at most",
        report.confidence,
        1.0 - report.confidence
    );
    println!("threat      {}\n", report.threat);
    println!("{:<64}  {:>10}  {:>10}  {:>8}", "share of", "drawn", "charged", "p-value");
    for check in &report.checks {
        println!(
            "{:<64}  {:>10.6}  {:>10.6}  {:>8.2e}",
            check.name, check.observed, check.expected, check.p_value
        );
    }
}

/// The verdict and every check, as a text.
fn text(report: &ParticipationReport) -> String {
    let rows = report.checks.iter().map(|check| {
        format!(
            "| {} | {:.6} | {:.6} | {:.2e} |\n",
            check.name, check.observed, check.expected, check.p_value
        )
    });
    format!(
        "# Participation under {}, {}: {}\n\n{} records drawn in {} runs, charged as a {} event, {}.\n\n| share of | drawn | charged | \
         p-value |\n|---|---|---|---|\n{}",
        report.method,
        report.mode.name(),
        report.verdict.name(),
        report.records,
        report.runs,
        report.charged,
        report.adjacency,
        rows.collect::<String>()
    )
}
