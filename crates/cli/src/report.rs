//! `muffle report`: a page to read, to print and to sign.

use crate::CommandResult;
use crate::destination::Destination;
use clap::Args;
use muffle_page::numbers::bytes;
use muffle_page::report::report;
use serde_json::json;
use std::path::PathBuf;

/// Write a report on runs and results as one HTML file that needs nothing else.
///
/// Of a run: the three epsilons, what an attacker could do at best, accuracy and epsilon over steps, where the budget went, results by
/// class, the recipe, what is not covered, and the digests, which are checked. Of a comparison, sweep, study, audit or attack: its tables and
/// plots. Several folders make one file; what attacks left with --results is laid on the curve of the run that they attacked.
#[derive(Args)]
#[command(after_help = "Examples:
  muffle report runs/mnist-1
  muffle report runs/mnist-1 attacks/membership --output mnist.html
  muffle report comparison --output comparison.html")]
pub struct Arguments {
    /// Folders of runs, comparisons, sweeps, studies, audits or attacks
    #[arg(value_name = "DIR", required = true)]
    folders: Vec<PathBuf>,
    /// The file; `-` for standard output
    #[arg(long, value_name = "FILE", default_value = "report.html")]
    output: PathBuf,
    /// Print one JSON object with the file and its size
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> CommandResult {
    let Arguments { folders, output, json } = arguments;
    let page = report(folders)?;
    let named = |error: Box<dyn std::error::Error>| format!("--output {}: {error}", output.display());
    let destination = Destination::of(Some(output)).map_err(|error| named(error.into()))?;
    destination.write(|file| Ok(file.write_all(page.as_bytes())?)).map_err(named)?;
    if destination == Destination::StandardOutput {
        return Ok(());
    }
    match json {
        true => println!("{}", json!({ "report": output, "bytes": page.len() })),
        false => println!("{} ({})", output.display(), bytes(page.len() as u64)),
    }
    Ok(())
}
