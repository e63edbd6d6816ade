//! `muffle evaluate`: how good is a finished model, and for whom?

use crate::CommandResult;
use crate::evaluate_tables::text;
use crate::model_arguments::ModelArguments;
use clap::Args;
use muffle::train::Evaluator;
use muffle::train::evaluation::{Grouping, NOT_COVERED};
use serde_json::json;

/// Measure a finished model: by class with intervals, confusion matrix, areas under curves, calibration, and by group.
///
/// All figures are plain statistics of the records they are measured on: no epsilon covers them. If the test split is private,
/// publishing them is a release of its own. docs/measures.md says what each of them is, and how its interval is made.
#[derive(Args)]
#[command(after_help = "Examples:
  muffle evaluate runs/mnist-...
  muffle evaluate runs/adult-... --groups sex
  muffle evaluate model.safetensors --data fashion-mnist --json")]
pub struct Arguments {
    #[command(flatten)]
    model: ModelArguments,
    /// A column with categories: rates for each of them, to see whether the model is as good for all
    #[arg(long, value_name = "COLUMN")]
    groups: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> CommandResult {
    let (trained, dataset) = arguments.model.open()?;
    let view = arguments.model.view(&dataset);
    let by_column = |column: &String| Grouping::by(&view, column);
    let grouping = arguments.groups.as_ref().map(by_column).transpose();
    let grouping = grouping.map_err(|error| format!("--groups: {error}"))?;
    let evaluator = Evaluator::new(trained.network.clone(), arguments.model.threads)?;
    let mut evaluator = evaluator.deciding(trained.decision);
    let report = evaluator.report(&trained.parameters, &view, grouping.as_ref())?;
    report.summary.warnings().iter().for_each(|warning| eprintln!("warning: {warning}"));
    if arguments.json {
        let mut object = json!(report);
        (object["model"], object["data"]) = (json!(trained.path), json!(dataset.name()));
        object["class_accuracy"] = json!(report.summary.by_class);
        object["not_covered"] = json!(NOT_COVERED);
        println!("{object}");
    } else {
        print!("{}", text(&report));
    }
    Ok(())
}
